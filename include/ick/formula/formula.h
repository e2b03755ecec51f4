#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ick/formula/expression.h"

namespace ick {

// A model in one line: what is learned, and of what.
//   pm25 ~ mlp(a, b) * periodic(date, period=1y) + linear(x)
//   log("PM 2.5") ~ mlp(.)
struct Formula {
  std::string target;       // a column
  bool log_target = false;  // its logarithm is what the right side explains
  Expression right;
  std::size_t position = 1;                     // of the target's name in the formula, from 1
  bool operator==(const Formula& other) const;  // position does not count
};

// Throws UsageError that names the column of the text.
Formula parse_formula(std::string_view text);

// Text that parse_formula reads back to an equal formula.
std::string print(const Formula& formula);

}  // namespace ick
