#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/drawing.h"

namespace ick::detail {
namespace {

std::size_t marks_of(const PlotLayer& layer) { return std::max(layer.x.size(), layer.y.size()); }

bool is_run(const PlotLayer& layer) { return layer.mark == Mark::line || layer.mark == Mark::band; }

// First, least, greatest, last and one gap of each of most / 5 pieces (after Jugel et al. 2014): what a picture shows of
// a line that has more points than the picture has columns.
std::vector<std::size_t> kept_of_run(const PlotLayer& layer, std::size_t most) {
  const std::size_t count = std::min(layer.x.size(), layer.y.size()), pieces = std::max<std::size_t>(1, most / 5);
  const std::vector<double>& upper = layer.y2.size() >= count ? layer.y2 : layer.y;
  std::vector<std::size_t> kept;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t first = piece * count / pieces, end = (piece + 1) * count / pieces;
    if (first == end) continue;
    std::vector<std::size_t> some = {first, end - 1};
    std::size_t least = end, greatest = end, gap = end;
    for (std::size_t i = first; i < end; ++i) {
      if (!std::isfinite(layer.x[i]) || !std::isfinite(layer.y[i]) || !std::isfinite(upper[i])) {
        gap = std::min(gap, i);
        continue;
      }
      if (least == end || layer.y[i] < layer.y[least]) least = i;
      if (greatest == end || upper[i] > upper[greatest]) greatest = i;
    }
    for (const std::size_t i : {least, greatest, gap}) {
      if (i < end) some.push_back(i);
    }
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
    kept.insert(kept.end(), some.begin(), some.end());
  }
  return kept;
}

std::vector<std::size_t> kept_of_marks(std::size_t count, std::size_t most) {
  std::vector<std::size_t> kept(most);
  for (std::size_t i = 0; i < most; ++i) kept[i] = i * count / most;
  return kept;
}

template <class Value>
std::vector<Value> some_of(const std::vector<Value>& values, const std::vector<std::size_t>& kept) {
  std::vector<Value> some;
  for (const std::size_t i : kept) {
    if (i < values.size()) some.push_back(values[i]);
  }
  return some;
}

PlotLayer thinned_layer(const PlotLayer& layer, std::size_t most) {
  if (marks_of(layer) <= most) return layer;
  const auto kept = is_run(layer) ? kept_of_run(layer, most) : kept_of_marks(marks_of(layer), most);
  const auto some = [&](const auto& values) { return some_of(values, kept); };
  return {layer.mark,     layer.tone,     layer.name,        some(layer.x),   some(layer.y),
          some(layer.x2), some(layer.y2), some(layer.value), some(layer.text)};
}

std::string grouped(std::size_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace

Figure thinned(const Figure& figure, std::size_t most) {
  Figure result{figure.id, figure.title,  figure.caption,   figure.x,      figure.y,   figure.colour,
                {},        figure.aspect, figure.coastline, figure.square, figure.zoom};
  for (const PlotLayer& layer : figure.layers) result.layers.push_back(thinned_layer(layer, most));
  return result;
}

std::string thinning_note(const Figure& figure, std::size_t most) {
  std::size_t all = 0, drawn = 0;
  for (const PlotLayer& layer : figure.layers) {
    if (marks_of(layer) <= most) continue;
    all += marks_of(layer);
    drawn += is_run(layer) ? kept_of_run(layer, most).size() : most;
  }
  return all == 0 ? "" : fmt::format("{} of {} marks are drawn.", grouped(drawn), grouped(all));
}

}  // namespace ick::detail
