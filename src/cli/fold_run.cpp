#include "cli/fold_run.h"

#include <fmt/core.h>

#include "cli/fold_json.h"
#include "cli/fold_tasks.h"
#include "cli/option_cli.h"
#include "cli/resume.h"
#include "ick/base/error.h"
#include "ick/store/option_json.h"

namespace ick {

void add_fold_options(CLI::App& app, FoldedRequest& request) { add_options(app, request.folds); }

void add_out(CLI::App& app, FoldedRequest& request, const std::string& out) {
  app.add_option("--out", request.out, out + "; finished folds of an interrupted run are kept beside it");
  app.add_option("--resume", request.resume, "Folder of an interrupted run to resume, OUT.partial");
  app.add_flag("--json", request.json, "Print JSON");
}

void add_fit_options(CLI::App& app, FoldedRequest& request) {
  add_options(app, request.options);
  request.reading.add_to(app);
  add_progress(app, request.progress);
}

nlohmann::json kept_request(const FoldedRequest& request, const std::string& command, std::uint32_t fingerprint) {
  return {{"schema", 1},
          {"command", command},
          {"data", request.data},
          {"out", request.out},
          {"folds", options_json(request.folds)},
          {"fit", options_json(request.options)},
          {"reading", options_json(request.reading)},
          {"fingerprint", fingerprint}};
}

void take_up(FoldedRequest& request, const CLI::App& app, const nlohmann::json& kept, const std::string& command,
             const std::string& what) {
  if (const std::string own = kept.value("command", command); own != command) {
    throw UsageError("\"" + request.resume + "\" is of a run of " + own + "; resume it with that");
  }
  refuse_changes<FitOptions>(app, what);
  refuse_changes<DataOptions>(app, what);
  refuse_changes<FoldOptions>(app, what);
  FoldedRequest before;
  read_options_json(kept.at("folds"), before.folds);
  read_options_json(kept.at("fit"), before.options);
  read_options_json(kept.at("reading"), before.reading);
  take_running(app, request.options, before.options);
  take_running(app, request.reading, before.reading);
  if (request.data.empty()) request.data = kept.at("data");
  request.out = kept.at("out");
  request.folds = before.folds, request.options = before.options, request.reading = before.reading;
  if (request.data == "-") {
    throw UsageError("the run was reading stdin; give the table again: " + command + " TABLE --resume ...");
  }
}

Table read_folded(const FoldedRequest& request, const std::vector<Formula>& formulas, const nlohmann::json* kept,
                  ProgressWriter& progress) {
  ReadOptions reading = request.reading.read_options(formulas);
  reading.remark = [&](const std::string& sentence) { progress.say(sentence); };
  Table table = read_table(request.data, reading);
  check_columns(request.reading, request.options, table);
  if (kept != nullptr && fingerprint(table) != kept->at("fingerprint").get<std::uint32_t>()) {
    throw DataError(request.data +
                    ": not the table that was read when the run was interrupted; give that one, or start "
                    "again without --resume");
  }
  be_one_thread();
  return table;
}

bool FoldFits::run(const FoldedRequest& request, KeptFolds& kept, ProgressWriter& progress) const {
  const std::int64_t left = count - std::ssize(kept.done());
  TaskProgress shown(progress, "folds", count, std::ssize(kept.done()));
  shown.name = name;
  Processes processes;
  choose_processes(processes, request.reading.threads, left, bytes);
  processes.work = [&](std::int64_t task, const FitControl& control) {
    return to_json(fit(task, processes.threads, control)).dump();
  };
  processes.wanted = [&](std::int64_t task) { return !kept.done().contains(task) && wanted(task); };
  processes.done = [&](std::int64_t task, const std::string& result) {
    kept.keep(task, result, fold_result_from_json(nlohmann::json::parse(result)));
    done(task, kept.done().at(task));
    shown.done();
  };
  processes.failed = failed;
  processes.progress = [&](const auto& running) { shown.show(running); };
  processes.stop = was_stopped;
  begins(processes.at_once);
  listen_for_stop();
  try {
    processes.run(count);
  } catch (...) {
    if (kept.done().empty()) kept.remove();  // of no use
    throw;
  }
  progress.clear();
  if (!was_stopped()) return true;
  fmt::print(stderr, "ick: interrupted, {} of {} folds done; {}\n", kept.done().size(), count,
             kept.folder().empty() ? "with --out they would have been kept"
                                   : "to resume: " + command + " --resume " + quoted(kept.folder()));
  return false;
}

}  // namespace ick
