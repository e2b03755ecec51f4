#include "inference/left_out.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"

namespace ick {

namespace {

constexpr std::size_t kMostFolds = 60;   // more blocks hardly change a quantile
constexpr std::int64_t kMostRows = 200;  // of a fold, that are predicted
constexpr double kHistory = 0.5;         // of the range: what comes before all futures
constexpr double kPeriods = 1.25;        // a season that was seen once, and where it meets itself
constexpr double kUsualFuture = 0.1;     // of the range
constexpr std::int64_t kLeastRows = 3;   // of a fold
constexpr std::size_t kLeastFolds = 2;

// Some of many rows, in order.
std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& rows, std::uint64_t seed) {
  const at::Tensor drawn = draw_rows(std::ssize(rows), kMostRows, seed);
  std::vector<std::int64_t> some;
  for (std::int64_t i = 0; i < drawn.size(0); ++i) {
    some.push_back(rows[static_cast<std::size_t>(drawn.data_ptr<std::int64_t>()[i])]);
  }
  return some;
}

// Values of a column at the rows, and their range.
struct Times {
  const Column& column;
  const Dataset& rows;
  double low = HUGE_VAL, high = -HUGE_VAL;

  Times(const Column& of, const Dataset& at) : column(of), rows(at) {
    for (std::int64_t i = 0; i < rows.size(); ++i) low = std::min(low, (*this)(i)), high = std::max(high, (*this)(i));
  }
  double operator()(std::int64_t i) const { return column.values[rows.rows[static_cast<std::size_t>(i)]]; }
  double range() const { return high - low; }
};

// Spans of `length` that end at `high`, high - step, ...: row i is in span k when start_k < t_i <= start_k + length. Cells
// are the spans, and the gaps between them: 2 k is span k, 2 k + 1 what lies before it and after span k + 1.
struct Spans {
  std::vector<double> starts;  // the latest first
  double length = 0.0;

  std::int64_t cell(double t) const {
    for (std::size_t k = 0; k < starts.size(); ++k) {
      if (t > starts[k] + length) return k == 0 ? 0 : static_cast<std::int64_t>(2 * k - 1);
      if (t > starts[k]) return static_cast<std::int64_t>(2 * k);
    }
    return -1;
  }
};

// At most `most` spans, evenly between `from` and the end, which do not overlap.
Spans spans_between(const Times& times, double from, double length, std::size_t most) {
  const double fit = std::floor((times.high - from) / length + 1e-9);
  const auto count = static_cast<std::size_t>(std::min(fit, static_cast<double>(most)));
  const double step = count > 1 ? (times.high - from - length) / static_cast<double>(count - 1) : length;
  Spans spans{{}, length};
  for (std::size_t k = 0; k < count; ++k) {
    spans.starts.push_back(times.high - length - step * static_cast<double>(k));
  }
  if (fit <= static_cast<double>(most)) {  // side by side
    for (std::size_t k = 0; k < count; ++k) spans.starts[k] = times.high - length * static_cast<double>(k + 1);
  }
  return spans;
}

// Each span given what comes before it, or given all rows but its own.
LeftOutParts parts_of(const Times& times, const Spans& spans, bool futures, std::uint64_t seed) {
  LeftOutParts parts;
  std::vector<std::vector<std::int64_t>> of_span(spans.starts.size());
  for (std::int64_t i = 0; i < times.rows.size(); ++i) {
    const std::int64_t cell = spans.cell(times(i));
    parts.cell_of.push_back(cell);
    if (cell >= 0 && cell % 2 == 0) of_span[static_cast<std::size_t>(cell / 2)].push_back(i);
  }
  for (std::size_t k = 0; k < of_span.size(); ++k) {
    if (std::ssize(of_span[k]) < kLeastRows) continue;
    LeftOut& fold = parts.folds.emplace_back();
    fold.rows = some_of(of_span[k], seed_for(seed, "span#" + std::to_string(k)));
    const auto own = static_cast<std::int64_t>(2 * k);
    for (std::int64_t cell = futures ? 0 : own; cell <= own; ++cell) fold.cells.push_back(cell);
  }
  const std::string unit = times.column.info.type == ColumnType::time ? " d" : "";
  parts.text = (futures ? "futures of " : "spans of ") + number_text(std::round(spans.length * 1e3) / 1e3) + unit;
  return parts;
}

// Futures: in the second half of the range, and after a season has been seen. Else spans anywhere.
std::optional<LeftOutParts> in_time(const Times& times, const LeftOutTime& wanted, std::uint64_t seed) {
  double length = wanted.horizon;
  if (!(times.range() > 0.0)) return std::nullopt;
  if (length <= 0.0) length = kUsualFuture * times.range();
  const double history = std::min(std::max(kHistory * times.range(), kPeriods * wanted.period),
                                  times.range() - static_cast<double>(kLeastFolds) * length);
  const double from = times.low + (wanted.futures ? std::max(history, kHistory * times.range()) : 0.0);
  if (times.high - from < static_cast<double>(kLeastFolds) * length * (1.0 - 1e-9)) return std::nullopt;
  return parts_of(times, spans_between(times, from, length, wanted.most), wanted.futures, seed);
}

// Cells of the grid that block(...) draws from, or groups; some of them where there are many.
std::optional<LeftOutParts> blocks(const Table& table, const Split& split, const Dataset& rows, std::uint64_t seed) {
  constexpr int kCells = 100;  // blocks_of() then has the grid of block(...)
  std::vector<Block> all = blocks_of(table, split.columns, rows.rows, kCells);
  std::erase_if(all, [](const Block& block) { return std::ssize(block.rows) < kLeastRows; });
  if (all.size() < kLeastFolds) return std::nullopt;
  Random random(seed_for(seed, "blocks left out"));
  for (std::size_t i = 0; i < std::min(all.size(), kMostFolds); ++i) {
    std::swap(all[i], all[i + static_cast<std::size_t>(random.below(std::ssize(all) - static_cast<std::int64_t>(i)))]);
  }
  all.resize(std::min(all.size(), kMostFolds));
  std::vector<std::int64_t> number(static_cast<std::size_t>(table.rows), -1);  // of a row of the table among `rows`
  for (std::int64_t i = 0; i < rows.size(); ++i) number[static_cast<std::size_t>(rows.rows[i])] = i;
  LeftOutParts parts;
  parts.cell_of.assign(static_cast<std::size_t>(rows.size()), -1);
  for (std::size_t b = 0; b < all.size(); ++b) {
    std::vector<std::int64_t> own;
    for (const std::int64_t row : all[b].rows) {
      own.push_back(number[static_cast<std::size_t>(row)]);
      parts.cell_of[static_cast<std::size_t>(own.back())] = static_cast<std::int64_t>(b);
    }
    parts.folds.push_back({some_of(own, seed_for(seed, "block#" + std::to_string(b))), {static_cast<std::int64_t>(b)}});
  }
  parts.text = split.kind == Split::Kind::group ? "groups" : "blocks";
  return parts;
}

}  // namespace

