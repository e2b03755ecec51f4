#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ick/formula/expression.h"

namespace ick {

// One kernel of an expression, as plain data: what a formula says of it.
struct KernelSpec {
  std::string name;
  std::vector<std::string> columns;
  bool sphere = false;              // the columns are latitude and longitude in degrees
  std::vector<Argument> arguments;  // what is stated of its parameters, and its sizes: components, degree, rank
  // Kernels of one id are one kernel, with one set of parameters: a * (b + c) has `a` in two products. 0: on its own.
  std::size_t id = 0;
  std::size_t position = 0;                        // column of the formula, for messages; 0 when made in code
  std::vector<std::size_t> column_positions = {};  // one for each of `columns`; may be left out
  std::string text = {};                           // as a formula writes it

  const Argument* find(std::string_view argument) const { return find_argument(arguments, argument); }
};

// A sum of products of kernels.
using KernelProduct = std::vector<KernelSpec>;
using KernelSum = std::vector<KernelProduct>;

// UsageError that names the column of the formula for "." in place of a column, and for a flag that is given a value.
// Whether there is such a kernel, and what arguments it has, is seen when it is bound to columns.
KernelSpec make_kernel_spec(const Call& call);
KernelSum make_kernel_sum(const Expression& expression);  // multiplied out

std::string print(const KernelSum& sum);

}  // namespace ick
