#include "ick/dataset/summary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/table/place_names.h"
#include "look/codes.h"

namespace ick {

namespace {

constexpr std::int64_t kExamined = 4'000'000;  // rows, the last ones, by which series and steps are found
constexpr double kMostlyKnown = 0.9;           // of the rows with a time, by a column that names series
constexpr double kToldApart = 0.99;            // of rows, by time and series: clocks that are set back repeat an hour
constexpr double kOnOneDay = 0.9;              // of the times of a rhythm of months

bool is_used(const std::vector<bool>& use, std::int64_t row) {
  return use.empty() || use[static_cast<std::size_t>(row)];
}

// Some rows of a column, as a column of its own.
Column some_of(const Column& column, const std::vector<std::int64_t>& rows) {
  std::vector<double> values;
  for (const std::int64_t row : rows) values.push_back(column.values[static_cast<std::size_t>(row)]);
  column.values.release();
  Column some;
  some.info = column.info;
  some.values = std::move(values);
  return some;
}

double median_of(std::vector<double> values) {  // a value that there is: the lower one of two
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double most_frequent(const std::vector<double>& codes) {
  std::map<double, std::int64_t> counts;
  for (const double code : codes) ++counts[code];
  const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(counts.begin(), counts.end(), more)->first;
}

ColumnSummary summary_of(const Column& column, const std::vector<bool>& use, const std::vector<std::int64_t>& examined,
                         bool read) {
  ColumnSummary summary{column.info};
  summary.read = read;
  if (column.info.type == ColumnType::text) return summary;
  const bool category = column.info.type == ColumnType::category;
  const auto known = [&](double value) { return std::isfinite(value) && !(category && value < 0.0); };
  summary.low = std::numeric_limits<double>::infinity(), summary.high = -summary.low;
  for (std::size_t row = 0; row < column.values.size(); ++row) {
    const double value = column.values[row];
    if (!known(value) || !is_used(use, static_cast<std::int64_t>(row))) continue;
    summary.low = std::min(summary.low, value), summary.high = std::max(summary.high, value);
  }
  std::vector<double> values = some_of(column, examined).values.copy();
  std::erase_if(values, [&](double value) { return !known(value); });
  if (values.empty()) {
    summary.low = summary.high = summary.typical = std::numeric_limits<double>::quiet_NaN();
  } else {
    summary.typical = category ? most_frequent(values) : median_of(std::move(values));
  }
  return summary;
}

// Columns of which one value stands for each series.
class Keys {
 public:
  Keys(const Table& table, const std::vector<std::string>& others, const std::string& time,
       const std::vector<std::int64_t>& rows)
      : rows_(std::ssize(rows)), times_(detail::codes_of(some_of(table.column(time), rows), rows_)) {
    const std::vector<std::int64_t> of_time = times_.rows();
    const std::int64_t most = of_time.empty() ? 0 : *std::max_element(of_time.begin(), of_time.end());
    if (times_.count >= kToldApart * known_rows(times_)) return;  // one series
    const auto may_tell = [&](const Column& column) {
      return column.info.name != time && !contains(others, column.info.name);
    };
    for (const ColumnType type : {ColumnType::category, ColumnType::integer}) {
      for (const Column& column : table.columns) {
        const bool place = runs_north(column.info.name) || runs_east(column.info.name);
        if (column.info.type != type || place || !may_tell(column)) continue;
        try_columns({column.info.name}, detail::codes_of(some_of(column, rows), rows_),
                    type == ColumnType::integer ? 3 * most : rows_);
      }
      if (!names_.empty()) return;
    }
    const Column *north = nullptr, *east = nullptr;
    for (const Column& column : table.columns) {
      if (column.values.empty() || !may_tell(column)) continue;
      if (runs_north(column.info.name)) north = &column;
      if (runs_east(column.info.name)) east = &column;
    }
    if (north == nullptr || east == nullptr) return;
    try_columns({north->info.name, east->info.name},
                joined(detail::codes_of(some_of(*north, rows), rows_), detail::codes_of(some_of(*east, rows), rows_)),
                rows_);
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  static double known_rows(const detail::Codes& codes) {
    return static_cast<double>(codes.of.size()) -
           static_cast<double>(std::count(codes.of.begin(), codes.of.end(), detail::Codes::kMissing));
  }

  // The fewest series that tell rows of one time apart.
  void try_columns(const std::vector<std::string>& names, const detail::Codes& codes, std::int64_t most) {
    if (codes.count < 2 || codes.count > most || (series_ > 0 && codes.count >= series_)) return;
    const detail::Codes both = joined(times_, codes);  // gaps tell nothing
    if (known_rows(both) < kMostlyKnown * known_rows(times_) || both.count < kToldApart * known_rows(both)) return;
    names_ = names;
    series_ = codes.count;
  }

  std::int64_t rows_;
  detail::Codes times_;
  std::vector<std::string> names_;
  std::int64_t series_ = 0;
};

// The key of a row as bytes; none where a part of it is missing.
std::optional<std::string> key_of(const std::vector<const Column*>& columns, std::size_t row) {
  std::string key;
  for (const Column* column : columns) {
    const double value = column->values[row] + 0.0;  // zero without a sign
    if (std::isnan(value) || (column->info.type == ColumnType::category && value < 0.0)) return std::nullopt;
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return key;
}

std::vector<const Column*> columns_of(const Table& table, const std::vector<std::string>& names) {
  std::vector<const Column*> columns;
  for (const std::string& name : names) columns.push_back(&table.column(name));
  return columns;
}

// Rows of each series in the order of time: (series, time).
using SeriesTimes = std::vector<std::pair<std::uint32_t, double>>;

SeriesTimes moments_of(const Table& table, const DataSummary& summary, const std::vector<std::int64_t>& rows) {
  const std::vector<const Column*> keys = columns_of(table, summary.keys);
  const Numbers& times = table.column(summary.time).values;
  std::unordered_map<std::string, std::uint32_t> known;
  SeriesTimes moments;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    const std::optional<std::string> key = key_of(keys, i);
    if (!key || !std::isfinite(times[i])) continue;
    moments.emplace_back(known.emplace(*key, static_cast<std::uint32_t>(known.size())).first->second, times[i]);
  }
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  return moments;
}

// Median of the steps; of months where times are on one day of them.
TimeStep usual_step(const SeriesTimes& moments) {
  constexpr double kMonth = 27.9;  // days, the shortest with a clock set forward
  std::vector<double> days, months;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    if (moments[i].first != moments[i - 1].first) continue;
    days.push_back(moments[i].second - moments[i - 1].second);
    months.push_back(static_cast<double>(month_of(moments[i].second) - month_of(moments[i - 1].second)));
  }
  if (days.empty()) return {};
  const double step = median_of(days);
  const auto seconds = std::round(step * 86'400.0);
  if (step >= kMonth) {
    std::map<int, double> on_day;
    double at_end = 0.0;
    for (const auto& [series, time] : moments) ++on_day[day_of_month(time)], at_end += is_month_end(time);
    double most = 0.0;
    for (const auto& [day, count] : on_day) most = std::max(most, count);
    const double all = kOnOneDay * static_cast<double>(moments.size());
    if (const int usual = static_cast<int>(median_of(months)); usual > 0 && std::max(most, at_end) >= all) {
      return {0.0, usual, at_end >= all};
    }
  }
  return {std::abs(step * 86'400.0 - seconds) < 1e-2 && seconds > 0.0 ? seconds / 86'400.0 : step};
}

// Columns read, besides keys, that have one value in each series.
std::vector<std::string> fixed_columns(const Table& table, const DataSummary& summary,
                                       const std::vector<std::int64_t>& rows) {
  std::vector<std::string> fixed = summary.keys;
  if (fixed.empty()) return fixed;
  const std::vector<const Column*> keys = columns_of(table, summary.keys);
  for (const ColumnSummary& each : summary.columns) {
    const std::string& name = each.info.name;
    if (!each.read || name == summary.time || contains(fixed, name) || each.info.type == ColumnType::text) continue;
    const Numbers& values = table.column(name).values;
    std::unordered_map<std::string, double> seen;
    bool repeated = false, changes = false;
    for (const std::int64_t row : rows) {
      const auto i = static_cast<std::size_t>(row);
      const std::optional<std::string> key = key_of(keys, i);
      if (!key || std::isnan(values[i])) continue;
      const auto [place, is_new] = seen.emplace(*key, values[i]);
      repeated = repeated || !is_new;
      if (!is_new && place->second != values[i]) {
        changes = true;
        break;
      }
    }
    if (repeated && !changes) fixed.push_back(name);
  }
  return fixed;
}

// Last time and values of each series.
class Ends {
 public:
  explicit Ends(const DataSummary& summary) : summary_(summary) {}

  void add(const std::string& key, double time, const std::vector<double>& values) {
    const auto [place, is_new] = known_.emplace(key, series_.size());
    if (is_new) series_.push_back({values, time});
    SeriesSummary& series = series_[place->second];
    series.last = std::max(series.last, time);
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (std::isnan(series.values[k])) series.values[k] = values[k];
    }
  }

  void add_rows(const Table& table, const std::vector<bool>& use) {
    const std::vector<const Column*> keys = columns_of(table, summary_.keys), fixed = columns_of(table, summary_.fixed);
    const Numbers& times = table.column(summary_.time).values;
    for (std::int64_t row = 0; row < table.rows; ++row) {
      const auto i = static_cast<std::size_t>(row);
      if (!is_used(use, row) || !std::isfinite(times[i])) continue;
      const std::optional<std::string> key = key_of(keys, i);
      if (!key) continue;
      std::vector<double> values;
      for (const Column* column : fixed) values.push_back(column->values[i]);
      add(*key, times[i], values);
    }
  }

  // Those that end last, in the order in which they begin.
  void write(DataSummary& summary) && {
    summary.series_count = std::max(summary.series_count, std::ssize(series_));
    if (std::ssize(series_) > DataSummary::kMostSeries) {
      std::vector<std::size_t> order(series_.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return series_[a].last > series_[b].last; });
      order.resize(DataSummary::kMostSeries);
      std::sort(order.begin(), order.end());
      std::vector<SeriesSummary> kept;
      for (const std::size_t i : order) kept.push_back(std::move(series_[i]));
      series_ = std::move(kept);
    }
    summary.series = std::move(series_);
  }

 private:
  const DataSummary& summary_;
  std::unordered_map<std::string, std::size_t> known_;
  std::vector<SeriesSummary> series_;
};

// The column of another table with the codes of levels that the summary has; new levels are added to it.
Column with_codes(const Column& column, ColumnInfo& known) {
  if (known.type != ColumnType::category || column.info.type != ColumnType::category) return column;
  std::vector<double> codes;
  for (const std::string& level : column.info.levels) {
    const auto found = std::find(known.levels.begin(), known.levels.end(), level);
    codes.push_back(static_cast<double>(found - known.levels.begin()));
    if (found == known.levels.end()) known.levels.push_back(level);
  }
  std::vector<double> values;
  for (const double code : column.values) {
    values.push_back(code >= 0.0 ? codes[static_cast<std::size_t>(code)] : code);
  }
  Column renamed;
  renamed.info = known;
  renamed.values = std::move(values);
  return renamed;
}

}  // namespace

const ColumnSummary* DataSummary::find(std::string_view column) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const ColumnSummary& each) { return each.info.name == column; });
  return found == columns.end() ? nullptr : &*found;
}

