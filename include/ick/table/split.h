#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ick/base/option.h"
#include "ick/table/table.h"

namespace ick {

// Which rows are set apart.
//   none
//   random=20%
//   last=20%                     the latest by the time column (`column` is filled in by the caller), whole instants
//   last(date)=20%               the same, by a named column of time or numbers
//   last(date)=30d               what lies less than so long before the latest time
//   group(station)=20%           whole groups, drawn at random
//   block(lat, lon)=20%          whole cells of a grid over the columns, drawn at random
//   date >= 2019-05-16           any column with < <= > >= == !=; a date, a number or a level
struct Split {
  enum class Kind { none, random, last, group, block, condition };
  Kind kind = Kind::none;
  double share = 0.0;  // 0.2 for 20%
  std::vector<std::string> columns;
  std::string comparison, value;  // condition
  std::string length = {};        // last: "30d", in place of a share
  bool operator==(const Split&) const = default;
};

Split parse_split(std::string_view text);  // UsageError that says what is allowed
std::string print(const Split& split);     // text that parse_split reads back

template <>
struct OptionType<Split> {
  static constexpr OptionKind kind = OptionKind::text;
  static constexpr bool optional = false;
  static OptionValue value(const Split& split) { return print(split); }
  static std::optional<Split> field(const OptionValue& value) { return parse_split(std::get<std::string>(value)); }
};

// True for the rows set apart, among `among` (all rows when empty; as long as the table otherwise). `seed` decides what
// is drawn. DataError when a column is absent or cannot be compared, or when no row or every row would be set apart.
std::vector<bool> held_out(const Table& table, const Split& split, std::uint64_t seed,
                           const std::vector<bool>& among = {});

// The number of the group or the cell, from 0, that each row is in by a split that keeps rows together (group, block):
// what held_out() draws whole. -1 for rows that are not among those in question. UsageError for other splits.
std::vector<std::int64_t> kept_together(const Table& table, const Split& split, const std::vector<bool>& among = {});

struct Block {
  std::string name;  // "station = a", "date 2019-01-01 to 2019-03-07", "lat 47 to 48, lon 8 to 9"
  std::vector<std::int64_t> rows;
};

// The given rows in groups, for a report: by the levels of a category or of an integer with few values; by up to `most`
// spans of one column of times or numbers with about equally many rows (equal values stay together); by the cells of a
// grid over several columns. Ranges are those of the rows, to a tenth of their width. In the order of the columns'
// values; of more than 4 `most` blocks the largest stay and the others are joined as "other", the last. Rows without a
// finite value in one of the columns are left out; without columns there are no blocks. DataError when a column is
// absent or text.
std::vector<Block> blocks_of(const Table& table, const std::vector<std::string>& columns,
                             const std::vector<std::int64_t>& rows, int most = 10);

}  // namespace ick
