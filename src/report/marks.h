#pragma once

#include <string>

#include "ick/report/figure.h"
#include "report/frame.h"

namespace ick::detail {

// A layer within the plot, as SVG. `told`: with the values and texts of its marks, for a page's script.
std::string marks_of(const Figure& figure, const PlotLayer& layer, const Frame& frame, bool told);

// Labels stand to the right of their place, where both axes have levels on it; beside each other or not at all.
std::string labels_of(const Figure& figure, const PlotLayer& layer, const Frame& frame);

// Colour of a value between the ends of the figure's colours.
std::string value_colour(const Figure& figure, const Span& span, double value);

// A length in a path: to a tenth, without zeros that say nothing.
std::string length_text(double length);

}  // namespace ick::detail
