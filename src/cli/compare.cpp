#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/compare_text.h"
#include "cli/fold_run.h"
#include "cli/fold_text.h"
#include "cli/option_cli.h"
#include "cli/report_files.h"
#include "cli/resume.h"
#include "cli/with_flags.h"
#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/text.h"
#include "ick/evaluate/comparison.h"
#include "ick/store/option_json.h"

namespace ick {

namespace {

struct CompareRequest : FoldedRequest {
  std::vector<std::string> formulas;
  CompareOptions compare;
  std::string expect_best;
  bool markdown = false;
  ReportFiles report;
};

void take_up_comparison(CompareRequest& request, const CLI::App& app, const nlohmann::json& kept) {
  const std::string what = "a comparison";
  if (!request.formulas.empty() || !request.out.empty()) {
    throw UsageError("the formulas and --out are those of the run that is resumed; leave them out");
  }
  refuse_changes<CompareOptions>(app, what);
  take_up(request, app, kept, "ick compare", what);
  request.formulas = kept.at("formulas").get<std::vector<std::string>>();
  if (request.expect_best.empty()) request.expect_best = kept.at("expect_best");
  request.compare = {};
  read_options_json(kept.at("compare"), request.compare);
}

std::vector<Formula> parsed(const std::vector<std::string>& formulas) {
  std::vector<Formula> all;
  for (const std::string& each : formulas) all.push_back(parse_formula(each));
  return all;
}

void check_expected(const CompareRequest& request) {
  if (request.expect_best.empty()) return;
  const std::vector<Formula> all = parsed(request.formulas);
  if (std::ranges::find(all, parse_formula(request.expect_best)) != all.end()) return;
  throw UsageError("--expect-best \"" + request.expect_best +
                   "\" is none of the formulas that are compared: " + join_words(request.formulas));
}

// The fits of all candidates. Fold by fold: what is finished when the time is up can be compared.
class ComparisonRun {
 public:
  ComparisonRun(const Table& table, const ComparisonPlan& plan, double budget)
      : table_(table), plan_(plan), total_(budget), fits_(plan.candidates.size()), budget_(0.0, 1, plan.size(), 1) {}

  // False when it was interrupted.
  bool run(const CompareRequest& request, KeptFolds& kept, ProgressWriter& progress) {
    FoldFits all;
    all.command = "ick compare";
    all.count = plan_.size() * std::ssize(plan_.folds.folds);
    for (const Candidate& each : plan_.candidates) all.bytes = std::max(all.bytes, each.fit.bytes);
    all.name = [&](std::int64_t task) {
      const std::string& label = candidate(task).label;
      constexpr std::size_t kMost = 24;
      return fmt::format("{} fold {}", label.size() > kMost ? label.substr(0, kMost) + "..." : label, fold(task) + 1);
    };
    all.fit = [&](std::int64_t task, int threads, const FitControl& control) {
      FoldedFit fit = candidate(task).fit;
      fit.options.threads = threads;
      return fit_fold(table_, fit, plan_.folds, fold(task), control);
    };
    all.begins = [&](int at_once) {
      begin(at_once, kept);
      if (total_ > 0.0)
        progress.say(fmt::format("each candidate has {:.3g} s of fits, {} at a time", budget_.share(), at_once));
    };
    all.wanted = [&](std::int64_t task) { return wanted(task); };
    all.done = [&](std::int64_t task, const FoldResult&) { budget_.end(task, now(), /*finished=*/true); };
    all.failed = [&](std::int64_t task, const std::exception_ptr& error) { fail(task, error); };
    return all.run(request, kept, progress);
  }

  std::vector<CandidateFits> outcome(const KeptFolds& kept) const {
    std::vector<CandidateFits> all = fits_;
    for (const auto& [task, result] : kept.done()) all[index(task)].folds[fold(task)] = result;
    return all;
  }