const ColumnSummary& DataSummary::column(std::string_view name) const {
  if (const ColumnSummary* const found = find(name)) return *found;
  std::vector<std::string> names;
  for (const ColumnSummary& each : columns) names.push_back(each.info.name);
  const std::string guess = did_you_mean(name, names);
  throw UsageError("the model reads no column named \"" + std::string(name) + "\"" +
                   (guess.empty() ? "; it reads " + join_words(names) : guess));
}

bool DataSummary::is_fixed(std::string_view column) const { return contains(fixed, column); }

DataSummary summarise(const Table& table, const std::vector<ColumnInfo>& read, const std::vector<std::string>& others,
                      const std::vector<bool>& use) {
  DataSummary summary;
  std::vector<std::int64_t> rows;  // the last ones
  for (std::int64_t row = table.rows; row-- > 0 && std::ssize(rows) < kExamined;) {
    if (is_used(use, row)) rows.push_back(row);
  }
  std::reverse(rows.begin(), rows.end());
  std::set<std::string> names;
  std::vector<std::string> times;
  for (const ColumnInfo& info : read) {
    const bool is_new = names.insert(info.name).second;
    if (is_new && table.column(info.name).info.type == ColumnType::time) times.push_back(info.name);
  }
  if (times.size() == 1) {
    summary.time = times.front();
    summary.keys = Keys(table, others, summary.time, rows).names();
  }
  for (const Column& column : table.columns) {
    const bool is_read = names.contains(column.info.name);
    if (!is_read && !contains(summary.keys, column.info.name)) continue;
    summary.columns.push_back(summary_of(column, use, rows, is_read));
  }
  if (summary.time.empty()) return summary;
  summary.step = usual_step(moments_of(table, summary, rows));
  summary.fixed = fixed_columns(table, summary, rows);
  Ends ends(summary);
  ends.add_rows(table, use);
  std::move(ends).write(summary);
  return summary;
}

void extend(DataSummary& summary, const Table& rows) {
  Table known;
  known.rows = rows.rows;
  for (ColumnSummary& each : summary.columns) {
    const Column* const found = rows.find(each.info.name);
    if (found == nullptr || found->info.type == ColumnType::text) continue;
    known.columns.push_back(with_codes(*found, each.info));
    for (const double value : known.columns.back().values) {
      if (!std::isfinite(value) || (value < 0.0 && each.info.type == ColumnType::category)) continue;
      each.low = std::fmin(each.low, value), each.high = std::fmax(each.high, value);
    }
  }
  std::vector<std::string> needed = summary.fixed;
  if (summary.time.empty()) return;
  needed.push_back(summary.time);
  if (std::any_of(needed.begin(), needed.end(), [&](const auto& name) { return known.find(name) == nullptr; })) return;
  Ends ends(summary);
  for (const SeriesSummary& each : summary.series) {
    std::string key;
    for (std::size_t k = 0; k < summary.keys.size(); ++k) {
      const double value = each.values[k] + 0.0;
      key.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    ends.add(key, each.last, each.values);
  }
  ends.add_rows(known, {});
  std::move(ends).write(summary);
}

}  // namespace ick
