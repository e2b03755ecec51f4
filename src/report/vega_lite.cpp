#include <algorithm>
#include <cmath>

#include "report/boxes.h"
#include "report/json.h"
#include "report/letters.h"
#include "report/palette.h"
#include "report/scale.h"

namespace ick {
namespace detail {
namespace {

constexpr double kMillisecondsOfDay = 86400e3;

double in_units(const Axis& axis, double value) {
  return axis.scale == AxisScale::time ? value * kMillisecondsOfDay : value;
}

// Both axes of all layers are stated in full, so that they agree. Levels are whole numbers with texts as labels.
Json channel(const Axis& axis, const Span& span, const char* field, bool downwards) {
  const bool time = axis.scale == AxisScale::time, levels = axis.scale == AxisScale::levels;
  Json scale = {{"domain", {in_units(axis, span.low), in_units(axis, span.high)}}, {"nice", false}, {"zero", false}};
  if (axis.scale == AxisScale::logarithmic)
    scale = {{"type", "log"}, {"domain", {span.low, span.high}}, {"nice", false}};
  if (time) scale = {{"type", "utc"}, {"domain", scale["domain"]}, {"nice", false}};
  if (downwards) scale["reverse"] = true;
  Json json = {{"field", field}, {"type", time ? "temporal" : "quantitative"}, {"title", clean(axis.title)}};
  if (levels) {
    Json places = Json::array(), texts = Json::array();
    for (std::size_t i = 0; i < axis.levels.size(); ++i) {
      places.push_back(i);
      texts.push_back(clean(axis.levels[i]));
    }
    json["axis"] = {{"values", places}, {"labelExpr", texts.dump() + "[datum.value]"}, {"grid", false}};
  }
  json["scale"] = std::move(scale);
  return json;
}

// One object for each mark; what is not a number is null, which breaks lines.
Json values_of(const Figure& figure, const PlotLayer& layer) {
  const bool boxes = layer.mark == Mark::bars || layer.mark == Mark::cells;
  const std::vector<DataBox> corners = layer.mark == Mark::bars ? bar_boxes(figure, layer)
                                       : boxes                  ? cell_boxes(layer)
                                                                : std::vector<DataBox>{};
  Json values = Json::array();
  const auto put = [](Json& row, const Axis& axis, const char* name, const std::vector<double>& from, std::size_t i) {
    if (i < from.size()) row[name] = in_units(axis, from[i]);
  };
  for (std::size_t i = 0; i < std::max(layer.x.size(), layer.y.size()); ++i) {
    Json row = {{"i", i}};
    if (i < corners.size()) {
      row["x"] = in_units(figure.x, corners[i].x);
      row["x2"] = in_units(figure.x, corners[i].x2);
      row["y"] = in_units(figure.y, corners[i].y);
      row["y2"] = in_units(figure.y, corners[i].y2);
    } else {
      put(row, figure.x, "x", layer.x, i);
      put(row, figure.y, "y", layer.y, i);
      put(row, figure.x, "x2", layer.x2, i);
      put(row, figure.y, "y2", layer.y2, i);
    }
    if (i < layer.value.size()) row["value"] = layer.value[i];
    if (i < layer.text.size()) row["text"] = clean(layer.text[i]);
    values.push_back(std::move(row));
  }
  return values;
}

Json mark_of(const PlotLayer& layer) {
  switch (layer.mark) {
    case Mark::line:
      return {{"type", "line"}, {"clip", true}};
    case Mark::band:
      return {{"type", "area"}, {"opacity", 0.2}, {"clip", true}};
    case Mark::points:
      return {{"type", "circle"}, {"size", 36}, {"opacity", 0.7}, {"clip", true}};
    case Mark::bars:
    case Mark::cells:
      return {{"type", "rect"}, {"clip", true}};
    case Mark::rule:
      return {{"type", "rule"}};
    case Mark::labels:
      return {{"type", "text"}, {"align", "left"}, {"dx", 6}};
  }
  return {};
}

Json colour_of(const Figure& figure, const PlotLayer& layer) {
  if (layer.value.empty()) {
    const std::string tone(tone_colour(layer.tone));
    if (layer.name.empty()) return {{"value", tone}};
    const std::string name = clean(layer.name);
    return {{"datum", name},
            {"type", "nominal"},
            {"scale", {{"domain", {name}}, {"range", {tone}}}},
            {"legend", {{"title", nullptr}}}};
  }
  const Span span = span_of_values(figure);
  const bool diverging = figure.colour.middle.has_value();
  Json scale = {{"domain", {span.low, span.high}}, {"scheme", diverging ? "redblue" : "viridis"}};
  if (diverging) scale["domainMid"] = *figure.colour.middle, scale["reverse"] = true;
  return {
      {"field", "value"}, {"type", "quantitative"}, {"title", clean(figure.colour.title)}, {"scale", std::move(scale)}};
}

Json layer_of(const Figure& figure, const PlotLayer& layer) {
  const bool boxes = layer.mark == Mark::bars || layer.mark == Mark::cells;
  Json encoding = Json::object();
  if (!layer.x.empty()) encoding["x"] = channel(figure.x, span_of_x(figure), "x", false);
  if (!layer.y.empty()) {
    encoding["y"] = channel(figure.y, span_of_y(figure), "y", figure.y.scale == AxisScale::levels);
  }
  if (boxes || !layer.x2.empty()) encoding["x2"] = {{"field", "x2"}};
  if (boxes || !layer.y2.empty()) encoding["y2"] = {{"field", "y2"}};
  encoding["color"] = colour_of(figure, layer);
  if (layer.mark == Mark::line) encoding["order"] = {{"field", "i"}, {"type", "quantitative"}};
  if (layer.mark == Mark::labels) encoding["text"] = {{"field", "text"}, {"type", "nominal"}};
  if (layer.mark != Mark::labels && !layer.text.empty()) encoding["tooltip"] = {{"field", "text"}, {"type", "nominal"}};
  return {
      {"data", {{"values", values_of(figure, layer)}}}, {"mark", mark_of(layer)}, {"encoding", std::move(encoding)}};
}

}  // namespace
}  // namespace detail

std::string vega_lite_of(const Figure& figure) {
  using detail::Json;
  constexpr int kWidth = 640;
  Json layers = Json::array();
  for (const PlotLayer& layer : figure.layers) layers.push_back(detail::layer_of(figure, layer));
  const double aspect = figure.square ? 1.0 : std::clamp(figure.aspect, 0.3, 6.0);
  const Json json = {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
                     {"title", detail::clean(figure.title)},
                     {"description", detail::clean(figure.caption)},
                     {"width", kWidth},
                     {"height", std::lround(kWidth / aspect)},
                     {"layer", std::move(layers)},
                     {"resolve", {{"scale", {{"color", "independent"}}}}}};
  return json.dump() + "\n";
}

}  // namespace ick
