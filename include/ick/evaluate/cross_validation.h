#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ick/base/message.h"
#include "ick/evaluate/folds.h"
#include "ick/evaluate/scores.h"
#include "ick/fit/control.h"
#include "ick/train/options.h"

namespace ick {

struct FoldOptions {
  std::int64_t folds = 5;
  std::optional<FoldRule> by;  // without a value: as validation rows are set apart for the formula
  double level = 0.9;          // of intervals, or sets of classes, whose coverage is scored

  bool operator==(const FoldOptions&) const = default;

  template <class Table>
  static void declare(Table& table);
};

template <class Table>
void FoldOptions::declare(Table& table) {
  using Self = FoldOptions;
  table("folds", &Self::folds, {.range = {{2, 1e6}}, .text = "Number of folds"});
  table("by", &Self::by,
        {.text = "How rows are divided: random, group(station), time(date), future(date) (each fold learns from what "
                 "comes before it), block(lat, lon) or kmeans(lat, lon); by default as validation rows are set apart "
                 "for the formula"});
  table("level", &Self::level,
        {.range = {{0.01, 0.999}}, .text = "Level of the intervals, or sets of classes, whose coverage is scored"});
}

// Who is tested when: the same for every formula on a table, and for a seed.
struct FoldPlan {
  FoldRule rule;
  std::string reason;  // why this rule
  double level = 0.9;
  std::vector<Fold> folds;
  std::string horizon;           // of folds of the future: length of one, for fits whose options do not say
  double ratio = 0.0;            // n_test / n_train, the mean over folds
  std::vector<Message> remarks;  // sentences: rows that take no part
};

// `formula` and `options` decide on a rule that was not asked for, and which column is the target; which baseline
// options.model names has no part in it. Rows of the holdout take none, either. UsageError and DataError as make_folds has them, and for a formula that the table cannot serve.
FoldPlan plan_folds(const Table& table, const std::string& formula, const FitOptions& options = {},
                    const FoldOptions& folds = {});

// What is fitted in each fold, with what its whole table decides.
struct FoldedFit {
  std::string formula;
  FitOptions options;
  double bytes = 0.0;  // that a fit of the whole table takes, about
};
// The likelihood is chosen on all rows: a fold may see too few values to choose the same.
FoldedFit plan_fit_in_folds(const Table& table, const std::string& formula, const FitOptions& options,
                            const FoldPlan& plan);

// The same within a fold: validation rows are set apart as folds are, unless the options say how.
FitOptions options_in_fold(const FitOptions& options, const FoldPlan& plan, std::int64_t fold);

struct FoldResult {
  std::int64_t fold = 0;  // number in the plan, from 0
  UnseenRows unseen;
  std::int64_t not_scored = 0;  // test rows with a gap, or a level or class that no training row of the fold has
  std::int64_t parameters = 0;  // learned; 0: not counted
  double seconds = 0.0;
};

// A model of the fold's training rows, and what it says of its test rows.
FoldResult fit_fold(const Table& table, const FoldedFit& fit, const FoldPlan& plan, std::int64_t fold,
                    const FitControl& control = {});

struct CrossValidation {
  FoldPlan plan;
  std::vector<FoldResult> folds;
  std::vector<ScoreValues> scores;          // of each fold
  std::map<std::string, Estimate> average;  // of each score over folds
};

CrossValidation summary_of(FoldPlan plan, std::vector<FoldResult> folds);

// One fold after the other.
CrossValidation cross_validate(const Table& table, const std::string& formula, const FitOptions& options = {},
                               const FitControl& control = {}, const FoldOptions& folds = {});

}  // namespace ick
