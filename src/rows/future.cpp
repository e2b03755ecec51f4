#include "ick/rows/future.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "rows/values.h"

namespace ick {

namespace {

using detail::HeldValue;

// A time to the millisecond and the cells of a series, as text that equals where they are equal.
std::string joining_key(double time, const std::vector<std::string>& cells) {
  std::string key = std::to_string(std::llround(time * 86'400'000.0));
  for (const std::string& cell : cells) key += '\0' + cell;
  return key;
}

// The table that further columns come from, by time and series.
class Companion {
 public:
  Companion(const DataSummary& summary, const Table& with) : with_(with) {
    const Column* const times = with.find(summary.time);
    if (times == nullptr || times->info.type != ColumnType::time) {
      throw DataError(setting("with") + ": the table has no column of times named \"" + summary.time +
                      "\", on which it is joined; it has " + join_words(with.names()));
    }
    for (const std::string& name : summary.fixed) {
      if (with.find(name) != nullptr) shared_.push_back(name);
    }
    for (const ColumnSummary& each : summary.columns) {
      const std::string& name = each.info.name;
      if (with.find(name) != nullptr && name != summary.time && !summary.is_fixed(name)) columns_.push_back(name);
    }
    if (columns_.empty()) {
      throw DataError(setting("with") + ": the table has no column that the model reads besides the time and the " +
                      "series' own: it has " + join_words(with.names()));
    }
    for (std::int64_t row = 0; row < with.rows; ++row) {
      const auto i = static_cast<std::size_t>(row);
      std::vector<std::string> cells;
      for (const std::string& name : shared_) {
        const Column& column = with.column(name);
        cells.push_back(detail::cell_of(column.info, column.values[i]));
      }
      const double time = times->values[i];
      if (std::isnan(time) || rows_.emplace(joining_key(time, cells), i).second) continue;
      throw DataError(fmt::format("{}: row {}: there is a row of {}{} already; which one is meant cannot be told",
                                  setting("with"), row + 1, detail::cell_of(times->info, time),
                                  shared_.empty() ? "" : " and " + join_words(cells)));
    }
  }

  const std::vector<std::string>& columns() const { return columns_; }

  // The row of a time of a series; none when there is none.
  std::optional<std::size_t> find(const DataSummary& summary, const SeriesSummary& series, double time) const {
    std::vector<std::string> cells;
    for (const std::string& name : shared_) {
      const auto place = std::find(summary.fixed.begin(), summary.fixed.end(), name) - summary.fixed.begin();
      cells.push_back(detail::cell_of(summary.column(name).info, series.values[static_cast<std::size_t>(place)]));
    }
    const auto found = rows_.find(joining_key(time, cells));
    return found == rows_.end() ? std::nullopt : std::optional(found->second);
  }

  // As the summary has it: codes of its levels. A level that it does not have is -1.
  double value(const ColumnInfo& known, std::size_t row) const {
    const Column& column = with_.column(known.name);
    const double value = column.values[row];
    if (known.type != ColumnType::category || std::isnan(value)) return value;
    const auto found = std::find(known.levels.begin(), known.levels.end(), detail::cell_of(column.info, value));
    return found == known.levels.end() ? -1.0 : static_cast<double>(found - known.levels.begin());
  }