 private:
  std::int64_t fold(std::int64_t task) const { return task / plan_.size(); }
  std::size_t index(std::int64_t task) const { return static_cast<std::size_t>(task % plan_.size()); }
  const Candidate& candidate(std::int64_t task) const { return plan_.candidates[index(task)]; }
  double now() const {
    return before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // What an interrupted run has used counts.
  void begin(int at_once, const KeptFolds& kept) {
    const auto able =
        std::ranges::count_if(plan_.candidates, [](const Candidate& each) { return each.can_be_fitted(); });
    budget_ = TimeBudget(total_, at_once, plan_.size(), able);
    for (const auto& [task, result] : kept.done()) {
      budget_.add(task % plan_.size(), result.seconds);
      before_ += result.seconds / at_once;
    }
    start_ = std::chrono::steady_clock::now();
  }

  bool wanted(std::int64_t task) {
    if (!candidate(task).can_be_fitted() || !fits_[index(task)].failure.marked().empty()) return false;
    if (budget_.has_begun(task)) {
      if (budget_.may_go_on(task, now())) return true;
      budget_.end(task, now(), /*finished=*/false);
      return false;
    }
    if (!budget_.may_begin(task % plan_.size(), now())) return false;
    budget_.begin(task, task % plan_.size(), now());
    return true;
  }

  void fail(std::int64_t task, const std::exception_ptr& error) {
    budget_.end(task, now(), /*finished=*/false);
    try {
      std::rethrow_exception(error);
    } catch (const Error& found) {
      fits_[index(task)].failure = found.message();
    }
  }

  const Table& table_;
  const ComparisonPlan& plan_;
  double total_;
  std::vector<CandidateFits> fits_;
  TimeBudget budget_;
  double before_ = 0.0;  // seconds of earlier runs
  std::chrono::steady_clock::time_point start_;
};

int run_compare(CompareRequest request, const CLI::App& app) {
  std::optional<KeptFolds> kept;
  if (!request.resume.empty()) {
    kept = KeptFolds::resume(request.resume);
    take_up_comparison(request, app, kept->request());
  } else if (request.data.empty() || request.formulas.empty()) {
    throw UsageError("compare needs a table and a formula, as in ick compare air.csv 'pm25 ~ mlp(wind) * rbf(temp)'");
  }
  if (request.json && request.markdown)
    throw UsageError("--json and --markdown are two forms of one result; choose one");
  if (!kept && !request.out.empty()) KeptFolds::check_place(request.partial());
  check_expected(request);
  check_report_place(request.report, request.data);
  ProgressWriter progress(request.progress);
  const Table table = read_folded(request, parsed(request.formulas), kept ? &kept->request() : nullptr, progress);
  const ComparisonPlan plan = plan_comparison(table, request.formulas, request.options, request.compare, request.folds);
  for (const Message& remark : plan.folds.remarks) progress.say(with_flags(remark));
  progress.say(plan_text(plan.folds));

  if (!kept && !request.out.empty()) {
    nlohmann::json asked = kept_request(request, "ick compare", fingerprint(table));
    asked["formulas"] = request.formulas, asked["expect_best"] = request.expect_best;
    asked["compare"] = options_json(request.compare);
    kept = KeptFolds::begin(request.partial(), asked);
  }
  if (!kept) kept.emplace();  // nothing is written
  ComparisonRun run(table, plan, budget_seconds(request.compare.budget));
  if (!run.run(request, *kept, progress)) return 130;
  const Leaderboard found = summary_of(plan, run.outcome(*kept));
  if (!request.out.empty()) write_file(request.out, comparison_csv(found));
  kept->remove();

  if (request.json) {
    nlohmann::ordered_json out = {{"schema", 1}, {"target", parse_formula(request.formulas.front()).target}};
    out.update(to_json(found));
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}", request.markdown ? comparison_markdown(found) : comparison_text(found));
  }
  if (request.report.wanted()) {
    ReportOptions options = report_options(request.data, request.options.seed);
    std::string command = "ick compare " + shell_word(request.data);
    for (const std::string& each : request.formulas) command += " " + shell_word(each);
    options.commands = {command + flags_text(request.reading) + flags_text(request.compare) +
                        flags_text(request.folds) + flags_text(request.options)};
    write_report(report_of(found, table, options), request.report);
  }
  if (!request.out.empty()) fmt::print(stderr, "scores of each fold written to {}\n", request.out);
  if (!request.expect_best.empty() && !found.is_best(*found.find(request.expect_best))) {
    fmt::print(stderr, "ick: not the best: {}\n", request.expect_best);
    return 5;
  }
  const bool any = std::ranges::any_of(found.standings, [](const Standing& each) {
    return each.candidate.is_asked() && each.status == Standing::Status::complete;
  });
  return any ? 0 : 1;
}

}  // namespace

Command add_compare(CLI::App& program) {
  auto request = std::make_shared<CompareRequest>();
  CLI::App* app = program.add_subcommand(
      "compare", "Compare formulas with each other and with simpler models: which predicts best, and is it certain?");
  CompareRequest& r = *request;
  app->add_option("data", r.data, "CSV or TSV table, may be gzipped; - for stdin");
  app->add_option("formulas", r.formulas, "One or more formulas of one target");
  add_options(*app, r.compare);
  add_fold_options(*app, r);
  app->add_option(
      "--expect-best", r.expect_best,
      "Exit code 5 when this formula, one of those compared, is not the best: a candidate is better by more "
      "than one standard error of the difference");
  add_out(*app, r, "CSV file to write: scores of each candidate in each fold");
  app->add_flag("--markdown", r.markdown, "Print a table of Markdown");
  add_report(*app, r.report);
  add_fit_options(*app, r);
  return {app, [request, app] { return run_compare(*request, *app); }};
}

}  // namespace ick
