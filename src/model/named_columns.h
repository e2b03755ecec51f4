#pragma once

#include <string>
#include <vector>

#include "ick/formula/formula.h"

namespace ick {

// Columns that the formula names: the target, those of weights, offset and error, and all that kernels and networks
// read but those that `.` stands for.
std::vector<std::string> named_columns(const Formula& formula);
bool has_rest(const Formula& formula);  // `.` stands in it

}  // namespace ick
