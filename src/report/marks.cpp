#include "report/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "report/boxes.h"
#include "report/json.h"
#include "report/letters.h"
#include "report/palette.h"

namespace ick::detail {
namespace {

constexpr int kShades = 64;  // of colours by value: marks of one shade are one path

// Places of all marks within the plot, not a number where there is none.
struct Places {
  std::vector<double> x, y, x2, y2;
  std::size_t count = 0;
};

std::vector<double> placed(const Scale& scale, const std::vector<double>& values) {
  std::vector<double> places;
  places.reserve(values.size());
  for (const double value : values) places.push_back(scale(value));
  return places;
}

Places places_of(const PlotLayer& layer, const Frame& frame) {
  Places places{placed(frame.x, layer.x), placed(frame.y, layer.y), placed(frame.x, layer.x2),
                placed(frame.y, layer.y2)};
  places.count = std::min(layer.x.size(), layer.y.size());
  return places;
}

bool all_finite(std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

std::string pair_text(double x, double y) { return length_text(x) + " " + length_text(y); }

// A run of points ends where there is none; a single point is a dot.
std::string line_path(const Places& at) {
  std::string path;
  std::size_t run = 0;
  for (std::size_t i = 0; i <= at.count; ++i) {
    const bool here = i < at.count && all_finite({at.x[i], at.y[i]});
    if (!here && run == 1) path += "h0";
    run = here ? run + 1 : 0;
    if (here) path += (run == 1 ? "M" : "L") + pair_text(at.x[i], at.y[i]);
  }
  return path;
}

std::string band_path(const Places& at) {
  std::string path;
  const std::size_t count = std::min(at.count, at.y2.size());
  for (std::size_t first = 0, end = 0; first < count; first = end + 1) {
    for (end = first; end < count && all_finite({at.x[end], at.y[end], at.y2[end]});) ++end;
    for (std::size_t i = first; i < end; ++i) path += (i == first ? "M" : "L") + pair_text(at.x[i], at.y[i]);
    for (std::size_t i = end; i > first; --i) path += "L" + pair_text(at.x[i - 1], at.y2[i - 1]);
    if (end > first) path += "Z";
  }
  return path;
}

// `over`: how far it reaches beyond its right and lower edge, under the next one, so that no seam is seen.
std::string rectangle(double x, double y, double x2, double y2, double over) {
  if (!all_finite({x, y, x2, y2})) return "";
  const double width = std::abs(x2 - x) + over, height = std::abs(y2 - y) + over;
  return "M" + pair_text(std::min(x, x2), std::min(y, y2)) + "h" + length_text(width) + "v" + length_text(height) +
         "h" + length_text(-width) + "z";
}

std::vector<std::string> box_paths(const std::vector<DataBox>& boxes, const Frame& frame, double over = 0.0) {
  std::vector<std::string> paths;
  for (const DataBox& box : boxes) {
    paths.push_back(rectangle(frame.x(box.x), frame.y(box.y), frame.x(box.x2), frame.y(box.y2), over));
  }
  return paths;
}

std::vector<std::string> point_paths(const Places& at) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < at.count; ++i) {
    paths.push_back(all_finite({at.x[i], at.y[i]}) ? "M" + pair_text(at.x[i], at.y[i]) + "h0" : "");
  }
  return paths;
}

std::string rule_path(const PlotLayer& layer, const Frame& frame) {
  const bool upright = layer.y.empty();
  std::string path;
  for (const double value : upright ? layer.x : layer.y) {
    const double at = upright ? frame.x(value) : frame.y(value);
    if (!std::isfinite(at)) continue;
    path += upright ? "M" + pair_text(at, 0.0) + "v" + length_text(frame.plot.height)
                    : "M" + pair_text(0.0, at) + "h" + length_text(frame.plot.width);
  }
  return path;
}

// The marks of one path: of one colour.
struct Shade {
  std::string path;
  Json places = Json::array();  // x and y of each mark, in the data's units
  Json values = Json::array(), texts = Json::array();

  void tell(const PlotLayer& layer, std::size_t i, double x, double y) {
    constexpr std::size_t kMostLetters = 80;
    places.push_back(rounded(x));
    places.push_back(rounded(y));
    if (i < layer.value.size()) values.push_back(rounded(layer.value[i]));
    if (i < layer.text.size()) texts.push_back(cut_to_columns(clean(layer.text[i]), kMostLetters));
  }
  // Ten digits: days to a hundredth of a second.
  static double rounded(double value) {
    return std::isfinite(value) ? std::strtod(fmt::format("{:.10g}", value).c_str(), nullptr) : value;
  }

