#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ick/base/text.h"
#include "parts.h"

namespace ick::detail {
namespace {

// That a column is constant within groups is no chance: rows that share a group would share its value as often as any
// do, so log P = sum over groups of (rows - 1) log(share of the value). Groups that have the column's most frequent
// value do not count: they are what an almost constant column looks like everywhere.
constexpr double kSure = 12.0;

bool is_constant_within(const Codes& groups, const Codes& column) {
  std::vector<std::uint32_t> value(groups.count, Codes::kMissing);
  for (std::size_t row = 0; row < groups.of.size(); ++row) {
    const std::uint32_t group = groups.of[row], found = column.of[row];
    if (group == Codes::kMissing || found == Codes::kMissing) continue;
    if (value[group] == Codes::kMissing) value[group] = found;
    if (value[group] != found) return false;
  }
  const std::vector<std::int64_t> of_value = column.rows(), of_group = groups.rows();
  const auto most = static_cast<std::uint32_t>(std::max_element(of_value.begin(), of_value.end()) - of_value.begin());
  double sure = 0.0;
  for (std::uint32_t group = 0; group < groups.count; ++group) {
    if (value[group] == Codes::kMissing || value[group] == most) continue;
    const double share = static_cast<double>(of_value[value[group]]) / static_cast<double>(column.of.size());
    sure -= static_cast<double>(of_group[group] - 1) * std::log(share);
  }
  return sure >= kSure;
}

bool may_group(const ColumnLook& column, std::int64_t rows) {
  if (column.role == ColumnRole::target) return false;
  const bool repeats = column.distinct > 1 && 2 * column.distinct <= rows;
  return repeats && column.type != ColumnType::number && column.role != ColumnRole::place;
}

}  // namespace

std::vector<GroupLook> look_at_groups(const std::vector<Codes>& codes, const TableLook& page) {
  std::vector<std::vector<std::string>> candidates;
  const auto add = [&](auto... types) {
    for (const ColumnLook& column : page.columns) {
      if (((column.type == types) || ...) && may_group(column, page.examined)) candidates.push_back({column.name});
    }
  };
  add(ColumnType::category, ColumnType::text);
  if (page.place && 2 * page.place->places <= page.examined) {
    candidates.push_back({page.place->north, page.place->east});
  }
  add(ColumnType::integer);
  add(ColumnType::time);
  const auto whole_number = [&](const std::vector<std::string>& columns) {
    return std::any_of(page.columns.begin(), page.columns.end(), [&](const ColumnLook& column) {
      return column.type == ColumnType::integer && column.name == columns.front() && columns.size() == 1;
    });
  };
  // A count of which one label was made groups no rows; a number of a station tells its place, and more.
  const auto tells_much = [&](const GroupLook& group) {
    return group.constant.size() > 1 || (page.place && contains(group.constant, page.place->north));
  };
  std::vector<GroupLook> groups;
  for (const std::vector<std::string>& columns : candidates) {
    const Codes group = codes_of_columns(columns, codes, page);
    GroupLook look;
    look.columns = columns;
    look.groups = group.count;
    for (std::size_t i = 0; i < page.columns.size(); ++i) {
      const ColumnLook& column = page.columns[i];
      if (column.distinct < 2 || column.distinct > group.count || contains(columns, column.name)) continue;
      if (is_constant_within(group, codes[i])) look.constant.push_back(column.name);
    }
    if (look.constant.empty() || (whole_number(columns) && !tells_much(look))) continue;
    // The same groups under another name.
    const bool said = std::any_of(groups.begin(), groups.end(), [&](const GroupLook& other) {
      return other.groups == look.groups && std::all_of(columns.begin(), columns.end(), [&](const std::string& name) {
               return contains(other.constant, name);
             });
    });
    if (said) continue;
    const Sizes sizes = sizes_of(group.rows());
    look.least_rows = sizes.least, look.median_rows = sizes.median, look.most_rows = sizes.most;
    groups.push_back(std::move(look));
  }
  return groups;
}

}  // namespace ick::detail
