#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "ick/examine/exact_check.h"
#include "ick/store/json.h"
#include "ick/store/model_directory.h"

namespace ick {

namespace {

struct CheckRequest {
  std::string model, data;
  std::int64_t rows = 1000;
  LoadOptions loading;
  bool json = false;
  DataOptions reading;
};

int run_check(const CheckRequest& request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const CompositePredictor& model = stored.composite("check");
  // All columns: the table must be known again by its fingerprint.
  ReadOptions reading = request.reading.read_options(model, /*with_target=*/true, {});
  reading.only.clear();
  const Table table = read_table(request.data, reading);
  const ExactCheck check = check_against_exact(stored, table, request.rows);
  const Comparison& c = check.comparison;
  if (request.json) {
    nlohmann::json out = {{"schema", 1},
                          {"posterior", model.posterior->engine().name},
                          {"training_rows", c.training_rows},
                          {"rows", c.rows},
                          {"compared_at", check.name},
                          {"same_rows", c.same_rows},
                          {"mean_difference", c.mean_difference},
                          {"relative_difference", c.relative_difference},
                          {"sd_ratio", c.sd_ratio},
                          {"sd_difference", c.sd_difference}};
    if (c.scored) out["model"] = to_json(c.model), out["exact"] = to_json(c.exact);
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("{} against the exact Gaussian process\n", posterior_text(model));
  fmt::print("  given {} training rows{}, compared at {} {}\n", c.training_rows,
             check.own_rows ? ", all there are" : "", c.rows, check.compared_at);
  const std::string unit = transformed(*model.encoder.transform, model.encoder.target.name);
  fmt::print("  means differ by {:.4g} (rms, {}), {:.4f} sd of an observation\n", c.mean_difference, unit,
             c.relative_difference);
  fmt::print("  sd of the function is {:.3f} of the exact one, off by {:.1f}% on average\n", c.sd_ratio,
             100.0 * c.sd_difference);
  if (c.scored) fmt::print("  {:<10} {:>10} {:>10} {:>10} {:>10}\n", "", "rmse", "nlpd", "50% covers", "90% covers");
  for (const auto& [name, scores] : {std::pair("model", c.model), std::pair("exact", c.exact)}) {
    if (!c.scored) continue;
    fmt::print("  {:<10} {:>10.4g} {:>10.4f} {:>9.1f}% {:>9.1f}%\n", name, scores.rmse, scores.nlpd,
               100.0 * scores.coverage.at("0.5"), 100.0 * scores.coverage.at("0.9"));
  }
  if (model.posterior->engine().trains) {
    fmt::print(
        "The model's networks were trained, on {} rows; the exact process has the covariance they started with and saw "
        "{}: part of the difference is that.\n",
        stored.report.training_rows + (stored.report.options.refit == Refit::yes ? stored.report.validation_rows : 0),
        c.training_rows);
  }
  return 0;
}

}  // namespace

Command add_check(CLI::App& program) {
  auto request = std::make_shared<CheckRequest>();
  CLI::App* app = program.add_subcommand(
      "check", "Compare a model's mean, sd and coverage with the exact Gaussian process it stands for");
  app->add_option("model", request->model, "Folder of a model")->required();
  add_trust(*app, request->loading);
  app->add_option("data", request->data, "Table with the target, best the one of the fit")->required();
  app->add_option("--rows", request->rows,
                  "Largest number of rows to learn from and to compare at; time grows with its cube")
      ->check(accept_number(2, 10'000))
      ->capture_default_str();
  app->add_flag("--json", request->json, "Print JSON");
  request->reading.add_to(*app);
  return {app, [request] { return run_check(*request); }};
}

}  // namespace ick
