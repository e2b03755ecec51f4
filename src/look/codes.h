#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ick/table/table.h"

namespace ick::detail {

// Values as codes from 0, in the order in which they first appear: what is equal has the same code.
struct Codes {
  static constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::uint32_t> of;  // each row
  std::uint32_t count = 0;        // different ones

  std::vector<std::int64_t> rows() const;  // of each code
};

Codes codes_of(const Column& column, std::int64_t rows);  // of the first rows
// Pairs of values; missing where one of them is.
Codes joined(const Codes& a, const Codes& b);
// How many rows equal an earlier one in all columns, gaps included.
std::int64_t count_equal_rows(const std::vector<Codes>& columns, std::int64_t rows);

}  // namespace ick::detail
