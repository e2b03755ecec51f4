#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "ick/base/error.h"
#include "ick/store/json.h"
#include "ick/store/update.h"

namespace ick {

namespace {

struct UpdateRequest {
  std::string model, data, out;
  LoadOptions loading;
  bool json = false;
  DataOptions reading;
};

// All columns: the checksum is of the whole table, as that of a fit is.
ReadOptions read_options(const UpdateRequest& request, const Predictor& model) {
  ReadOptions options = request.reading.read_options(model, /*with_target=*/true);
  options.only.clear();
  return options;
}

std::string verdict(const UpdateReport& report) {
  if (report.fit_due()) {
    std::string text = "A new fit is due:";
    for (const std::string& reason : report.reasons) text += "\n  " + reason;
    return text;
  }
  if (!report.chance) {
    return fmt::format("No new fit is due, as far as {} of new rows can tell; 5 could tell whether intervals hold.",
                       count_text(report.blocks, "block"));
  }
  return fmt::format("No new fit is due: intervals hold what they promise (so little by chance: {:.2g}{}).",
                     *report.chance,
                     report.blocks > 0 ? ", from " + count_text(report.blocks, "block") : std::string());
}

void print_report(const UpdateRequest& request, const UpdateReport& report, const FitReport& fit) {
  const std::optional<Scores>& known = fit.holdout ? fit.holdout : fit.validation;
  const std::string where = fit.holdout ? "holdout" : "validation";
  const auto beside = [&](const std::string& value) { return known ? fmt::format("   ({}: {})", where, value) : ""; };
  const auto line = [](const std::string& name, const std::string& text) { fmt::print("  {:<22}{}\n", name, text); };
  const auto covers = [](const Scores& scores) { return fmt::format("{:.1f}%", 100.0 * scores.coverage.at("0.9")); };
  fmt::print("{} of {}, predicted before they were taken in:\n", count_text(report.rows, "row"), request.data);
  const Scores& now = report.scores;
  line("rmse", fmt::format("{:.4g}", now.rmse) + (known ? beside(fmt::format("{:.4g}", known->rmse)) : ""));
  line("nlpd", fmt::format("{:.4g}", now.nlpd) + (known ? beside(fmt::format("{:.4g}", known->nlpd)) : ""));
  line("90% interval covers", covers(now) + (known ? beside(covers(*known)) : ""));
  line("errors over their sd", fmt::format("mean {:.3f}, root mean square {:.3f}   (0 and 1 where the model is right)",
                                           report.mean_error, report.root_mean_square_error));
  fmt::print("{}\n", verdict(report));
  fmt::print("{} added to {}, parameters held; written to {}\n", count_text(report.rows, "row"), report.rows_before,
             request.out);
}

nlohmann::ordered_json to_json(const UpdateRequest& request, const UpdateReport& report, const FitReport& fit) {
  const auto scores = [](const std::optional<Scores>& of) { return of ? to_json(*of) : nlohmann::json(); };
  return {{"schema", 1},
          {"model", request.out},
          {"rows", report.rows},
          {"rows_before", report.rows_before},
          {"rows_fitted", report.rows_fitted},
          {"before", to_json(report.scores)},
          {"validation", scores(fit.validation)},
          {"holdout", scores(fit.holdout)},
          {"mean_error", report.mean_error},
          {"root_mean_square_error", report.root_mean_square_error},
          {"coverage", report.coverage},
          {"blocks", report.blocks},
          {"chance", report.chance ? nlohmann::json(*report.chance) : nlohmann::json()},
          {"missed", report.missed},
          {"fit_due", report.fit_due()},
          {"reasons", report.reasons}};
}

int run_update(UpdateRequest request) {
  while (request.out.size() > 1 && request.out.back() == '/') request.out.pop_back();
  const StoredModel stored = load_model(request.model, request.loading);
  check_model_place(request.out);
  refuse_table_inside(request.data, request.out);
  const Table table = read_table(request.data, read_options(request, *stored.model));
  const StoredUpdate made = update_stored(stored, table, request.data);
  for (const std::string& sentence : sentences(made.update.report.notes)) fmt::print(stderr, "{}\n", sentence);
  made.save(request.out, table);
  if (request.json) {
    fmt::print("{}\n", to_json(request, made.update.report, stored.report).dump(2));
  } else {
    print_report(request, made.update.report, stored.report);
  }
  return 0;
}

}  // namespace

Command add_update(CLI::App& program) {
  auto request = std::make_shared<UpdateRequest>();
  CLI::App* app = program.add_subcommand(
      "update",
      "Add new rows to a model of kernels, or to networks whose last layers were solved in closed form, at the "
      "parameters it has, and say whether a new fit is due");
  app->add_option("model", request->model, "Folder of a model")->required();
  add_trust(*app, request->loading);
  app->add_option("data", request->data,
                  "CSV or TSV table of the new rows, with the target; may be gzipped; - for stdin")
      ->required();
  app->add_option("--out", request->out, "Folder to write the updated model to; may be the model's own")->required();
  app->add_flag("--json", request->json, "Print JSON");
  request->reading.add_to(*app);
  return {app, [request] { return run_update(*request); }};
}

}  // namespace ick
