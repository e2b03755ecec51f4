#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "groups.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/table/split.h"
#include "ick/table/time.h"

namespace ick {
namespace {

constexpr const char* kPlace = "blocks of rows: ";

std::vector<const Column*> columns_named(const Table& table, const std::vector<std::string>& names) {
  std::vector<const Column*> columns;
  for (const std::string& name : names) {
    columns.push_back(&table.column(name, kPlace));
    if (columns.back()->info.type != ColumnType::text) continue;
    throw DataError(
        fmt::format("{}column \"{}\" is a text; a category, a time or a number was expected", kPlace, name));
  }
  return columns;
}

std::vector<std::size_t> complete(const Table& table, const std::vector<const Column*>& columns,
                                  const std::vector<std::int64_t>& rows) {
  std::vector<std::size_t> found;
  found.reserve(rows.size());
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= table.rows) {
      throw Error(fmt::format("{}there is no row {} in a table of {}", kPlace, row, table.rows));
    }
    const auto at = static_cast<std::size_t>(row);
    const auto has_value = [&](const Column* column) { return std::isfinite(column->values[at]); };
    if (std::all_of(columns.begin(), columns.end(), has_value)) found.push_back(at);
  }
  return found;
}

// The values of some rows of a column.
struct Values {
  const Numbers& column;
  const std::vector<std::size_t>& rows;
  std::size_t size() const { return rows.size(); }
  double operator()(std::size_t i) const { return column[rows[i]]; }
};

// The least value of each of `most` spans with about equally many values; equal values go where their middle belongs.
std::vector<double> span_starts(const Values& values, std::size_t most) {
  std::vector<double> sorted(values.size()), starts;
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = values(i);
  std::sort(sorted.begin(), sorted.end());
  std::size_t span = most;  // none yet
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::upper_bound(first, sorted.end(), *first);
    const auto twice_middle = static_cast<std::size_t>((first - sorted.begin()) + (last - sorted.begin()));
    const std::size_t before = std::exchange(span, twice_middle * most / (2 * sorted.size()));
    if (before != span) starts.push_back(*first);
    first = last;
  }
  return starts;
}

bool has_levels(const ColumnInfo& info, const Values& values, std::size_t most) {
  if (info.type != ColumnType::integer) return info.type == ColumnType::category;
  std::set<double> distinct;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (distinct.insert(values(i)); distinct.size() > most) return false;
  }
  return true;
}

// + 0.0, here and below: zero without a sign.
std::string value_text(const ColumnInfo& info, double value) {
  if (info.type == ColumnType::category) return info.levels.at(static_cast<std::size_t>(value));
  return info.type == ColumnType::time ? time_text(value) : number_text(value + 0.0);
}

// "lat 47 to 48": the ends to a tenth of the width; of a time the day, where that is so fine.
std::string range_text(const ColumnInfo& info, double low, double high) {
  if (low == high) return info.name + " = " + value_text(info, low);
  const double width = high - low;
  const double scale = std::pow(10.0, std::clamp(1.0 - std::floor(std::log10(width)), 0.0, 300.0));
  const auto end = [&](double value) {
    if (info.type == ColumnType::time) return time_text(width >= 10.0 ? std::floor(value) : value);
    return number_text(std::round(value * scale) / scale + 0.0);
  };
  return info.name + " " + end(low) + " to " + end(high);
}

using Key = std::function<double(double)>;  // what a value is grouped by

// A name for each key of a column: the range of the values that have it.
std::map<double, std::string> key_names(const ColumnInfo& info, const Key& key, const Values& values) {
  std::map<double, std::pair<double, double>> ranges;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values(i);
    auto& [low, high] = ranges.try_emplace(key(value), value, value).first->second;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::map<double, std::string> names;
  for (const auto& [each, range] : ranges) names[each] = range_text(info, range.first, range.second);
  return names;
}

// At most `most` blocks: the largest, and last one of all others.
std::vector<Block> with_others_joined(std::vector<Block> blocks, std::size_t most) {
  if (blocks.size() <= most) return blocks;
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return blocks[i].rows.size() > blocks[j].rows.size(); });
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most - 1));
  std::vector<Block> joined;
  for (std::size_t i = 0; i + 1 < most; ++i) joined.push_back(std::move(blocks[order[i]]));
  std::vector<std::int64_t> others;
  for (std::size_t i = most - 1; i < order.size(); ++i) {
    others.insert(others.end(), blocks[order[i]].rows.begin(), blocks[order[i]].rows.end());
  }
  std::sort(others.begin(), others.end());
  joined.push_back({"other", std::move(others)});
  return joined;
}

}  // namespace

std::vector<Block> blocks_of(const Table& table, const std::vector<std::string>& columns,
                             const std::vector<std::int64_t>& rows, int most) {
  if (most < 1) throw UsageError(fmt::format("{}at most {} were asked for (expected 1 or more)", kPlace, most));
  if (columns.empty()) return {};
  const std::vector<const Column*> found = columns_named(table, columns);
  const std::vector<std::size_t> kept = complete(table, found, rows);

  // Along each column, as in the grid of block(...): limit^(1/d); the cube root of 64 may come out below 4.
  const std::size_t limit = 4 * static_cast<std::size_t>(most);
  const double root = std::pow(static_cast<double>(limit), 1.0 / static_cast<double>(columns.size()));
  const bool one = columns.size() == 1;
  const std::size_t along = one ? static_cast<std::size_t>(most) : static_cast<std::size_t>(std::max(2.0, root + 1e-9));
  const auto each_row = [&](const auto& use) {
    for (std::size_t i = 0; i < kept.size(); ++i) use(i);
  };
  const auto key_of = [&](const ColumnInfo& info, const Values& values) -> Key {
    if (has_levels(info, values, along)) return [](double value) { return value; };
    if (!one) {
      return [grid = detail::Grid(static_cast<double>(along), each_row, values)](double v) { return grid.step(v); };
    }
    return [starts = span_starts(values, along)](double value) {
      return static_cast<double>(std::upper_bound(starts.begin(), starts.end(), value) - starts.begin());
    };
  };

  detail::Groups groups(kept.size());
  std::vector<std::map<double, std::string>> names;  // of each column's keys
  for (const Column* column : found) {
    const Values values{column->values, kept};
    const Key key = key_of(column->info, values);
    names.push_back(key_names(column->info, key, values));
    groups.divide(each_row, [&](std::size_t i) { return key(values(i)); });
  }

  std::vector<Block> blocks;
  const std::vector<std::size_t> sizes = groups.sizes(each_row);
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    Block& block = blocks.emplace_back();
    for (std::size_t c = 0; c < names.size(); ++c) {
      block.name += (c == 0 ? "" : ", ") + names[c].at(groups.key(group, c));
    }
    block.rows.reserve(sizes[group]);
  }
  each_row([&](std::size_t i) { blocks[groups.of(i)].rows.push_back(static_cast<std::int64_t>(kept[i])); });
  return with_others_joined(std::move(blocks), limit);
}

}  // namespace ick
