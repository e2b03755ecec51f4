#pragma once

#include <string>

namespace ick {

// column "wind speed"
inline std::string named(const std::string& column) { return "column \"" + column + "\""; }

}  // namespace ick
