#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/store/json.h"
#include "ick/store/model_directory.h"
#include "ick/table/split.h"

namespace ick {

namespace {

struct EvaluateRequest {
  std::string model, data;
  std::vector<std::string> by;
  double level = 0.9, tolerance = 0.05;
  LoadOptions loading;
  bool json = false, check = false;
  DataOptions reading;
};

// Share of the rows whose target lies in its interval.
struct Coverage {
  std::string block;  // "" for all rows
  std::int64_t rows = 0, inside = 0;
  double share() const { return static_cast<double>(inside) / static_cast<double>(rows); }
};

// Without --by the blocks are those that validation rows were set apart in.
std::vector<std::string> block_columns(const EvaluateRequest& request, const StoredModel& stored) {
  if (!request.by.empty()) return request.by;
  const Split split = stored.report.options.validation.value_or(Split{});
  if (split.kind == Split::Kind::random || split.kind == Split::Kind::condition) return {};
  if (split.kind != Split::Kind::last || !split.columns.empty()) return split.columns;
  const std::vector<ColumnInfo> columns = stored.model->columns();
  const auto time = std::find_if(columns.begin(), columns.end(),
                                 [](const ColumnInfo& each) { return each.type == ColumnType::time; });
  return time == columns.end() ? std::vector<std::string>() : std::vector<std::string>{time->name};
}

std::vector<Coverage> coverage_of(const Evaluation& evaluation, const Table& table,
                                  const std::vector<std::string>& columns) {
  const auto count = [&](const std::string& name, const std::vector<std::int64_t>& rows) {
    return Coverage{name, std::ssize(rows),
                    std::count_if(rows.begin(), rows.end(), [&](std::int64_t i) { return evaluation.inside[i]; })};
  };
  std::vector<Coverage> found = {count("", evaluation.rows)};
  for (const Block& block : blocks_of(table, columns, evaluation.rows)) found.push_back(count(block.name, block.rows));
  return found;
}

void print_scores(const Scores& scores) {
  fmt::print("  rmse      {:.6g}\n  mae       {:.6g}\n  R2        {:.4f}\n", scores.rmse, scores.mae, scores.r2);
  if (std::isfinite(scores.spearman)) fmt::print("  spearman  {:.4f}\n", scores.spearman);  // else constant
  fmt::print("  nlpd      {:.4f}\n  msll      {:.4f}   (below 0: better than the training mean and variance)\n",
             scores.nlpd, scores.msll);
  fmt::print("  crps      {:.6g}\n", scores.crps);
  for (const auto& [level, share] : scores.coverage) {
    fmt::print("  the {:.0f}% interval covers {:.1f}%, mean width {:.4g}\n", 100.0 * std::stod(level), 100.0 * share,
               scores.width.at(level));
  }
  fmt::print("  pit       ");
  for (const double share : scores.pit) fmt::print("{:.3f} ", share);
  fmt::print("  (each 0.1 where the predicted distribution is right)\n");
}

void print_scores(const ClassScores& s, const std::vector<std::string>& classes) {
  fmt::print("  accuracy           {:.4f}\n  log loss           {:.4f}\n", s.accuracy, s.log_loss);
  fmt::print("  Brier score        {:.4f}\n  calibration error  {:.4f}\n", s.brier, s.calibration_error);
  for (const auto& [level, share] : s.coverage) {
    fmt::print("  the {:.0f}% sets cover {:.1f}%, mean size {:.3f}\n", 100.0 * std::stod(level), 100.0 * share,
               s.set_size.at(level));
  }
  constexpr std::size_t kMostShown = 20;
  if (classes.size() > kMostShown) return;
  fmt::print("  rows by class (down) and most probable class (across)\n  {:>12}", "");
  for (const std::string& name : classes) fmt::print(" {:>8.8}", name);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    fmt::print("\n  {:>12.12}", classes[c]);
    for (const std::int64_t rows : s.confusion[c]) fmt::print(" {:>8}", rows);
  }
  fmt::print("\n");
}

void print_coverage(const std::vector<Coverage>& coverage, double level) {
  fmt::print("coverage: promised {}%, achieved {:.1f}%\n", number_text(100.0 * level), 100.0 * coverage[0].share());
  for (std::size_t b = 1; b < coverage.size(); ++b) {
    fmt::print("  {:<44} {:>7} rows  {:5.1f}%\n", coverage[b].block, coverage[b].rows, 100.0 * coverage[b].share());
  }
}

nlohmann::ordered_json to_json(const EvaluateRequest& request, const nlohmann::json& scores,
                               const std::vector<Coverage>& coverage, bool passed) {
  nlohmann::ordered_json out = {{"schema", 1}};
  for (const char* name : {"rows", "rmse", "mae", "r2", "spearman", "nlpd", "msll", "crps", "accuracy", "log_loss",
                           "brier", "calibration_error", "coverage", "width", "set_size", "pit", "confusion"}) {
    if (scores.contains(name)) out[name] = scores.at(name);
  }
  out["level"] = request.level;
  out["achieved"] = coverage[0].share();
  out["blocks"] = nlohmann::json::array();
  for (std::size_t b = 1; b < coverage.size(); ++b) {
    out["blocks"].push_back(
        {{"block", coverage[b].block}, {"rows", coverage[b].rows}, {"achieved", coverage[b].share()}});
  }
  if (request.check) out["passed"] = passed;
  return out;
}

int run_evaluate(const EvaluateRequest& request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const std::vector<std::string> by = block_columns(request, stored);
  const Table table = read_table(request.data, request.reading.read_options(*stored.model, /*with_target=*/true, by));
  const Predictor& model = *stored.model;
  const bool classes = !model.classes().empty();
  EncodingNotes notes;
  const Evaluation evaluation = model.evaluate(table, request.level, &notes);
  for (const std::string& sentence : sentences(notes)) fmt::print(stderr, "{}\n", sentence);
  if (!model.interval_calibration().knows(request.level)) {
    fmt::print(stderr, "{} are {}\n", classes ? "sets" : "intervals",
               uncalibrated_text(model.interval_calibration(), request.level, classes));
  }
  const std::vector<Coverage> coverage = coverage_of(evaluation, table, by);
  // Sets promise to cover at least so much: the most probable class alone may be right more often.
  const double miss = coverage[0].share() - request.level;
  const bool passed = (classes ? -miss : std::abs(miss)) <= request.tolerance;
  if (request.json) {
    const nlohmann::json all = classes ? to_json(evaluation.class_scores) : to_json(evaluation.scores);
    nlohmann::ordered_json out = to_json(request, all, coverage, passed);
    out["basis"] = basis_name(model.interval_calibration(), request.level, classes);
    if (classes) out["classes"] = model.classes();
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{} on {} rows of {}\n", model.target().name, evaluation.rows.size(), request.data);
    if (classes) {
      print_scores(evaluation.class_scores, model.classes());
    } else {
      print_scores(evaluation.scores);
    }
    print_coverage(coverage, request.level);
  }
  if (!request.check || passed) return 0;
  fmt::print(stderr, "ick: the {}% {} {:.1f}% of the rows, which is not within {} of what it promises\n",
             number_text(100.0 * request.level), classes ? "sets cover" : "interval covers",
             100.0 * coverage[0].share(), number_text(request.tolerance));
  return 5;
}

}  // namespace

Command add_evaluate(CLI::App& program) {
  auto request = std::make_shared<EvaluateRequest>();
  CLI::App* app = program.add_subcommand("evaluate", "Score a model on a table that has the target");
  app->add_option("model", request->model, "Folder of a model")->required();
  add_trust(*app, request->loading);
  app->add_option("data", request->data, "CSV or TSV table, may be gzipped; - for stdin")->required();
  app->add_option("--level", request->level, "Level of the interval whose coverage is reported, overall and by block")
      ->check(accept_number(0.0, 1.0, /*open=*/true))
      ->capture_default_str();
  app->add_option("--by", request->by,
                  "Columns to make blocks of: levels, spans of time, cells of a place; by default those the validation "
                  "rows were set apart by")
      ->delimiter(',');
  app->add_flag("--check", request->check, "Exit with code 5 unless the interval covers what it promises");
  app->add_option("--tolerance", request->tolerance,
                  "Largest difference of promised and achieved coverage that passes --check")
      ->check(accept_number(0.0, 1.0))
      ->capture_default_str();
  app->add_flag("--json", request->json, "Print JSON");
  request->reading.add_to(*app);
  return {app, [request] { return run_evaluate(*request); }};
}

}  // namespace ick
