#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "ick/store/model_directory.h"
#include "store/json.h"

namespace ick {

namespace {

struct EvaluateRequest {
  std::string model, data;
  bool json = false;
  DataOptions reading;
};

int run_evaluate(const EvaluateRequest& request) {
  const StoredModel stored = load_model(request.model);
  const ReadOptions options = request.reading.read_options(stored.model.encoder, /*with_target=*/true);
  EncodingNotes notes;
  const Scores scores = stored.model.evaluate(read_table(request.data, options), &notes);
  for (const std::string& sentence : sentences(notes)) fmt::print(stderr, "{}\n", sentence);
  if (request.json) {
    nlohmann::ordered_json out = {{"schema", 1}};
    const nlohmann::json all = to_json(scores);
    for (const char* name : {"rows", "rmse", "mae", "r2", "spearman", "nlpd", "msll", "crps", "coverage"}) {
      out[name] = all.at(name);
    }
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  const std::string& target = stored.model.encoder.target.name;
  fmt::print("{} on {} rows of {}\n", target, scores.rows, request.data);
  fmt::print("  rmse      {:.6g}\n  mae       {:.6g}\n  R2        {:.4f}\n  spearman  {:.4f}\n", scores.rmse,
             scores.mae, scores.r2, scores.spearman);
  fmt::print("  nlpd      {:.4f}\n  msll      {:.4f}   (below 0: better than the training mean and variance)\n",
             scores.nlpd, scores.msll);
  fmt::print("  crps      {:.6g}\n", scores.crps);
  for (const auto& [level, share] : scores.coverage) {
    fmt::print("  the {:.0f}% interval covers {:.1f}%\n", 100.0 * std::stod(level), 100.0 * share);
  }
  return 0;
}

}  // namespace

Command add_evaluate(CLI::App& program) {
  auto request = std::make_shared<EvaluateRequest>();
  CLI::App* app = program.add_subcommand("evaluate", "Score a model on a table that has the target");
  app->add_option("model", request->model, "Folder of a model")->required();
  app->add_option("data", request->data, "CSV or TSV table, may be gzipped; - for stdin")->required();
  app->add_flag("--json", request->json, "Print JSON");
  request->reading.add_to(*app);
  return {app, [request] { return run_evaluate(*request); }};
}

}  // namespace ick
