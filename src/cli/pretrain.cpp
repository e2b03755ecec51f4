#include "ick/train/pretrain.h"

#include <fmt/core.h>

#include <memory>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/progress.h"
#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/text.h"
#include "ick/net/safetensors.h"

namespace ick {

namespace {

struct PretrainRequest {
  std::string data, network, out, holdout = "none", progress = "auto";
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
  request.options.holdout = parse_split(request.holdout);
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
  PretrainOptions& o = r.options;
  CLI::App* app = program.add_subcommand(
      "pretrain", "Let a transformer learn from images without a target, by predicting patches it does not see");
  app->add_option("data", r.data, "CSV or TSV table that names the images, may be gzipped; - for stdin")->required();
  app->add_option("network", r.network, "vit(...) or deepvit(...) as in a formula: 'vit(image, patch=8)'")->required();
  app->add_option("--out", r.out, "File for the network, to be named in a formula: vit(image, start=\"FILE\")")
      ->required();
  const auto number = [&](const char* name, auto& value, const char* text, auto low, auto high, bool open = false) {
    app->add_option(name, value, text)->check(accept_number(low, high, open))->capture_default_str()->group("Training");
  };
  number("--seed", o.seed, "Everything random follows from it", std::uint64_t{0}, ~std::uint64_t{0});
  number("--epochs", o.epochs, "Passes over the images", 1L, 1'000'000L);
  number("--batch", o.batch, "Images in a mini-batch", 1L, 10'000'000L);
  number("--mask", o.mask, "Share of the patches that is hidden", 0.0, 1.0, true);
  number("--learning-rate", o.learning_rate, "At its highest", 0.0, 1e3, true);
  number("--decoder-width", o.decoder_width, "Numbers of a token of the decoder, which is thrown away", 2L, 65536L);
  number("--decoder-depth", o.decoder_depth, "Its blocks", 1L, 1000L);
  app->add_option("--holdout", r.holdout, "Rows whose images have no part in it, said as for fit")
      ->capture_default_str()
      ->group("Training");
  r.reading.add_to(*app);
  app->add_option("--progress", r.progress, "auto, bar, plain, json or none")
      ->check(accept_word({"auto", "bar", "plain", "json", "none"}))
      ->capture_default_str()
      ->group("Running");
  app->add_option("--loaders", o.loaders, "Threads that decode images ahead of training")
      ->check(accept_number(1, 256))
      ->capture_default_str()
      ->group("Running");
  return {app, [request] { return run_pretrain(*request); }};
}

}  // namespace ick
