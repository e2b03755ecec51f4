#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ick {

// A column that a formula computes of others, row by row: hour(date), log(x - y). It is read as any other column, by
// its name, which is what the formula writes.
struct DerivedColumn {
  std::string name;                    // canonical text
  std::string function;                // a row of derived_functions()
  std::vector<std::string> inputs;     // columns of the table, or derived ones that stand before it in a list
  std::vector<std::size_t> positions;  // of these in the formula, from 1; none when made in code
  std::string file;                    // of holiday(date, file): read when a model is fitted, and never again

  // What a fit finds.
  std::string unit;                                          // of its values; "": none
  double origin = std::numeric_limits<double>::quiet_NaN();  // elapsed(t): the first time, in days since 1970
  std::vector<double> days;                                  // holiday(date, file): those of the file, ascending

  bool operator==(const DerivedColumn& other) const;  // what the formula says
};

// One function of columns. Missing cells stay missing; so are those outside of the domain.
struct DerivedFunction {
  enum class Takes { time, number, pair };  // pair: two numbers, or two times
  std::string_view name, text;
  Takes takes = Takes::time;
  std::string_view unit;
  bool whole = false;              // its values are whole numbers
  double low = 0.0, high = 1.0;    // where no data tell
  double (*of)(double) = nullptr;  // of one cell; null where more has to be known
  std::string_view domain = {};    // "positive numbers"
};

std::span<const DerivedFunction> derived_functions();
const DerivedFunction* find_derived_function(std::string_view name);  // null when there is none

const DerivedColumn* find_derived(std::span<const DerivedColumn> all, std::string_view name);  // null when absent

// Those of a list that these names need, in its order.
std::vector<DerivedColumn> needed_for(std::span<const DerivedColumn> all, std::vector<std::string> names);

// Columns of the table that are read for these names, in order of appearance.
std::vector<std::string> read_for(std::span<const DerivedColumn> all, std::span<const std::string> names);

// The column of times whose calendar a column tells: date of hour(date); "" when it is not that of one time.
std::string time_behind(std::span<const DerivedColumn> all, std::string_view name);

}  // namespace ick
