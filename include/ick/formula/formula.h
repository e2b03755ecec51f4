#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ick/formula/expression.h"

namespace ick {

// A number that belongs to a row, from a column or a transform of one: weights(w), offset(log(population)), error(se).
struct RowTerm {
  std::string column;        // "" when there is none
  std::string transform;     // applied to the column: "", log, sqrt or logit
  std::size_t position = 0;  // where the column stands in the formula, from 1

  bool exists() const { return !column.empty(); }
  bool operator==(const RowTerm& other) const {  // position does not count
    return column == other.column && transform == other.transform;
  }
};

// A model in one line: what is learned, and of what.
//   pm25 ~ mlp(a, b) * periodic(date, period=1y) + linear(x)
//   log("PM 2.5") ~ mlp(.)
//   cases ~ mlp(age) + offset(log(population)) + weights(w)
struct Formula {
  std::string target;     // a column
  std::string transform;  // applied to the target, see base/transform.h; "": none
  Expression right;
  RowTerm weights;                              // a row counts so much in the likelihood and in scores
  RowTerm offset;                               // added to the function: known beforehand
  RowTerm error;                                // standard deviation of a row's measurement, known: added to the noise
  std::size_t position = 1;                     // where the target's name stands in the formula, from 1
  bool operator==(const Formula& other) const;  // position does not count
};

// Throws UsageError that names the column of the text.
Formula parse_formula(std::string_view text);

// Text that parse_formula reads back to an equal formula.
std::string print(const Formula& formula);

}  // namespace ick