std::string time_column_of(const Table& table, const Split& split) {
  if (!split.columns.empty()) return split.columns.front();
  for (const Column& column : table.columns) {
    if (column.info.type == ColumnType::time) return column.info.name;
  }
  return "";
}

std::optional<LeftOutParts> left_out_parts(const Table& table, const Split& split, const Dataset& rows,
                                           LeftOutTime time, std::uint64_t seed) {
  std::optional<LeftOutParts> parts;
  if (split.kind == Split::Kind::last) {
    parts = in_time({table.column(time_column_of(table, split)), rows}, time, seed);
  } else if (split.kind == Split::Kind::block || split.kind == Split::Kind::group) {
    parts = blocks(table, split, rows, seed);
  }
  if (!parts || parts->folds.size() < kLeastFolds) return std::nullopt;
  return parts;
}

std::optional<LeftOutParts> left_out_parts(const Table& table, const FitPlan& plan, const Dataset& rows,
                                           LeftOutTime time) {
  const Split& split = *plan.options.validation;
  if (split.kind == Split::Kind::last) time.horizon = horizon_of(table, plan, time_column_of(table, split));
  return left_out_parts(table, split, rows, time, seed_for(plan.options.seed, "left out"));
}

LeftOutParts parts_at_random(std::int64_t rows, std::uint64_t seed) {
  constexpr std::int64_t kRowsAtRandom = 400;  // of each, that are predicted
  const std::vector<std::int64_t> order = shuffled(rows, seed_for(seed, "fifths"));
  LeftOutParts parts;
  parts.cell_of.resize(static_cast<std::size_t>(rows));
  parts.folds.resize(std::min(LeftOutParts::kAtRandom, static_cast<std::size_t>(rows)));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t row = order[static_cast<std::size_t>(i)];
    const auto part = static_cast<std::size_t>(i) % parts.folds.size();
    parts.cell_of[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(part);
    std::vector<std::int64_t>& of_part = parts.folds[part].rows;
    if (std::ssize(of_part) < kRowsAtRandom) of_part.push_back(row);
  }
  parts.text = "folds";
  for (std::size_t k = 0; k < parts.folds.size(); ++k) parts.folds[k].cells = {static_cast<std::int64_t>(k)};
  return parts;
}

std::vector<std::vector<bool>> folds_like(const Table& table, Split split, std::vector<bool> use, int count,
                                          std::uint64_t seed) {
  std::vector<std::vector<bool>> folds;
  for (int left = count; left > 1; --left) {
    split.share = 1.0 / left;
    std::vector<bool> fold;
    try {
      fold = held_out(table, split, seed_for(seed, "fold " + std::to_string(left)), use);
    } catch (const DataError&) {  // one group is left: it is the last fold
      break;
    }
    for (std::size_t i = 0; i < use.size(); ++i) use[i] = use[i] && !fold[i];
    folds.push_back(std::move(fold));
  }
  folds.push_back(std::move(use));
  return folds;
}

double horizon_of(const Table& table, const FitPlan& plan, const std::string& column) {
  if (column.empty()) return 0.0;
  const Column& times = table.column(column);
  if (const std::optional<Quantity> asked = read_quantity(plan.options.horizon)) {
    const auto declared = plan.options.units.find(column);
    const std::string unit = times.info.type == ColumnType::time    ? "d"
                             : declared != plan.options.units.end() ? declared->second
                                                                    : "";
    if (asked->unit.empty()) return asked->number;
    const std::optional<double> converted = convert(asked->number, asked->unit, unit);
    if (!converted) {
      throw UsageError(setting("horizon", plan.options.horizon) + " is not a length of column \"" + column + "\"" +
                       (unit.empty()
                            ? ", which has no unit; write a plain number, or declare one with " + setting("units")
                            : ", which is in " + unit));
    }
    return *converted;
  }
  double last = -HUGE_VAL, held_first = HUGE_VAL, held_last = -HUGE_VAL;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    const double t = times.values[i];
    if (std::isnan(t)) continue;
    if (plan.training[i] || plan.validation[i]) last = std::max(last, t);
    if (plan.holdout[i]) held_first = std::min(held_first, t), held_last = std::max(held_last, t);
  }
  return std::isfinite(held_first) && held_first > last ? held_last - last : 0.0;
}

}  // namespace ick
