#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/inference/function_posterior.h"
#include "ick/table/split.h"
#include "ick/train/plan.h"

namespace ick {

// Parts of a model's own rows that are left out in turn, parameters held, to see how wrong it is where it has not been:
// whole cells or groups, given all other rows, or futures, given the rows before them.
struct LeftOutParts {
  static constexpr std::size_t kAtRandom = 5;  // parts of rows drawn one by one

  std::vector<std::int64_t> cell_of;  // of each row, -1 for none
  std::vector<LeftOut> folds;
  std::string text;  // "24 futures of 14 d"
};

// Spans of time, where rows are set apart by time.
struct LeftOutTime {
  double horizon = 0.0;   // length of a span in the unit of its column; 0: a tenth of the range
  double period = 0.0;    // the longest one of the kernels on that column: futures should have seen it once
  bool futures = true;    // each span given what comes before it; else given all other rows
  std::size_t most = 24;  // spans
};

// In the way in which `split` sets rows apart; none for rows drawn one by one or by a condition, or too few of them.
std::optional<LeftOutParts> left_out_parts(const Table& table, const Split& split, const Dataset& rows,
                                           LeftOutTime time, std::uint64_t seed);

// The same as a plan says: with its split, horizon and seed.
std::optional<LeftOutParts> left_out_parts(const Table& table, const FitPlan& plan, const Dataset& rows,
                                           LeftOutTime time);
// Rows drawn one by one: a fifth of them each, some of which are predicted.
LeftOutParts parts_at_random(std::int64_t rows, std::uint64_t seed);

// The rows in `use` in `count` folds, each drawn as `split` sets rows apart, whatever its share. Of groups there may be
// fewer than folds.
std::vector<std::vector<bool>> folds_like(const Table& table, Split split, std::vector<bool> use, int count,
                                          std::uint64_t seed);

// The length of the futures that a fit is for, in the unit of `column`: what the setting says, or how far the holdout
// reaches beyond all other rows; 0: not known.
double horizon_of(const Table& table, const FitPlan& plan, const std::string& column);

// The column that `last` goes by.
std::string time_column_of(const Table& table, const Split& split);

}  // namespace ick
