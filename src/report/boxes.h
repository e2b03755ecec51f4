#pragma once

#include <vector>

#include "ick/report/figure.h"

namespace ick::detail {

// A bar or a cell from corner to corner, in the data's units.
struct DataBox {
  double x, x2, y, y2;
};

// How bars are to be read: they lie where y has levels and x has none.
bool bars_lie(const Figure& figure);

// Bars from where the layer says, else from zero, on a logarithmic axis from its low end; as thick as the layer says, else
// somewhat thinner than the step between two of them. Bars of several layers at the same places stand side by side.
std::vector<DataBox> bar_boxes(const Figure& figure, const PlotLayer& layer);
std::vector<DataBox> cell_boxes(const PlotLayer& layer);

// Half of a bar's thickness, where the layer does not have its ends.
double half_thickness(const PlotLayer& layer, bool lying);
// Half of the least step between different places; one half where there is none.
double half_step(const std::vector<double>& at);

}  // namespace ick::detail
