#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

detail::Rows complete(const Table& table, const std::vector<const Column*>& columns,
                      const std::vector<std::int64_t>& rows) {
  detail::Rows found;
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

// Which of `most` spans with about equally many values each is in; equal values go where their middle belongs.
std::vector<double> equal_spans(std::vector<double> values, std::size_t most) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (double& value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    const auto twice_middle = static_cast<std::size_t>((first - sorted.begin()) + (last - sorted.begin()));
    value = static_cast<double>(twice_middle * most / (2 * sorted.size()));
  }
  return values;
}

bool has_levels(const ColumnInfo& info, const std::vector<double>& values, std::size_t most) {
  if (info.type != ColumnType::integer) return info.type == ColumnType::category;
  std::set<double> distinct;
  for (const double value : values) {
    if (distinct.insert(value); distinct.size() > most) return false;
  }
  return true;
}

// + 0.0, here and below: nought without a sign.
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

// A name for each key of a column: the range of the values that have it.
std::map<double, std::string> key_names(const ColumnInfo& info, const std::vector<double>& keys,
                                        const std::vector<double>& values) {
  std::map<double, std::pair<double, double>> ranges;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto& [low, high] = ranges.try_emplace(keys[i], values[i], values[i]).first->second;
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  std::map<double, std::string> names;
  for (const auto& [key, range] : ranges) names[key] = range_text(info, range.first, range.second);
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
  const detail::Rows kept = complete(table, found, rows);

  // Along each column, as in the grid of block(...): limit^(1/d); the cube root of 64 may come out below 4.
  const std::size_t limit = 4 * static_cast<std::size_t>(most);
  const double root = std::pow(static_cast<double>(limit), 1.0 / static_cast<double>(columns.size()));
  const bool one = columns.size() == 1;
  const std::size_t along = one ? static_cast<std::size_t>(most) : static_cast<std::size_t>(std::max(2.0, root + 1e-9));
  const auto keys_of = [&](const ColumnInfo& info, const std::vector<double>& values) {
    if (has_levels(info, values, along)) return values;
    return one ? equal_spans(values, along) : detail::grid_steps(values, static_cast<double>(along));
  };

  detail::Keys keys(kept.size());
  std::vector<std::map<double, std::string>> names;  // of each column's keys
  for (const Column* column : found) {
    const std::vector<double> values = detail::values_of(*column, kept), of_column = keys_of(column->info, values);
    names.push_back(key_names(column->info, of_column, values));
    detail::append_keys(of_column, keys);
  }

  std::vector<Block> blocks;
  for (const auto& [key, members] : detail::gather(keys, kept)) {
    std::string name;
    for (std::size_t c = 0; c < key.size(); ++c) name += (c == 0 ? "" : ", ") + names[c].at(key[c]);
    blocks.push_back({std::move(name), {members.begin(), members.end()}});
  }
  return with_others_joined(std::move(blocks), limit);
}

}  // namespace ick
