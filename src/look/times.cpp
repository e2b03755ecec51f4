#include <algorithm>
#include <cmath>
#include <cstddef>

#include "parts.h"

namespace ick::detail {
namespace {

constexpr double kNear = 0.1;        // of the median step: months of 28 to 31 days, days of 23 to 25 hours
constexpr double kGap = 1.5;         // steps
constexpr double kToldApart = 0.99;  // of rows, by instant and series: clocks that are set back repeat an hour

void measure_steps(const Column& column, std::int64_t rows, TimeLook& look) {
  std::vector<double> instants(column.values.begin(), column.values.begin() + rows);
  std::erase_if(instants, [](double value) { return std::isnan(value); });
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  look.instants = std::ssize(instants);
  if (instants.size() < 2) return;
  std::vector<double> steps;
  for (std::size_t i = 1; i < instants.size(); ++i) steps.push_back(instants[i] - instants[i - 1]);
  std::vector<double> sorted = steps;
  std::nth_element(sorted.begin(), sorted.begin() + std::ssize(sorted) / 2, sorted.end());
  const double median = sorted[sorted.size() / 2];
  double sum = 0.0, near = 0.0;
  for (const double step : steps) {
    if (std::abs(step - median) <= kNear * median) sum += step, near += 1.0;
    if (step > kGap * median) ++look.gaps, look.longest_gap = std::max(look.longest_gap, step);
  }
  look.step = sum / near;
  look.near = near / static_cast<double>(steps.size());
}

// What tells rows of one instant apart: the category, else the whole number, else the place with the fewest values.
void find_series(const std::vector<Codes>& codes, const TableLook& page, const Codes& instants, TimeLook& look) {
  const auto try_columns = [&](const std::vector<std::string>& columns, const Codes& series, bool bounded) {
    // A measurement that happens to differ has many more values than an instant has rows.
    if (series.count < 2 || series.count == std::ssize(series.of)) return;
    if (bounded && series.count > 3 * look.most_rows) return;
    if (!look.series.empty() && series.count >= look.series_count) return;
    const Codes pairs = joined(instants, series);
    if (static_cast<double>(pairs.count) < kToldApart * static_cast<double>(page.examined)) return;
    look.series = columns;
    look.series_count = series.count;
  };
  for (const bool whole_numbers : {false, true}) {
    for (std::size_t i = 0; i < page.columns.size() && look.series.empty(); ++i) {
      const ColumnLook& column = page.columns[i];
      const bool fits = whole_numbers ? column.type == ColumnType::integer && column.role != ColumnRole::place
                                      : column.type == ColumnType::category || column.type == ColumnType::text;
      if (fits) try_columns({column.name}, codes[i], whole_numbers);
    }
  }
  if (look.series.empty() && page.place) {
    const std::vector<std::string> columns = {page.place->north, page.place->east};
    try_columns(columns, codes_of_columns(columns, codes, page), false);
  }
}

}  // namespace

std::vector<TimeLook> look_at_times(const Table& table, const std::vector<Codes>& codes, const TableLook& page) {
  std::vector<TimeLook> times;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnLook& column = page.columns[i];
    if (column.type != ColumnType::time || !column.range) continue;
    TimeLook& look = times.emplace_back();
    look.column = column.name;
    look.low = column.range->low, look.high = column.range->high;
    measure_steps(table.columns[i], page.examined, look);
    for (const std::int64_t rows : codes[i].rows()) {
      look.most_rows = std::max(look.most_rows, rows);
      look.shared_instants += rows > 1;
    }
    if (look.most_rows > 1) find_series(codes, page, codes[i], look);
    look.filled =
        static_cast<double>(page.examined - std::count(codes[i].of.begin(), codes[i].of.end(), Codes::kMissing)) /
        static_cast<double>(look.instants * look.series_count);
  }
  return times;
}

}  // namespace ick::detail
