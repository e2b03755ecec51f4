#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ick/base/message.h"
#include "ick/evaluate/cross_validation.h"
#include "ick/evaluate/scores.h"
#include "ick/evaluate/time_budget.h"
#include "ick/fit/control.h"
#include "ick/train/options.h"

// Formulas and simpler models on the same folds: which predicts best, and is the difference more than chance?
namespace ick {

struct CompareOptions {
  std::string with = "usual";  // names of baselines, "forest,boosting"; usual: those that make sense; all; none
  std::string score = {};      // to compare by; "": rmse, of classes log_loss
  std::string budget = {};     // of time for all, "2min"; "": no end

  bool operator==(const CompareOptions&) const = default;

  template <class Table>
  static void declare(Table& table);
};

template <class Table>
void CompareOptions::declare(Table& table) {
  using Self = CompareOptions;
  table(
      "with", &Self::with,
      {.text =
           "Baselines to compare with, as in forest,boosting (`ick list baselines`); usual: those that make sense for "
           "the table and the formulas; all; none"});
  table("score", &Self::score,
        {.words = {{"automatic", std::string()}},
         .text = "Score to compare by, for example rmse, mae, nlpd, crps, log_loss; automatic: rmse, of classes "
                 "log_loss"});
  table("budget", &Self::budget,
        {.words = {{"none", std::string()}},
         .check = check_budget,
         .text = "Time for all fits together, as in 2min, the same for each candidate; none: until all are done"});
}

struct Candidate {
  std::string label;     // in tables: a formula without its target, or the name of a baseline
  std::string phrase;    // in sentences: "the composite model", "boosting"
  std::string baseline;  // its name; "": a formula that was asked about
  FoldedFit fit;         // of each fold
  Message why_not;       // it cannot be fitted, because; empty when it can

  bool is_asked() const { return baseline.empty(); }
  bool can_be_fitted() const { return why_not.marked().empty(); }
};

struct ComparisonPlan {
  FoldPlan folds;
  std::vector<Candidate> candidates;  // formulas first, in the order they were given
  std::string score;

  std::int64_t size() const { return static_cast<std::int64_t>(candidates.size()); }
};

// UsageError for formulas of different targets or weights, scores and baselines that do not exist; UsageError and
// DataError for a formula that the table cannot serve, and as plan_folds has them. What else cannot be fitted says so in
// `why_not`.
ComparisonPlan plan_comparison(const Table& table, const std::vector<std::string>& formulas,
                               const FitOptions& options = {}, const CompareOptions& compare = {},
                               const FoldOptions& folds = {});

// What became of a candidate's fits.
struct CandidateFits {
  std::map<std::int64_t, FoldResult> folds;  // done, by number
  Message failure;                           // of a fit; empty: none failed
};

// A candidate after its fits.
struct Standing {
  enum class Status { complete, out_of_time, failed };

  Candidate candidate;
  Status status = Status::complete;
  Message failure;                            // why it could not be fitted
  std::map<std::int64_t, ScoreValues> folds;  // by number; on the rows that all predict
  std::map<std::string, Estimate> scores;     // over its folds
  Estimate difference;                        // its score less that of the best, fold by fold; 0 of the best itself
  double seconds = 0.0;                       // of all fits
  std::int64_t parameters = 0;                // learned; 0: not counted
};

struct Leaderboard {
  FoldPlan plan;
  std::string score;
  std::vector<Standing> standings;  // the best first; then those out of time, those that failed
  std::int64_t not_predicted = 0;   // test rows that a candidate could not predict, left out for all
  std::string verdict;              // in plain words

  // Mean of a's score less b's over the folds that both have.
  Estimate difference(const Standing& a, const Standing& b) const;
  // That of a formula that was asked about; null when it is none of them.
  const Standing* find(const std::string& formula) const;
  // Nothing is better than it by more than one standard error.
  bool is_best(const Standing& standing) const;
};

// Scores are of the rows that all candidates predict which finished as many folds as any: a row that one of them cannot
// predict counts for none. These are ranked, and the verdict is about them. One that ran out of time has the scores of
// the folds it finished, and its difference to the best is that of the same folds. Error when no formula that was asked
// about finished a fold in time.
Leaderboard summary_of(const ComparisonPlan& plan, const std::vector<CandidateFits>& outcomes);

// One fit after the other.
Leaderboard compare(const Table& table, const std::vector<std::string>& formulas, const FitOptions& options = {},
                    const FitControl& control = {}, const CompareOptions& compare = {}, const FoldOptions& folds = {});

// In the words of the verdict: "4.1% lower (standard error 1.0%)". `relative_to` is the score it is a share of, for scores
// of which shares make sense.
std::string difference_text(const std::string& score, const Estimate& difference, double relative_to);

}  // namespace ick
