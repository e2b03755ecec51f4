#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/data_options.h"
#include "cli/kept_folds.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "ick/evaluate/cross_validation.h"

// What `ick cv` and `ick compare` have in common: a table divided into folds, fits side by side, runs that are
// interrupted and resumed.
namespace ick {

struct FoldedRequest {
  std::string data, out, resume, progress = "auto";
  bool json = false;
  FoldOptions folds;
  FitOptions options;
  DataOptions reading;

  std::string partial() const { return out + ".partial"; }  // folder of finished folds
};

// Options of both commands, in the order of --help; `out` says what is written.
void add_fold_options(CLI::App& app, FoldedRequest& request);
void add_out(CLI::App& app, FoldedRequest& request, const std::string& out);
void add_fit_options(CLI::App& app, FoldedRequest& request);

// What a run of `command`, "ick cv", goes by that is resumed.
nlohmann::json kept_request(const FoldedRequest& request, const std::string& command, std::uint32_t fingerprint);
// The request is that of the interrupted run; only how it runs, and where the table is, is taken from the command line.
// `what` it was: "a cross-validation". UsageError for what cannot be changed, and for a run of another command.
void take_up(FoldedRequest& request, const CLI::App& app, const nlohmann::json& kept, const std::string& command,
             const std::string& what);

// The table that the formulas read; DataError when it is not that of the run that is resumed (null: none is). From here
// on this program has one thread.
Table read_folded(const FoldedRequest& request, const std::vector<Formula>& formulas, const nlohmann::json* kept,
                  ProgressWriter& progress);

// Fits of folds, numbered from 0, each in a process of its own.
struct FoldFits {
  std::string command;  // "ick cv"
  std::int64_t count = 0;
  double bytes = 0.0;                                  // that the largest takes, about
  std::function<std::string(std::int64_t task)> name;  // "fold 2"
  std::function<FoldResult(std::int64_t task, int threads, const FitControl& control)> fit;
  // Asked before a task begins and while it runs.
  std::function<bool(std::int64_t task)> wanted = [](std::int64_t) { return true; };
  std::function<void(int at_once)> begins = [](int) {};
  std::function<void(std::int64_t task, const FoldResult& result)> done = [](std::int64_t, const FoldResult&) {};
  std::function<void(std::int64_t task, std::exception_ptr error)> failed = [](std::int64_t, std::exception_ptr error) {
    std::rethrow_exception(error);
  };

  // Those that are not kept yet. False when it was interrupted, which is said.
  bool run(const FoldedRequest& request, KeptFolds& kept, ProgressWriter& progress) const;
};

}  // namespace ick
