#pragma once

#include <vector>

#include "ick/report/page.h"

namespace ick::detail {

// Which columns of a table are numbers, that stand to the right: where most of what is there has a value. A dash is
// nothing.
std::vector<bool> number_columns(const TextTable& table);

bool has_header(const TextTable& table);  // a name at least

}  // namespace ick::detail
