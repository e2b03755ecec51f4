#include "rows/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/table/time.h"

namespace ick::detail {
namespace {

constexpr std::string_view kIso = "%Y-%m-%d";

std::string set_place(const std::string& column, const std::string& cell) {
  return setting("set", column + "=" + cell) + ": ";
}

}  // namespace

double time_of(const ColumnInfo& info, const std::string& text, const std::string& place) {
  if (const auto found = parse_time(text, info.time_format.empty() ? kIso : info.time_format)) return *found;
  if (const auto found = parse_time(text, kIso)) return *found;
  throw UsageError(place + "\"" + text +
                   "\" is not a time; expected YYYY-MM-DD, with HH:MM behind it for a time of day");
}

std::vector<double> times_of(const ColumnInfo& info, const std::string& text, const TimeStep& usual,
                             const std::string& place, std::int64_t most) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {time_of(info, text, place)};
  // Dates may be written with /: the step is what can be read as one.
  const std::size_t slash = text.rfind('/');
  std::optional<TimeStep> step;
  if (slash != std::string::npos && slash > dots) step = parse_step(std::string_view(text).substr(slash + 1));
  const std::string last_text = text.substr(dots + 2, step ? slash - dots - 2 : std::string::npos);
  if (!step && usual.any()) step = usual;
  if (!step) throw UsageError(place + "no step; expected FIRST..LAST/STEP, as in 2019-01-01..2019-12-01/1month");
  const double first = time_of(info, text.substr(0, dots), place), last = time_of(info, last_text, place);
  if (last < first) throw UsageError(place + "the last time is before the first");
  std::vector<double> times;
  for (double time = first; time <= last; time = after(first, *step, std::ssize(times))) {
    if (std::ssize(times) == most)
      throw UsageError(place + fmt::format("more than {} times; give a longer step", most));
    times.push_back(time);
  }
  return times;
}

double value_of(const ColumnInfo& info, const std::string& cell, std::string_view place) {
  const std::string at(place);
  if (info.type == ColumnType::time) return time_of(info, cell, at);
  if (info.type == ColumnType::category) {
    const auto found = std::find(info.levels.begin(), info.levels.end(), cell);
    if (found != info.levels.end()) return static_cast<double>(found - info.levels.begin());
    const std::string guess = did_you_mean(cell, info.levels);
    const std::span few(info.levels.data(), std::min<std::size_t>(info.levels.size(), 10));
    throw UsageError(at + "no row that the model has seen has the level \"" + cell + "\"" +
                     (!guess.empty()
                          ? guess
                          : "; there are " + join_words(few) + (few.size() < info.levels.size() ? " and more" : "")));
  }
  double value = 0.0;
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    throw UsageError(at + "\"" + cell + "\" is not a number");
  }
  return value;
}

std::string cell_of(const ColumnInfo& info, double value) {
  if (std::isnan(value)) return "";
  if (info.type == ColumnType::time) return time_text(value, info.time_format, clock_of(value));
  if (info.type == ColumnType::category) return value < 0.0 ? "" : info.levels[static_cast<std::size_t>(value)];
  return number_text(value);
}

std::vector<HeldValue> held_values(const DataSummary& summary, const SetValues& set,
                                   const std::vector<std::string>& made) {
  for (const auto& [name, cell] : set) {
    summary.column(name);
    if (contains(made, name)) throw UsageError(set_place(name, cell) + "this column's values are made; leave it out");
  }
  std::vector<HeldValue> held;
  for (const ColumnSummary& each : summary.columns) {
    const std::string& name = each.info.name;
    if (contains(made, name)) continue;
    if (const auto found = set.find(name); found != set.end()) {
      held.push_back({&each, value_of(each.info, found->second, set_place(name, found->second)), false});
      continue;
    }
    if (!each.read) continue;
    if (each.info.type == ColumnType::text) {
      throw UsageError("the model reads images, named by the column \"" + name +
                       "\": rows that do not exist yet have none; give predict a table that names them");
    }
    if (each.info.type == ColumnType::time) {
      throw UsageError("the model reads the time \"" + name + "\", and one has to be given: " +
                       setting("set", name + "=" + cell_of(each.info, each.high)) + " is the last that it has seen");
    }
    held.push_back({&each, each.typical, true});
  }
  return held;
}

ColumnInfo info_of(const ColumnSummary& column) {
  ColumnInfo info = column.info;
  if (info.type == ColumnType::integer) info.type = ColumnType::number;  // that those seen were whole binds no others
  return info;
}

Column column_of(const ColumnSummary& column, std::vector<double> values) {
  Column made;
  made.info = info_of(column);
  made.missing = std::count_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  made.values = std::move(values);
  return made;
}

Table table_of(const DataSummary& summary, std::vector<Column> columns, std::int64_t rows) {
  Table table;
  table.rows = rows;
  for (const ColumnSummary& each : summary.columns) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const Column& column) { return column.info.name == each.info.name; });
    if (found != columns.end()) table.columns.push_back(std::move(*found));
  }
  return table;
}

}  // namespace ick::detail
