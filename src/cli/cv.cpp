#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "cli/fold_json.h"
#include "cli/fold_tasks.h"
#include "cli/fold_text.h"
#include "cli/kept_folds.h"
#include "cli/option_cli.h"
#include "cli/resume.h"
#include "cli/with_flags.h"
#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/text.h"
#include "ick/store/option_json.h"

namespace ick {

namespace {

struct CvRequest {
  std::string data, formula, out, resume, progress = "auto";
  bool optimism = false, json = false;
  FoldOptions folds;
  FitOptions options;
  DataOptions reading;
};

nlohmann::json kept_request(const CvRequest& request, std::uint32_t fingerprint) {
  return {{"schema", 1},
          {"data", request.data},
          {"formula", request.formula},
          {"out", request.out},
          {"optimism", request.optimism},
          {"folds", options_json(request.folds)},
          {"fit", options_json(request.options)},
          {"reading", options_json(request.reading)},
          {"fingerprint", fingerprint}};
}

// A resumed run is the request that was interrupted; only what is said again is taken from the command line.
void take_up_folds(CvRequest& request, const CLI::App& app, const nlohmann::json& kept) {
  const std::string what = "a cross-validation";
  refuse_changes<FitOptions>(app, what);
  refuse_changes<DataOptions>(app, what);
  refuse_changes<FoldOptions>(app, what);
  if (!request.formula.empty() || !request.out.empty() || request.optimism) {
    throw UsageError("the formula, --out and --optimism are those of the run that is resumed; leave them out");
  }
  CvRequest before;
  read_options_json(kept.at("folds"), before.folds);
  read_options_json(kept.at("fit"), before.options);
  read_options_json(kept.at("reading"), before.reading);
  take_running(app, request.options, before.options);
  take_running(app, request.reading, before.reading);
  if (request.data.empty()) request.data = kept.at("data");
  request.formula = kept.at("formula"), request.out = kept.at("out"), request.optimism = kept.at("optimism");
  request.folds = before.folds, request.options = before.options, request.reading = before.reading;
  if (request.data == "-") {
    throw UsageError("the run was reading stdin; give the table again: ick cv TABLE --resume ...");
  }
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
    take_up_folds(request, app, kept->request());
  } else if (request.data.empty() || request.formula.empty()) {
    throw UsageError("cv needs a table and a formula, as in ick cv air.csv 'pm25 ~ rbf(x)'");
  }
  const std::string partial = request.out + ".partial";
  if (!kept && !request.out.empty()) KeptFolds::check_place(partial);
  const Formula formula = parse_formula(request.formula);
  ReadOptions reading = request.reading.read_options(formula);
  ProgressWriter progress(request.progress);
  reading.remark = [&](const std::string& sentence) { progress.say(sentence); };
  const Table table = read_table(request.data, reading);
  check_columns(request.reading, request.options, table);
  const std::uint32_t sum = fingerprint(table);
  if (kept && sum != kept->request().at("fingerprint").get<std::uint32_t>()) {
    throw DataError(request.data +
                    ": not the table that was read when the run was interrupted; give that one, or start "
                    "again without --resume");
  }
  be_one_thread();
  const std::vector<FoldPlan> plans = plans_of(table, request);
  std::vector<FoldedFit> fits;
  for (const FoldPlan& plan : plans) {
    fits.push_back(plan_fit_in_folds(table, request.formula, request.options, plan));
  }
  for (const Message& remark : plans.front().remarks) progress.say(with_flags(remark));
  progress.say(plan_text(plans.front()));

  const std::int64_t folds = std::ssize(plans.front().folds), tasks = folds * std::ssize(plans);
  if (!kept && !request.out.empty()) {
    kept = KeptFolds::begin(partial, kept_request(request, sum));
  }
  if (!kept) kept.emplace();  // nothing is written
  TaskProgress shown(progress, "folds", tasks, std::ssize(kept->done()));
  shown.name = [&](std::int64_t task) {
    return fmt::format("{} {}", task < folds ? "fold" : "random", task % folds + 1);
  };
  Processes processes;
  choose_processes(processes, request.reading.threads, tasks - std::ssize(kept->done()), fits.front().bytes);
  for (FoldedFit& fit : fits) fit.options.threads = processes.threads;
  processes.work = [&](std::int64_t task, const FitControl& control) {
    const auto plan = static_cast<std::size_t>(task / folds);
    return to_json(fit_fold(table, fits[plan], plans[plan], task % folds, control)).dump();
  };
  processes.wanted = [&](std::int64_t task) { return !kept->done().contains(task); };
  processes.done = [&](std::int64_t task, const std::string& result) {
    kept->keep(task, result, fold_result_from_json(nlohmann::json::parse(result)));
    shown.done();
  };
  processes.failed = [&](std::int64_t, std::exception_ptr error) { std::rethrow_exception(error); };
  processes.progress = [&](const auto& running) { shown.show(running); };
  processes.stop = was_stopped;
  listen_for_stop();
  try {
    processes.run(tasks);
  } catch (...) {
    if (kept->done().empty()) kept->remove();  // of no use
    throw;
  }
  progress.clear();
  if (was_stopped()) {
    fmt::print(stderr, "ick: interrupted, {} of {} folds done; {}\n", kept->done().size(), tasks,
               kept->folder().empty() ? "with --out they would have been kept"
                                      : "to resume: ick cv --resume " + quoted(kept->folder()));
    return 130;
  }
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
  add_options(*app, r.folds);
  app->add_flag("--optimism", r.optimism,
                "Say what folds at random would have claimed, beside folds in time or space; doubles the time");
  app->add_option(
      "--out", r.out,
      "CSV file to write: row, fold, target, and the prediction by the model of the fold; finished folds of "
      "an interrupted run are kept beside it");
  app->add_option("--resume", r.resume, "Folder of an interrupted run to resume, OUT.partial");
  app->add_flag("--json", r.json, "Print JSON");
  add_options(*app, r.options);
  r.reading.add_to(*app);
  add_progress(*app, r.progress);
  return {app, [request, app] { return run_cv(*request, *app); }};
}

}  // namespace ick
