#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/fold_json.h"
#include "cli/fold_run.h"
#include "cli/fold_text.h"
#include "cli/report_files.h"
#include "cli/with_flags.h"
#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick {

namespace {

struct CvRequest : FoldedRequest {
  std::string formula;
  bool optimism = false;
  ReportFiles report;
};

void take_up_cv(CvRequest& request, const CLI::App& app, const nlohmann::json& kept) {
  if (!request.formula.empty() || !request.out.empty() || request.optimism) {
    throw UsageError("the formula, --out and --optimism are those of the run that is resumed; leave them out");
  }
  take_up(request, app, kept, "ick cv", "a cross-validation");
  request.formula = kept.at("formula"), request.optimism = kept.at("optimism");
}

// The rules whose folds are run: that of the table, and for optimism rows drawn at random.
std::vector<FoldPlan> plans_of(const Table& table, const CvRequest& request) {
  std::vector<FoldPlan> plans = {plan_folds(table, request.formula, request.options, request.folds)};
  if (!request.optimism) return plans;
  if (plans.front().rule.kind == FoldRule::Kind::random) {
    throw UsageError(
        "--optimism compares with folds at random, and these are; divide the rows by time, place or group");
  }
  FoldOptions random = request.folds;
  random.by = FoldRule{};
  random.folds = std::ssize(plans.front().folds);
  plans.push_back(plan_folds(table, request.formula, request.options, random));
  return plans;
}

int run_cv(CvRequest request, const CLI::App& app) {
  std::optional<KeptFolds> kept;
  if (!request.resume.empty()) {
    kept = KeptFolds::resume(request.resume);
    take_up_cv(request, app, kept->request());
  } else if (request.data.empty() || request.formula.empty()) {
    throw UsageError("cv needs a table and a formula, as in ick cv air.csv 'pm25 ~ rbf(x)'");
  }
  if (!kept && !request.out.empty()) KeptFolds::check_place(request.partial());
  check_report_place(request.report, request.data);
  const Formula formula = parse_formula(request.formula);
  ProgressWriter progress(request.progress);
  const Table table = read_folded(request, {formula}, kept ? &kept->request() : nullptr, progress);
  const std::vector<FoldPlan> plans = plans_of(table, request);
  std::vector<FoldedFit> fits;
  for (const FoldPlan& plan : plans) {
    fits.push_back(plan_fit_in_folds(table, request.formula, request.options, plan));
  }
  for (const Message& remark : plans.front().remarks) progress.say(with_flags(remark));
  progress.say(plan_text(plans.front()));

  if (!kept && !request.out.empty()) {
    nlohmann::json asked = kept_request(request, "ick cv", fingerprint(table));
    asked["formula"] = request.formula, asked["optimism"] = request.optimism;
    kept = KeptFolds::begin(request.partial(), asked);
  }
  if (!kept) kept.emplace();  // nothing is written
  const std::int64_t folds = std::ssize(plans.front().folds);
  FoldFits all;
  all.command = "ick cv";
  all.count = folds * std::ssize(plans);
  all.bytes = fits.front().bytes;
  all.name = [&](std::int64_t task) {
    return fmt::format("{} {}", task < folds ? "fold" : "random", task % folds + 1);
  };
  all.fit = [&](std::int64_t task, int threads, const FitControl& control) {
    const auto plan = static_cast<std::size_t>(task / folds);
    FoldedFit fit = fits[plan];
    fit.options.threads = threads;
    return fit_fold(table, fit, plans[plan], task % folds, control);
  };
  if (!all.run(request, *kept, progress)) return 130;
  std::vector<CrossValidation> found;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    std::vector<FoldResult> results;
    for (std::int64_t fold = 0; fold < folds; ++fold) {
      results.push_back(kept->done().at(fold + static_cast<std::int64_t>(p) * folds));
    }
    found.push_back(summary_of(plans[p], std::move(results)));
  }
  if (!request.out.empty()) write_file(request.out, folds_csv(found.front()));
  kept->remove();
  if (request.json) {
    nlohmann::ordered_json out = {{"schema", 1}, {"formula", fits.front().formula}, {"target", formula.target}};
    out.update(to_json(found.front()));
    if (found.size() > 1) out["random"] = to_json(found.back());
    fmt::print("{}\n", out.dump(2));
  } else {
    print_folds(found.front(), fits.front().formula);
    if (found.size() > 1) print_optimism(found.front(), found.back());
  }
  if (request.report.wanted()) {
    ReportOptions options = report_options(request.data, request.options.seed);
    options.commands = {"ick cv " + shell_word(request.data) + " " + shell_word(request.formula) +
                        flags_text(request.reading) + flags_text(request.folds) + flags_text(request.options)};
    write_report(report_of(found.front(), fits.front().formula, table, options), request.report);
  }
  if (!request.out.empty()) fmt::print(stderr, "predictions out of fold written to {}\n", request.out);
  return 0;
}

}  // namespace

Command add_cv(CLI::App& program) {
  auto request = std::make_shared<CvRequest>();
  CLI::App* app =
      program.add_subcommand("cv", "Cross-validate a formula: how well it predicts rows it has not learned from");
  CvRequest& r = *request;
  app->add_option("data", r.data, "CSV or TSV table, may be gzipped; - for stdin");
  app->add_option("formula", r.formula, "Formula, for example 'y ~ mlp(a, b) * periodic(date, period=1y) + linear(x)'");
  add_fold_options(*app, r);
  app->add_flag("--optimism", r.optimism,
                "Say what folds at random would have claimed, beside folds in time or space; doubles the time");
  add_out(*app, r, "CSV file to write: row, fold, target, and the prediction by the model of the fold");
  add_report(*app, r.report);
  add_fit_options(*app, r);
  return {app, [request, app] { return run_cv(*request, *app); }};
}

}  // namespace ick
