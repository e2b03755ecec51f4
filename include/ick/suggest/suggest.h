#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ick/evaluate/cross_validation.h"
#include "ick/evaluate/time_budget.h"

namespace ick {

// Formulas for a table and a target: a search over the roles of its columns, the periods in its spectrum, sums and
// products, by fits in folds. A part of the rows is set apart first; no step of the search sees them, and they have the
// last word.

struct SuggestOptions {
  std::string budget = "2min";  // of time for search and final fits, about
  std::int64_t folds = 5;       // of the search
  std::optional<FoldRule> by;   // how rows are divided; without a value: from the roles of the columns
  std::string score;            // by which formulas are chosen; "": see usual_score in suggest.cpp
  std::uint64_t seed = 0;

  bool operator==(const SuggestOptions&) const = default;

  template <class Table>
  static void declare(Table& table);
};

namespace detail {

std::vector<std::string> suggest_score_names();

}  // namespace detail

template <class Table>
void SuggestOptions::declare(Table& table) {
  using Self = SuggestOptions;
  table("budget", &Self::budget,
        {.words = {{"none", std::string()}},
         .check = check_budget,
         .text = "Time for the search and the final fits, about, as in 90s or 5min; none: until all is searched"});
  table("folds", &Self::folds, {.range = {{2, 100}}, .text = "Number of folds of the search"});
  table("by", &Self::by,
        {.text = "How rows are divided into folds, and a fifth of them set apart: random, group(station), "
                 "block(date), block(lat, lon); by default cells of the time, else of the place, else at random"});
  table("score", &Self::score,
        {.words = {{"automatic", std::string()}},
         .choices = detail::suggest_score_names,
         .text = "Score by which formulas are chosen; automatic: rmse, crps for logarithms, log_loss for classes"});
  table("seed", &Self::seed, {.text = "Seed of everything random"});
}

// One fit: a fold of a plan.
struct SuggestTask {
  const Table* table = nullptr;
  const FoldedFit* fit = nullptr;
  const FoldPlan* plan = nullptr;
  std::int64_t fold = 0;
};

// Neither of the two: there was no time for it.
struct SuggestOutcome {
  std::optional<FoldResult> result;
  std::string failure;  // why the fit could not be made
};

// Does tasks, one after the other or side by side, until `over` says that there is no time for more.
using RunSuggestTasks =
    std::function<std::vector<SuggestOutcome>(std::span<const SuggestTask> tasks, const std::function<bool()>& over)>;

struct SuggestControl {
  RunSuggestTasks run;              // empty: one after the other
  int threads = 0;                  // of a fit; 0: one for each core
  std::function<bool()> cancelled;  // true ends the search with Interrupted
  std::function<void(const std::string& sentence)> remark;
};

struct SuggestTrial {
  std::string formula;
  std::vector<double> folds;  // score of each; fewer than there are for a formula that was put aside
  std::string failure;        // why it could not be fitted; empty when it could
  double seconds = 0.0;       // of all its fits
};

struct Suggestion {
  std::string formula;
  std::string meaning;   // "a season of 1y in date; plus a line in wind"
  std::string reason;    // why it is among the three
  Estimate folds;        // score in the folds of the search
  Estimate gain;         // how much better than the mean there
  double unseen = 0.0;   // score on the rows set apart; not a number when there was no time for the fit
  Estimate unseen_gain;  // how much better than the mean there
  double p = 1.0;        // of so large a gain when there is none
  double seconds = 0.0;  // of the fit that was scored there
};

struct Suggestions {
  std::string target;
  std::string score;
  FoldRule rule;
  std::string reason;                 // why this rule
  std::int64_t folds = 0;             // that count: fewer than asked for when the time was up before
  std::int64_t rows = 0;              // that the search saw
  std::int64_t fitted_rows = 0;       // that each of its fits chose from: fewer in a large table
  std::int64_t unseen_rows = 0;       // set apart before
  std::vector<std::string> left_out;  // columns that no formula reads, and why
  Estimate mean;                      // score of the mean in folds
  double unseen_mean = 0.0;
  std::int64_t screened = 0;          // formulas that were looked at as linear models
  std::vector<SuggestTrial> trials;   // that were fitted: the mean, then the most promising ones first
  bool fill_gaps = false;             // fits need gaps=fill: columns of kernels have missing cells
  bool finished = false;              // the search ended before its time did
  std::vector<Suggestion> suggested;  // up to three, the first is the one to take; none when nothing was found
  std::string verdict;
  double seconds = 0.0;
};

// UsageError and DataError for a target that cannot be predicted, rows too few to be divided, columns that no formula
// could read, a budget in which not one formula can be scored.
Suggestions suggest(const Table& table, const std::string& target, const SuggestOptions& options = {},
                    const SuggestControl& control = {});

}  // namespace ick