  std::string text(const std::string& paint) const {
    std::string attributes = paint;
    const std::pair<const char*, const Json*> columns[] = {{"at", &places}, {"value", &values}, {"text", &texts}};
    for (const auto& [name, column] : columns) {
      if (!column->empty()) attributes += fmt::format(" data-{}=\"{}\"", name, escaped(column->dump()));
    }
    return "<path" + attributes + " d=\"" + path + "\"/>";
  }
};

std::string line_text(const PlotLayer& layer, const Places& at, bool told) {
  Shade line;
  line.path = line_path(at);
  for (std::size_t i = 0; i < at.count; ++i) {
    if (told && all_finite({at.x[i], at.y[i]})) line.tell(layer, i, layer.x[i], layer.y[i]);
  }
  return line.path.empty() ? "" : line.text("");
}

// Where a mark is said to be: a bar at its end, a cell at its middle.
std::pair<double, double> said_place(const Figure& figure, const PlotLayer& layer, std::size_t i) {
  const bool cell = layer.mark == Mark::cells, bar = layer.mark == Mark::bars, lying = bar && bars_lie(figure);
  const auto middle = [&](const std::vector<double>& from, const std::vector<double>& to, bool between) {
    return between && i < to.size() ? 0.5 * (from[i] + to[i]) : from[i];
  };
  return {middle(layer.x, layer.x2, cell || (bar && !lying)), middle(layer.y, layer.y2, cell || lying)};
}

std::string shades_of(const Figure& figure, const PlotLayer& layer, const Frame& frame,
                      const std::vector<std::string>& paths, bool told) {
  const Span& span = frame.values;
  std::map<int, Shade> shades;  // -1: no value
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    const bool valued = layer.mark != Mark::bars && i < layer.value.size() && std::isfinite(layer.value[i]);
    if (layer.mark == Mark::cells && !layer.value.empty() && !valued) continue;
    const double part = valued ? (layer.value[i] - span.low) / (span.high - span.low) : 0.0;
    Shade& shade = shades[valued ? static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * kShades)) : -1];
    shade.path += paths[i];
    if (!told) continue;
    const auto [x, y] = said_place(figure, layer, i);
    shade.tell(layer, i, x, y);
  }
  std::string text;
  if (layer.mark == Mark::points && !layer.value.empty()) {  // light colours are seen on light land, too
    std::string rim;
    for (const auto& [index, shade] : shades) rim += shade.path;
    text += "<path class=\"rim\" d=\"" + rim + "\"/>";
  }
  const char* attribute = layer.mark == Mark::cells ? "fill" : "stroke";
  for (const auto& [index, shade] : shades) {
    const std::string colour = value_colour(figure, span, span.low + index * (span.high - span.low) / kShades);
    text += shade.text(index < 0 ? "" : fmt::format(" {}=\"{}\"", attribute, colour));
  }
  return text;
}

std::string plain_path(const std::string& path) { return path.empty() ? "" : "<path d=\"" + path + "\"/>"; }

}  // namespace

std::string length_text(double length) {
  std::string text = fmt::format("{:.1f}", length);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string value_colour(const Figure& figure, const Span& span, double value) {
  const bool diverging = figure.colour.middle.has_value() && std::isfinite(*figure.colour.middle);
  double part = (value - span.low) / (span.high - span.low);
  if (diverging) {
    const double middle = std::clamp(*figure.colour.middle, span.low, span.high);
    const double side = value < middle ? middle - span.low : span.high - middle;
    part = side > 0.0 ? 0.5 + 0.5 * (value - middle) / side : 0.5;
  }
  return map_colour(part, diverging);
}

std::string marks_of(const Figure& figure, const PlotLayer& layer, const Frame& frame, bool told) {
  std::string inside;
  const Places at = places_of(layer, frame);
  switch (layer.mark) {
    case Mark::line:
      inside = line_text(layer, at, told);
      break;
    case Mark::band:
      inside = plain_path(band_path(at));
      break;
    case Mark::rule:
      inside = plain_path(rule_path(layer, frame));
      break;
    case Mark::points:
      inside = shades_of(figure, layer, frame, point_paths(at), told);
      break;
    case Mark::bars:
      inside = shades_of(figure, layer, frame, box_paths(bar_boxes(figure, layer), frame), told);
      break;
    case Mark::cells:
      inside = shades_of(figure, layer, frame, box_paths(cell_boxes(layer), frame, 0.4), told);
      break;
    case Mark::labels:
      return "";
  }
  if (inside.empty()) return "";
  std::string kind(mark_name(layer.mark));
  kind += fmt::format(" tone-{}", tone_name(layer.tone));
  if (layer.mark == Mark::points && !layer.value.empty()) kind += " coloured";
  if (at.count > 1500 && layer.mark == Mark::points) kind += " crowd";
  if (at.count > 200 && (layer.mark == Mark::points || layer.mark == Mark::line)) kind += " many";
  const std::string name = told && !layer.name.empty() ? " data-name=\"" + escaped(layer.name) + "\"" : "";
  return fmt::format("<g class=\"{}\"{}>{}</g>", kind, name, inside);
}

std::string labels_of(const Figure& figure, const PlotLayer& layer, const Frame& frame) {
  constexpr double kSize = 11.0, kHigh = 13.0, kMost = 150.0, kAside = 6.0;
  const bool centred = figure.x.scale == AxisScale::levels && figure.y.scale == AxisScale::levels;
  std::vector<Box> taken;
  std::string text;
  for (std::size_t i = 0; i < std::min({layer.x.size(), layer.y.size(), layer.text.size()}); ++i) {
    const double x = frame.x(layer.x[i]), y = frame.y(layer.y[i]);
    if (!all_finite({x, y}) || x < 0.0 || x > frame.plot.width || y < 0.0 || y > frame.plot.height) continue;
    const std::string shown = cut_to_width(clean(layer.text[i]), kSize, std::min(kMost, 0.4 * frame.width));
    const double wide = text_width(shown, kSize);
    const bool right = x + kAside + wide <= frame.plot.width;
    const double left = centred ? x - 0.5 * wide : right ? x + kAside : x - kAside - wide;
    const double middle = std::clamp(y, 8.0, std::max(8.0, frame.plot.height - 5.0));
    const Box box{left, middle - 0.5 * kHigh, wide, kHigh};
    const bool free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
      return box.left < other.left + other.width && other.left < box.left + box.width &&
             box.top < other.top + other.height && other.top < box.top + box.height;
    });
    if (!free || box.left < 0.0 || wide > frame.plot.width) continue;
    taken.push_back(box);
    text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", length_text(frame.plot.left + box.left),
                        length_text(frame.plot.top + box.top + 0.8 * kHigh), escaped(shown));
  }
  return text.empty() ? "" : "<g class=\"labels\">" + text + "</g>";
}

}  // namespace ick::detail
