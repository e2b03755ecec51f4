#include "report/boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/scale.h"

namespace ick::detail {
namespace {

// The part of a thickness that a layer's bars have, from -1 to 1.
struct Share {
  double from = -1.0, to = 1.0;
};

Share share_of(const Figure& figure, const PlotLayer& layer) {
  constexpr double kFull = 0.92;  // the rest is between neighbours
  const bool lying = bars_lie(figure);
  const auto shares = [&](const PlotLayer& other) {
    return other.mark == Mark::bars && other.x2.empty() && other.y2.empty() &&
           (lying ? other.y == layer.y : other.x == layer.x);
  };
  double before = 0.0, all = 0.0;
  for (const PlotLayer& other : figure.layers) {
    if (&other == &layer) before = all;
    if (shares(other)) all += 1.0;
  }
  if (!shares(layer) || all < 2.0) return {};
  return {-1.0 + 2.0 * before / all, -1.0 + 2.0 * (before + kFull) / all};
}

}  // namespace

bool bars_lie(const Figure& figure) {
  return figure.y.scale == AxisScale::levels && figure.x.scale != AxisScale::levels;
}

std::vector<DataBox> bar_boxes(const Figure& figure, const PlotLayer& layer) {
  const bool lying = bars_lie(figure);
  const std::vector<double>&length = lying ? layer.x : layer.y, &start = lying ? layer.x2 : layer.y2;
  const std::vector<double>&place = lying ? layer.y : layer.x, &end = lying ? layer.y2 : layer.x2;
  const bool logarithmic = (lying ? figure.x : figure.y).scale == AxisScale::logarithmic;
  const double base = logarithmic ? (lying ? span_of_x(figure) : span_of_y(figure)).low : 0.0;
  const double half = half_thickness(layer, lying);
  const Share share = share_of(figure, layer);
  std::vector<DataBox> boxes;
  for (std::size_t i = 0; i < std::min(length.size(), place.size()); ++i) {
    const double from = i < start.size() ? start[i] : base;
    const double low = i < end.size() ? place[i] : place[i] + share.from * half;
    const double high = i < end.size() ? end[i] : place[i] + share.to * half;
    boxes.push_back(lying ? DataBox{from, length[i], low, high} : DataBox{low, high, from, length[i]});
  }
  return boxes;
}

std::vector<DataBox> cell_boxes(const PlotLayer& layer) {
  const double half_x = half_step(layer.x), half_y = half_step(layer.y);
  std::vector<DataBox> boxes;
  for (std::size_t i = 0; i < std::min(layer.x.size(), layer.y.size()); ++i) {
    const bool wide = i < layer.x2.size(), high = i < layer.y2.size();
    boxes.push_back({wide ? layer.x[i] : layer.x[i] - half_x, wide ? layer.x2[i] : layer.x[i] + half_x,
                     high ? layer.y[i] : layer.y[i] - half_y, high ? layer.y2[i] : layer.y[i] + half_y});
  }
  return boxes;
}

double half_step(const std::vector<double>& at) {
  std::vector<double> places;
  for (const double value : at) {
    if (std::isfinite(value)) places.push_back(value);
  }
  std::sort(places.begin(), places.end());
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < places.size(); ++i) {
    const double step = places[i] - places[i - 1];
    if (step > 1e-9 * (places.back() - places.front())) least = std::min(least, step);
  }
  return std::isfinite(least) ? 0.5 * least : 0.5;
}

double half_thickness(const PlotLayer& layer, bool lying) {
  constexpr double kFull = 0.7;  // of the step between two bars
  return kFull * half_step(lying ? layer.y : layer.x);
}

}  // namespace ick::detail
