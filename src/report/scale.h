#pragma once

#include <string>

#include "ick/report/figure.h"

namespace ick::detail {

// Ends of an axis, in the data's units.
struct Span {
  double low = 0.0, high = 1.0;
};

// From the data's units to places on paper: linear, in the logarithm on a logarithmic axis.
class Scale {
 public:
  Scale() = default;
  Scale(AxisScale kind, Span span, double from, double to);
  double operator()(double value) const;  // not a number where the axis has no place for it
  Span span() const { return span_; }

 private:
  double inside(double value) const;
  AxisScale kind_ = AxisScale::linear;
  Span span_;
  double low_ = 0.0, high_ = 1.0, from_ = 0.0, to_ = 1.0;
};

// Whether an axis has a place for the value: finite, above zero where it is logarithmic.
bool has_place(AxisScale kind, double value);

// The extent of the figure's layers along x or y, with room beside points and bars and with the ends the axis states;
// never empty.
Span span_of_x(const Figure& figure);
Span span_of_y(const Figure& figure);
// The same of the colours.
Span span_of_values(const Figure& figure);

}  // namespace ick::detail
