#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/fit_text.h"
#include "cli/with_flags.h"
#include "ick/base/text.h"
#include "ick/store/model_directory.h"

namespace ick {

namespace {

struct ShowRequest {
  std::string model;
  LoadOptions loading;
  bool json = false;
};

std::string names_of(const std::vector<ColumnInfo>& columns) {
  std::vector<std::string> names;
  for (const ColumnInfo& info : columns) names.push_back(info.name);
  return join_words(names);
}

// What it was learned from, and by what.
void print_origin(const StoredModel& stored) {
  const FitReport& report = stored.report;
  fmt::print("data: {}, {}: {} to train, {} to validate ({}), {} held out ({})\n", stored.origin.path,
             count_text(report.rows, "row"), report.training_rows, report.validation_rows, report.validation_split,
             report.holdout_rows, report.holdout_split);
  if (const std::int64_t added = stored.origin.rows_added(); added > 0) {
    fmt::print("      and {} by ick update\n", count_text(added, "row"));
  }
  const nlohmann::json json = nlohmann::json::parse(stored.json);
  if (const auto kept = json.find("kept_rows"); kept != json.end()) {
    fmt::print("      the model keeps kernel inputs and targets of {}, whose neighbours predictions are made of\n",
               count_text(kept->get<std::int64_t>(), "row"));
  }
  fmt::print("reads: {}\n", names_of(stored.model->columns()));
  fmt::print("written by ick {}, format {}, seed {}\n", stored.version, stored.format, report.options.seed);
}

int run_show(const ShowRequest& request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const Predictor& model = *stored.model;
  if (request.json) {
    nlohmann::json out = fit_json(model, stored.report);
    out.erase("history");
    out["model"] = request.model;
    out["data"] = stored.origin.path;
    out["rows_added"] = stored.origin.rows_added();
    out["version"] = stored.version;
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("{}\n", model.formula());
  for (const Message& sentence : stored.report.remarks) fmt::print("! {}\n", with_flags(sentence));
  print_shares(stored.report.term_shares, model);
  print_model(model, stored.report);
  print_origin(stored);
  return 0;
}

}  // namespace

Command add_show(CLI::App& program) {
  auto request = std::make_shared<ShowRequest>();
  CLI::App* app = program.add_subcommand("show", "A model on one screen: warnings, terms, parameters, scores, data");
  app->alias("summary");
  app->add_option("model", request->model, "Folder of a model")->required();
  app->add_flag("--json", request->json, "Print JSON");
  add_trust(*app, request->loading);
  return {app, [request] { return run_show(*request); }};
}

}  // namespace ick
