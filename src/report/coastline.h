#pragma once

#include <span>
#include <string>

#include "report/scale.h"

namespace ick::detail {

// Outlines of land as text, see coastline_data.cpp.
extern const char* const kLandOutlines;

// Land within the ends of both axes, as the data of an SVG path; empty where there is none and where the picture shows
// less than about two degrees, which these outlines know nothing of.
std::string land_path(const Scale& x, const Scale& y);

}  // namespace ick::detail
