#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ick/table/table.h"

namespace ick {

// Which rows are set apart.
//   none
//   random=20%
//   last=20%                     the latest by the time column (`column` is filled in by the caller), whole instants
//   last(date)=20%               the same, by a named column of time or numbers
//   group(station)=20%           whole groups, drawn at random
//   block(lat, lon)=20%          whole cells of a grid over the columns, drawn at random
//   date >= 2019-05-16           any column with < <= > >= == !=; a date, a number or a level
struct Split {
  enum class Kind { none, random, last, group, block, condition };
  Kind kind = Kind::none;
  double share = 0.0;  // 0.2 for 20%
  std::vector<std::string> columns;
  std::string comparison, value;  // condition
  bool operator==(const Split&) const = default;
};

Split parse_split(std::string_view text);  // UsageError that says what is allowed
std::string print(const Split& split);     // text that parse_split reads back

// True for the rows set apart, among `among` (all rows when empty; as long as the table otherwise). `seed` decides what
// is drawn. DataError when a column is absent or cannot be compared, or when no row or every row would be set apart.
std::vector<bool> held_out(const Table& table, const Split& split, std::uint64_t seed,
                           const std::vector<bool>& among = {});

}  // namespace ick
