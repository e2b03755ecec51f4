#pragma once

#include <string>

#include "ick/look/look.h"

namespace ick {

// One screen about a table, for people: lines of up to 100 columns. `name` is the table's.
std::string look_text(const TableLook& page, const std::string& name);

}  // namespace ick
