#include "report/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/boxes.h"

namespace ick::detail {
namespace {

constexpr double kLargest = 4e307;  // so that a difference of two is finite
constexpr double kRoom = 0.04;      // beside the outermost mark, as a part of the extent

// What is seen of one direction, x or y, of all layers.
struct Extent {
  AxisScale kind;
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  bool room = false, from_zero = false;

  void take(double value) {
    if (!has_place(kind, value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void take(const std::vector<double>& values, double half = 0.0) {
    for (const double value : values) {
      take(value - half);
      take(value + half);
    }
  }
};

Span with_room(const Extent& extent) {
  double low = std::max(extent.low, -kLargest), high = std::min(extent.high, kLargest);
  if (!(low <= high)) return {extent.kind == AxisScale::logarithmic ? 0.1 : 0.0, 1.0};
  if (extent.kind == AxisScale::logarithmic) {
    const double part = high > low ? std::pow(high / low, extent.room ? kRoom : 0.0) : 2.0;
    return std::isfinite(part) ? Span{std::max(low / part, 1e-307), std::min(high * part, kLargest)} : Span{low, high};
  }
  const double extra = high - low > 1e-13 * std::max(std::abs(low), std::abs(high))
                           ? (extent.room ? kRoom * (high - low) : 0.0)
                           : (low == 0.0 ? 1.0 : std::max(0.1 * std::abs(low), 1e-300));
  const bool at_zero = extent.from_zero && high > low;
  return {at_zero && low == 0.0 ? 0.0 : low - extra, at_zero && high == 0.0 ? 0.0 : high + extra};
}

Span stated(const Axis& axis, Span span) {
  if (axis.scale == AxisScale::levels) span = {-0.5, std::max(0.5, static_cast<double>(axis.levels.size()) - 0.5)};
  const auto is_end = [&](const std::optional<double>& end) { return end && has_place(axis.scale, *end); };
  if (is_end(axis.low)) span.low = std::clamp(*axis.low, -kLargest, kLargest);
  if (is_end(axis.high)) span.high = std::clamp(*axis.high, -kLargest, kLargest);
  if (span.low > span.high) std::swap(span.low, span.high);
  if (span.low == span.high) {
    const bool logarithmic = axis.scale == AxisScale::logarithmic;
    span = logarithmic ? Span{span.low / 2, span.high * 2} : Span{span.low - 0.5, span.high + 0.5};
  }
  return span;
}

// Along x where `along_x`. Bars lie, or stand and have their length along y.
Span span_along(const Figure& figure, bool along_x) {
  const Axis& axis = along_x ? figure.x : figure.y;
  Extent extent{axis.scale};
  bool area = true;  // cells fill the picture to its edges
  for (const PlotLayer& layer : figure.layers) {
    const std::vector<double>&first = along_x ? layer.x : layer.y, &second = along_x ? layer.x2 : layer.y2;
    double half = 0.0;
    if (layer.mark == Mark::bars) {
      const bool length = bars_lie(figure) == along_x;
      if (length && second.empty()) extent.take(0.0);
      if (length) extent.from_zero = true;
      if (!length && second.empty()) half = half_thickness(layer, !along_x);
    }
    if (layer.mark == Mark::cells && second.empty()) half = half_step(first);
    extent.take(first, half);
    extent.take(second);
    area = area && (layer.mark == Mark::cells || layer.mark == Mark::labels);
    const bool spread = layer.mark == Mark::points || layer.mark == Mark::bars || layer.mark == Mark::labels;
    extent.room = extent.room || spread || !along_x;
  }
  extent.room = extent.room && !area;
  return stated(axis, with_room(extent));
}

}  // namespace

Scale::Scale(AxisScale kind, Span span, double from, double to) : kind_(kind), span_(span), from_(from), to_(to) {
  low_ = inside(span.low);
  high_ = inside(span.high);
}

double Scale::inside(double value) const { return kind_ == AxisScale::logarithmic ? std::log10(value) : value; }

double Scale::operator()(double value) const {
  if (!has_place(kind_, value)) return std::numeric_limits<double>::quiet_NaN();
  const double part = (std::clamp(inside(value), -kLargest, kLargest) - low_) / (high_ - low_);
  constexpr double kFar = 50.0;  // sizes of the picture: what lies beyond is not told apart
  return from_ + std::clamp(part, -kFar, kFar) * (to_ - from_);
}

bool has_place(AxisScale kind, double value) {
  return std::isfinite(value) && (kind != AxisScale::logarithmic || value > 0.0);
}

Span span_of_x(const Figure& figure) { return span_along(figure, true); }
Span span_of_y(const Figure& figure) { return span_along(figure, false); }

Span span_of_values(const Figure& figure) {
  Extent extent{AxisScale::linear};
  for (const PlotLayer& layer : figure.layers) extent.take(layer.value);
  const ColourAxis& colour = figure.colour;
  Axis axis;
  axis.low = colour.low;
  axis.high = colour.high;
  Span span = stated(axis, with_room(extent));
  if (colour.middle && std::isfinite(*colour.middle) && !colour.low && !colour.high) {
    const double reach = std::max(std::abs(span.high - *colour.middle), std::abs(*colour.middle - span.low));
    span = {*colour.middle - reach, *colour.middle + reach};
  }
  return span;
}

}  // namespace ick::detail
