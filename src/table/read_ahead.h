#pragma once

#include <cstddef>

#include "ick/table/numbers.h"

namespace ick {

// Has numbers first .. first + count - 1 of a mapped file read in the background. From then on the system reads nothing
// of it on its own account but what is touched: at many places at once it would read megabytes at each. Numbers in
// memory are not affected.
void read_ahead(const Numbers& numbers, std::size_t first, std::size_t count);

// From now on it is read in order: the system may read ahead as it likes.
void read_in_order(const Numbers& numbers);

}  // namespace ick
