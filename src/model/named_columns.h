#pragma once

#include <string>
#include <vector>

#include "ick/formula/formula.h"
#include "ick/table/table.h"

namespace ick {

// Columns of the table that the formula names: the target, those of weights, offset and error, and all that kernels and
// networks read, or that is computed for them, but those that `.` stands for.
std::vector<std::string> named_columns(const Formula& formula);
std::vector<std::string> removed_columns(const Formula& formula);  // -date: from `.`
std::vector<std::string> not_numbers(const Table& table);          // columns of times, categories and text
bool has_rest(const Formula& formula);                             // `.` stands in it

}  // namespace ick
