#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "cli/fold_json.h"
#include "cli/fold_tasks.h"
#include "cli/fold_text.h"
#include "cli/option_cli.h"
#include "cli/resume.h"
#include "cli/with_flags.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/suggest/suggest.h"
#include "ick/table/csv.h"

namespace ick {

namespace {

using Json = nlohmann::ordered_json;

struct SuggestRequest {
  std::string data, target, progress = "auto";
  bool json = false;
  SuggestOptions options;
  DataOptions reading;
};

constexpr double kBytesOfFit = 3e8;  // of one fit of a few thousand rows

// Fits of a batch side by side, each in a process of its own.
class SuggestProcesses {
 public:
  SuggestProcesses(ProgressWriter& progress, int threads) : progress_(progress) {
    choose_processes(processes_, threads, std::numeric_limits<int>::max(), kBytesOfFit);
  }

  int threads() const { return processes_.threads; }

  std::vector<SuggestOutcome> operator()(std::span<const SuggestTask> tasks, const std::function<bool()>& over) {
    std::vector<SuggestOutcome> outcomes(tasks.size());
    const auto outcome = [&](std::int64_t task) -> SuggestOutcome& { return outcomes[static_cast<std::size_t>(task)]; };
    TaskProgress shown(progress_, "fits", std::ssize(tasks), 0);
    shown.name = [&](std::int64_t task) { return tasks[static_cast<std::size_t>(task)].fit->formula; };
    processes_.work = [&](std::int64_t task, const FitControl& control) {
      const SuggestTask& each = tasks[static_cast<std::size_t>(task)];
      return nlohmann::json(to_json(fit_fold(*each.table, *each.fit, *each.plan, each.fold, control))).dump();
    };
    processes_.wanted = [&](std::int64_t) { return !over(); };
    processes_.done = [&](std::int64_t task, const std::string& result) {
      outcome(task).result = fold_result_from_json(nlohmann::json::parse(result));
      shown.done();
    };
    processes_.failed = [&](std::int64_t task, std::exception_ptr error) {
      try {
        std::rethrow_exception(std::move(error));
      } catch (const Error& reason) {
        outcome(task).failure = with_flags(reason.message());
      }
      shown.done();
    };
    processes_.progress = [&](const auto& running) { shown.show(running); };
    processes_.stop = was_stopped;
    processes_.run(std::ssize(tasks));
    progress_.clear();
    return outcomes;
  }

 private:
  ProgressWriter& progress_;
  Processes processes_;
};

std::string fit_command(const SuggestRequest& request, const Suggestions& found, const Suggestion& each) {
  const auto number = &each - found.suggested.data() + 1;
  std::string command = "ick fit " + quoted(request.data) + " " + quoted(each.formula);
  if (found.fill_gaps) command += " --gaps fill";
  for (const std::string& type : request.reading.types) command += " --type " + quoted(type);
  return command + " --out " + quoted(fmt::format("{}{}.model", found.target, number));
}

Json suggestions_json(const SuggestRequest& request, const Suggestions& found) {
  Json json = {{"schema", 1},
               {"target", found.target},
               {"score", found.score},
               {"by", print(found.rule)},
               {"reason", found.reason},
               {"folds", found.folds},
               {"rows", found.rows},
               {"fitted_rows", found.fitted_rows},
               {"unseen_rows", found.unseen_rows},
               {"left_out", found.left_out},
               {"screened", found.screened},
               {"finished", found.finished},
               {"seconds", found.seconds},
               {"verdict", found.verdict},
               {"mean", {{"folds", to_json(found.mean)}}}};
  if (!found.suggested.empty()) json["mean"]["unseen"] = finite_json(found.unseen_mean);
  json["suggested"] = Json::array();
  for (const Suggestion& each : found.suggested) {
    json["suggested"].push_back({{"formula", each.formula},
                                 {"meaning", each.meaning},
                                 {"reason", each.reason},
                                 {"folds", to_json(each.folds)},
                                 {"gain", to_json(each.gain)},
                                 {"unseen", finite_json(each.unseen)},
                                 {"unseen_gain", to_json(each.unseen_gain)},
                                 {"p", finite_json(each.p)},
                                 {"seconds", each.seconds},
                                 {"command", fit_command(request, found, each)}});
  }
  json["trials"] = Json::array();
  for (const SuggestTrial& trial : found.trials) {
    Json& each = json["trials"].emplace_back();
    each = {{"formula", trial.formula}, {"folds", trial.folds}, {"seconds", trial.seconds}};
    if (!trial.failure.empty()) each["failure"] = trial.failure;
  }
  return json;
}

void print_suggestions(const SuggestRequest& request, const Suggestions& found) {
  const std::string label(score_kind(found.score).label);
  fmt::print("{} rows, {} more set apart; {} folds, {}: {}\n", found.rows, found.unseen_rows, found.folds,
             print(found.rule), found.reason);
  if (found.fitted_rows < found.rows) fmt::print("fits of the search: {} rows drawn from these\n", found.fitted_rows);
  if (!found.left_out.empty()) fmt::print("left out: {}\n", join_words(found.left_out));
  fmt::print("{} formulas looked at as linear models, {} of them fitted, in {:.0f} s{}\n", found.screened,
             found.trials.size() - 1, found.seconds, found.finished ? "" : ": the time was over before the search was");
  int number = 0;
  for (const Suggestion& each : found.suggested) {
    fmt::print("\n{}  {}\n   {}\n   {}\n", ++number, each.formula, each.meaning, each.reason);
    fmt::print("   {} in folds {}; better than the mean by {}\n", label, with_error(found.score, each.folds),
               with_error(found.score, each.gain));
    fmt::print("   {} on the rows set apart {}, of the mean {}\n", label, score_text(found.score, each.unseen),
               score_text(found.score, found.unseen_mean));
    fmt::print("   {}\n", fit_command(request, found, each));
  }
  fmt::print("\n{}\n", found.verdict);
}

int run_suggest(const SuggestRequest& request) {
  ReadOptions reading = request.reading.read_options();
  ProgressWriter progress(request.progress);
  reading.remark = [&](const std::string& sentence) { progress.say(sentence); };
  const Table table = read_table(request.data, reading);
  request.reading.check_types(table.names());
  be_one_thread();
  listen_for_stop();
  SuggestProcesses side_by_side(progress, request.reading.threads);
  SuggestControl control;
  control.run = std::ref(side_by_side);
  control.threads = side_by_side.threads();
  control.cancelled = was_stopped;
  const Suggestions found = suggest(table, request.target, request.options, control);
  if (request.json) {
    fmt::print("{}\n", suggestions_json(request, found).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_suggestions(request, found);
  }
  return 0;
}

}  // namespace

Command add_suggest(CLI::App& program) {
  auto request = std::make_shared<SuggestRequest>();
  CLI::App* app = program.add_subcommand(
      "suggest", "Search for formulas of a target: three with reasons and scores, or nothing beyond the mean");
  SuggestRequest& r = *request;
  app->add_option("data", r.data, "Table")->required();
  app->add_option("target", r.target, "Column to be predicted")->required();
  add_options(*app, r.options);
  app->add_flag("--json", r.json, "Print JSON");
  r.reading.add_to(*app);
  add_progress(*app, r.progress);
  return {app, [request] { return run_suggest(*request); }};
}

}  // namespace ick
