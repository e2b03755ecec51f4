#include <ATen/ATen.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "cli/option_cli.h"
#include "cli/progress.h"
#include "cli/report_files.h"
#include "cli/resume.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/fit/estimate.h"
#include "ick/store/checkpoint_file.h"
#include "ick/store/model_directory.h"
#include "ick/store/option_json.h"
#include "ick/train/agreement.h"
#include "ick/train/ranks.h"

namespace ick {

namespace {

volatile std::sig_atomic_t stop_asked = 0;

// The first interrupt asks for a checkpoint; the second is the system's own.
void ask_to_stop(int signal) {
  stop_asked = signal;
  std::signal(signal, SIG_DFL);
}

struct FitRequest {
  std::string data, formula, out, resume, progress = "auto";
  bool dry_run = false, json = false;
  FitOptions options;
  DataOptions reading;
  LoadOptions loading;  // of a checkpoint
  ReportFiles report;
};

std::string request_text(const FitRequest& request) {
  nlohmann::json json = options_json(request.reading);
  json["out"] = request.out;
  return json.dump();
}

// A resumed fit is the request that was interrupted; only what is said again is taken from the command line.
StoredCheckpoint take_up(FitRequest& request, const CLI::App& app) {
  refuse_changes<FitOptions>(app, "a fit");
  refuse_changes<DataOptions>(app, "a fit");
  StoredCheckpoint stored = load_checkpoint(request.resume, request.loading);
  const nlohmann::json kept = nlohmann::json::parse(stored.request);
  if (request.data.empty()) request.data = stored.data;
  if (request.out.empty()) request.out = kept.at("out");
  DataOptions reading;
  read_options_json(kept, reading);
  take_running(app, request.reading, reading);
  request.reading = reading;
  take_running(app, request.options, stored.options);
  if (request.data == "-")
    throw UsageError("the fit was reading stdin; give the table again: ick fit TABLE --resume ...");
  return stored;
}

// Settings that decide the result, as text.
template <class Struct>
std::string settings_text(const Struct& from) {
  std::string text;
  for (const Option<Struct>& row : option_table<Struct>()) {
    if (row.group != OptionGroup::running) text += "\n" + row.name + "=" + row.print(row.get(from));
  }
  return text;
}

// The command that resumes a fit that was stopped.
std::string resume_command(const std::string& checkpoint, const Formula& formula, const FitOptions& options) {
  const bool code = brings_code(formula.right) ||
                    (!options.noise_formula.empty() && brings_code(parse_formula(options.noise_formula).right));
  return "ick fit --resume " + quoted(checkpoint) + (code ? " --trust" : "");
}

// Of the model as it was written, on the rows that were set apart.
void report_fit(const FitRequest& request, const FitOptions& given, const Table& table) {
  const StoredModel stored = load_model(request.out, {.trust = true});  // its own code, if any
  ReportOptions options = report_options(request.data, stored.report.options.seed);
  options.commands = {fit_command(request.data, stored.model->formula(), request.out, request.reading, given)};
  write_report(report_of(stored, &table, options), request.report);
}

int run_fit(FitRequest request, const CLI::App& app) {
  const bool resumed = !request.resume.empty();
  StoredCheckpoint stored;
  Formula formula;
  FitOptions options;
  if (resumed) {
    stored = take_up(request, app);
    formula = stored.formula;
    options = stored.options;
  } else {
    if (request.data.empty() || request.formula.empty()) {
      throw UsageError("fit needs a table and a formula, as in ick fit air.csv 'pm25 ~ rbf(x)' --out air.model");
    }
    if (request.out.empty() && !request.dry_run) throw UsageError("fit needs a place for the model: --out DIR");
    formula = parse_formula(request.formula);
    options = request.options;
  }
  RanksOptions together;
  together.waiting = [&](const std::string& sentence) { ProgressWriter(request.progress).say(sentence); };
  const std::unique_ptr<Ranks> ranks = request.dry_run ? nullptr : Ranks::from_environment(together);
  const bool first = ranks == nullptr || ranks->rank() == 0;  // speaks and writes for all
  while (request.out.size() > 1 && request.out.back() == '/') request.out.pop_back();
  CheckpointFile kept(request.out + ".checkpoint", {{}, formula, options, request.data, request_text(request), 0});
  if (!request.out.empty() && !request.dry_run && first) {
    check_model_place(request.out);
    refuse_table_inside(request.data, request.out);
    check_report_place(request.report, request.data, request.out);
    kept.check();
  }
  ReadOptions reading = request.reading.read_options(formula);
  std::vector<std::string> remarks;
  reading.remark = [&](const std::string& sentence) { remarks.push_back(sentence); };
  const Table table = read_in_turn(request.data, reading, ranks.get());
  check_columns(request.reading, options, table);
  ProgressWriter progress(first ? request.progress : "none");
  for (const std::string& sentence : remarks) progress.say(sentence);
  if (request.dry_run) {
    print_estimate(estimate_fit(table, formula, options), request.json);
    return 0;
  }
  const std::uint32_t sum = fingerprint(table);
  if (resumed && sum != stored.fingerprint) {
    throw DataError(request.data + ": not the table the fit was reading when it was interrupted; start the fit again");
  }
  if (ranks != nullptr) {
    const std::string settings = print(formula) + settings_text(options) + settings_text(request.reading);
    check_alike(request.data, sum, settings, *ranks);
  }
  kept.set_table(sum);
  if (first) kept.check();
  const std::string resume = resume_command(kept.path(), formula, options);

  std::string phase;  // of the last checkpoint
  FitHooks hooks;
  hooks.planned = [&](const FitPlan& plan) { say_plan(table, plan, progress); };
  hooks.progress = [&](const Progress& p) { progress.show(p); };
  hooks.interrupted = [] { return stop_asked != 0; };
  hooks.ranks = ranks.get();
  if (ranks != nullptr) progress.say(fmt::format("{} processes", ranks->size()));
  if (first)
    hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      kept.save(checkpoint);
      phase = checkpoint.phase;
    };
  options.threads = request.reading.threads;  // which processes of one fit need not have in common
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  try {
    const PredictorFit fitted = fit_predictor(table, formula, options, hooks, resumed ? &stored.checkpoint : nullptr);
    if (first) {
      save_model(*fitted.model, fitted.report, request.out, table, {request.data, table.names(), sum}, progress.log());
      kept.remove();
      print_fit(fitted, request.out, request.json, progress);
      if (request.report.wanted()) report_fit(request, options, table);
    }
  } catch (const RankLost& lost) {
    progress.clear();
    const bool is_kept = std::filesystem::exists(kept.path());
    fmt::print(stderr, "ick: {}{}\n", lost.what(),
               is_kept ? "; to resume with any number of processes: " + resume : "");
    return 1;
  } catch (const Interrupted& stop) {
    progress.clear();
    const bool is_kept = std::filesystem::exists(kept.path());  // not of a baseline, which takes seconds
    if (first) fmt::print(stderr, "ick: {}{}\n", stop.what(), is_kept ? "; to resume: " + resume : "");
    return 130;
  } catch (const NumericError&) {  // would end there again
    if (!resumed) kept.remove();
    throw;
  } catch (...) {
    // One that holds no work is of no use; one that does is worth keeping when, say, the disk was full.
    if (phase == "start" && !resumed) kept.remove();
    throw;
  }
  return 0;
}

}  // namespace

Command add_fit(CLI::App& program) {
  auto request = std::make_shared<FitRequest>();
  CLI::App* app = program.add_subcommand("fit", "Train a model from a table and a formula");
  FitRequest& r = *request;
  app->add_option("data", r.data, "CSV or TSV table, may be gzipped; - for stdin");
  app->add_option("formula", r.formula, "Formula, for example 'y ~ mlp(a, b) * periodic(date, period=1y) + linear(x)'");
  app->add_option("--out", r.out, "Folder to write the model to");
  app->add_option("--resume", r.resume, "Checkpoint of an interrupted fit to resume");
  add_trust(*app, r.loading)
      ->description("Resume a fit whose checkpoint carries a TorchScript, which could run any code");
  app->add_flag("--dry-run", r.dry_run, "Say what would be done, and what it would take, without doing it");
  app->add_flag("--json", r.json, "Print the result as JSON");
  add_report(*app, r.report);

  add_options(*app, r.options);
  r.reading.add_to(*app);
  add_progress(*app, r.progress);
  return {app, [request, app] { return run_fit(*request, *app); }};
}

}  // namespace ick