 private:
  const Table& with_;
  std::vector<std::string> shared_, columns_;
  std::unordered_map<std::string, std::size_t> rows_;
};

TimeStep step_of(const DataSummary& summary, const FutureOptions& options) {
  if (options.every.empty()) {
    if (summary.step.any()) return summary.step;
    throw UsageError(
        "the model has seen one time of each series, so there is no usual step; say how far apart rows are, "
        "as in " +
        setting("every", "1d"));
  }
  std::optional<TimeStep> step = parse_step(options.every);
  if (!step) {
    throw UsageError(setting("every", options.every) +
                     ": not a step of time; expected a number with a unit (s, min, h, d, w, month, y), as in 1h");
  }
  step->month_end = step->months > 0 && summary.step.month_end;
  if (step->months == 0 && !holds_days(summary.column(summary.time).info.time_format)) {
    throw UsageError(setting("every", options.every) + ": the times of \"" + summary.time +
                     "\" are months (YYYY-MM); expected a step of months or years, as in 1month");
  }
  return *step;
}

// Times of each series: the first `rows` after its last, or those up to `until`.
std::vector<std::vector<double>> times_ahead(const DataSummary& summary, const FutureOptions& options,
                                             const TimeStep& step) {
  const ColumnInfo& info = summary.column(summary.time).info;
  const double until = options.until.empty()
                           ? std::numeric_limits<double>::infinity()
                           : detail::time_of(info, options.until, setting("until", options.until) + ": ");
  const std::int64_t rows = options.rows > 0 ? options.rows : std::numeric_limits<std::int64_t>::max();
  std::vector<std::vector<double>> all;
  std::int64_t count = 0;
  for (const SeriesSummary& series : summary.series) {
    std::vector<double>& times = all.emplace_back();
    for (std::int64_t k = 1; k <= rows; ++k) {
      const double time = after(series.last, step, k);
      if (time > until) break;
      if (++count > options.most) {
        throw UsageError(
            fmt::format("more than {} rows would be made, of {} series every {}; ask for fewer, or allow "
                        "as many with {}",
                        options.most, summary.series.size(), step_text(step), setting("most")));
      }
      times.push_back(time);
    }
  }
  if (count > 0) return all;
  double last = -std::numeric_limits<double>::infinity();
  for (const SeriesSummary& series : summary.series) last = std::max(last, series.last);
  throw UsageError(setting("until", options.until) + ": the rows that the model has seen end at " +
                   detail::cell_of(info, last) + ", and the next one after " + step_text(step) +
                   " is later than that; give a later time");
}

}  // namespace

FutureRows future_rows(const DataSummary& summary, const FutureOptions& options) {
  if (summary.time.empty()) {
    throw UsageError(
        "the model does not read one column of times, so there is no next row; write the rows to be predicted as a "
        "table, or make those of a grid");
  }
  if (options.until.empty() == (options.rows == 0)) {
    throw UsageError("how far into the future? Give either " + setting("until", "2030-01-31") + " or " +
                     setting("rows", "100"));
  }
  if (options.rows < 0) throw UsageError(setting("rows", std::to_string(options.rows)) + ": expected at least 1");
  FutureRows made;
  made.step = step_of(summary, options);
  const std::vector<std::vector<double>> times = times_ahead(summary, options, made.step);
  std::optional<Companion> with;
  if (options.with != nullptr) with.emplace(summary, *options.with);
  std::vector<std::string> given = summary.fixed;
  given.push_back(summary.time);
  if (with) made.joined = with->columns(), add_new(given, made.joined);
  const std::vector<HeldValue> held = detail::held_values(summary, options.set, given);
  for (const HeldValue& each : held) made.held.push_back(each.said());

  std::vector<std::vector<double>> fixed(summary.fixed.size()), joined(made.joined.size());
  std::vector<double> all_times;
  for (std::size_t s = 0; s < times.size(); ++s) {
    const SeriesSummary& series = summary.series[s];
    times[s].empty() ? ++made.ended : ++made.series;
    all_times.insert(all_times.end(), times[s].begin(), times[s].end());
    for (std::size_t k = 0; k < fixed.size(); ++k) fixed[k].insert(fixed[k].end(), times[s].size(), series.values[k]);
    for (const double time : with ? times[s] : std::vector<double>()) {
      const std::optional<std::size_t> row = with->find(summary, series, time);
      made.without += !row;
      for (std::size_t k = 0; k < joined.size(); ++k) {
        joined[k].push_back(row ? with->value(summary.column(made.joined[k]).info, *row)
                                : std::numeric_limits<double>::quiet_NaN());
      }
    }
  }
  const std::int64_t rows = std::ssize(all_times);
  std::vector<Column> columns;
  columns.push_back(detail::column_of(summary.column(summary.time), std::move(all_times)));
  for (std::size_t k = 0; k < fixed.size(); ++k) {
    columns.push_back(detail::column_of(summary.column(summary.fixed[k]), std::move(fixed[k])));
  }
  for (std::size_t k = 0; k < joined.size(); ++k) {
    columns.push_back(detail::column_of(summary.column(made.joined[k]), std::move(joined[k])));
  }
  for (const HeldValue& each : held) {
    columns.push_back(detail::column_of(*each.column, std::vector<double>(static_cast<std::size_t>(rows), each.value)));
  }
  made.rows = detail::table_of(summary, std::move(columns), rows);
  return made;
}

}  // namespace ick
