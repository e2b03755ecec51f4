#include <ATen/ATen.h>
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/predict/exact_process.h"
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

// Rows that the exact process learns from, and new rows, where it is compared with the model.
struct Parts {
  Dataset training, compared;
  Table points;                   // that were made for it, where no row is new
  std::string compared_at, name;  // where the compared rows come from, for people and for scripts
  bool own_rows = false;          // all the rows the model was trained on, and no others
};

Dataset some(const Dataset& rows, std::int64_t count, std::uint64_t seed) {
  return rows.select(draw_rows(rows.size(), count, seed));
}

// Given the rows of the fit, at rows that it has not seen: the holdout, else validation rows of a fit without a second
// training, else points between its rows. Another table: one half given the other, none of which it has seen.
Parts parts_of(const StoredModel& stored, const CompositePredictor& model, const Table& table, std::int64_t count) {
  Encoder encoder = model.encoder;
  if (encoder.gaps == Gaps::refuse) encoder.gaps = Gaps::drop;
  std::optional<Table> made;
  const Dataset all = open_rows(model.readable(table, made), encoder, std::vector<bool>(table.rows, true));
  if (all.size() < 4)
    throw DataError("a check needs at least 4 rows with a target, and there are " + std::to_string(all.size()));
  const std::uint64_t seed = model.options.seed;
  Parts parts;
  if (fingerprint(table) != stored.origin.fingerprint) {
    const at::Tensor order = draw_rows(all.size(), std::min(2 * count, all.size()), seed_for(seed, "check rows"));
    const std::int64_t half = order.size(0) / 2;
    parts.training = all.select(order.slice(0, 0, order.size(0), 2).contiguous());
    parts.compared = all.select(order.slice(0, 1, 2 * half, 2).contiguous());
    parts.compared_at = "other rows of the same table, which is not the one of the fit";
    parts.name = "other table";
    return parts;
  }
  const FitOptions& options = stored.report.options;
  std::vector<bool> rest(table.rows, false);
  for (const std::int64_t row : all.rows) rest[row] = true;
  const auto set_apart = [&](const Split& split, const char* name) {
    const std::vector<bool> apart = held_out(table, split, seed_for(seed, name), rest);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = rest[i] && !apart[i];
    return apart;
  };
  std::vector<bool> apart(table.rows, false);
  if (stored.report.holdout_rows > 0) apart = set_apart(options.holdout, "holdout");
  if (stored.report.validation_rows > 0 && options.refit == Refit::no) {
    const std::vector<bool> validation = set_apart(*options.validation, "validation");
    if (stored.report.holdout_rows == 0) apart = validation;
  }
  std::vector<std::int64_t> in, out;
  for (std::int64_t i = 0; i < all.size(); ++i) {
    if (rest[all.rows[i]]) in.push_back(i);
    if (apart[all.rows[i]]) out.push_back(i);
  }
  const Dataset training = all.subset(at::tensor(in, at::kLong));
  parts.own_rows = training.size() <= count && stored.origin.updates.empty();
  parts.training = some(training, count, seed_for(seed, "check training"));
  if (!out.empty()) {
    const bool held = stored.report.holdout_rows > 0;
    parts.compared = some(all.subset(at::tensor(out, at::kLong)), count, seed_for(seed, "check holdout"));
    parts.compared_at = held ? "rows held out of the fit" : "validation rows, which the model was not trained on";
    parts.name = held ? "holdout" : "validation";
    return parts;
  }
  parts.points = points_between(table, parts.training.rows, model.columns(), parts.training.size(),
                                seed_for(seed, "check points"));
  parts.compared = encode(model.readable(parts.points, made), encoder, false);
  parts.compared = parts.compared.select(parts.compared.complete().nonzero().select(1, 0).contiguous());
  parts.compared_at = "points between them: the fit has seen every row";
  parts.name = "between";
  return parts;
}

int run_check(const CheckRequest& request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const CompositePredictor& model = stored.composite("check");
  if (!model.likelihood->conjugate || model.encoder.weights || model.encoder.error) {
    throw UsageError("check compares numbers with Gaussian noise of one size; this model's likelihood is " +
                     std::string(model.likelihood->name) +
                     (model.likelihood->conjugate ? " with weights(...) or error(...)" : ""));
  }
  // All columns: the table must be known again by its fingerprint.
  ReadOptions reading = request.reading.read_options(model, /*with_target=*/true, {});
  reading.only.clear();
  const Table table = read_table(request.data, reading);
  const Parts parts = parts_of(stored, model, table, request.rows);
  const Table& compared_table = parts.points.rows > 0 ? parts.points : table;
  const Comparison c = compare_with_exact(model, compared_table, parts.training, parts.compared, !parts.own_rows);
  if (request.json) {
    nlohmann::json out = {{"schema", 1},
                          {"posterior", model.posterior->engine().name},
                          {"training_rows", c.training_rows},
                          {"rows", c.rows},
                          {"compared_at", parts.name},
                          {"same_rows", c.same_rows},
                          {"mean_difference", c.mean_difference},
                          {"relative_difference", c.relative_difference},
                          {"sd_ratio", c.sd_ratio},
                          {"sd_difference", c.sd_difference}};
    if (c.scored) out["model"] = to_json(c.model), out["exact"] = to_json(c.exact);
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  const Engine& engine = model.posterior->engine();
  const std::string what = engine.name == "neighbours" ? "kernel features and neighbouring rows"
                           : engine.kernels_only
                               ? "kernel features"
                               : fmt::format("{} posterior of {} member{}", model.posterior->engine().name,
                                             model.options.members, model.options.members == 1 ? "" : "s");
  fmt::print("{} against the exact Gaussian process\n", what);
  fmt::print("  given {} training rows{}, compared at {} {}\n", c.training_rows,
             parts.own_rows ? ", all there are" : "", c.rows, parts.compared_at);
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
