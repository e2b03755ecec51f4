#include "ick/train/pretrain.h"

#include <fmt/core.h>

#include <memory>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/option_cli.h"
#include "cli/progress.h"
#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/text.h"
#include "ick/net/safetensors.h"

namespace ick {

namespace {

struct PretrainRequest {
  std::string data, network, out, progress = "auto";
  PretrainOptions options;
  DataOptions reading;
};

Expression parse_network(const std::string& text) {
  const Expression network = parse_expression(text);
  if (network.kind != Expression::Kind::call) {
    throw UsageError("pretrain takes one network, as in 'vit(image, patch=8)'; found \"" + text + "\"");
  }
  if (find_network(network.call.name) != nullptr) return network;
  const std::vector<std::string> known = {"vit", "deepvit"};
  const std::string guess = did_you_mean(network.call.name, known);
  throw UsageError(where(network.call.position) + "no network named \"" + network.call.name + "\"" +
                   (guess.empty() ? "; vit and deepvit can be pre-trained" : guess));
}

int run_pretrain(PretrainRequest request) {
  Formula formula;  // without a target: what the reader has to know of columns
  formula.right = parse_network(request.network);
  const Table table = read_table(request.data, request.reading.read_options(formula));
  request.reading.check_types(table.names());
  { const StagedFile place(request.out); }  // one that cannot be written is said before work is spent
  ProgressWriter progress(request.progress);
  const Pretrained made = pretrain(table, make_network_spec(formula.right.call), request.options,
                                   [&](const Progress& p) { progress.show(p); });
  write_file(request.out, safetensors_bytes(made.tensors, made.metadata));
  progress.clear();
  if (made.without_image > 0) progress.say(fmt::format("rows without an image left out: {}", made.without_image));
  fmt::print("{}: {} images, loss {:.4g}; of {} others {:.1f}% of the variance of hidden pixels explained\n",
             request.out, made.images, made.loss, made.validation_images, 100.0 * made.explained);
  return 0;
}

}  // namespace

Command add_pretrain(CLI::App& program) {
  auto request = std::make_shared<PretrainRequest>();
  PretrainRequest& r = *request;
  CLI::App* app = program.add_subcommand(
      "pretrain", "Let a transformer learn from images without a target, by predicting patches it does not see");
  app->add_option("data", r.data, "CSV or TSV table that names the images, may be gzipped; - for stdin")->required();
  app->add_option("network", r.network, "vit(...) or deepvit(...) as in a formula: 'vit(image, patch=8)'")->required();
  app->add_option("--out", r.out, "File for the network, to be named in a formula: vit(image, start=\"FILE\")")
      ->required();
  add_options(*app, r.options);
  r.reading.add_to(*app);
  add_progress(*app, r.progress);
  return {app, [request] { return run_pretrain(*request); }};
}

}  // namespace ick
