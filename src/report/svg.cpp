#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/boxes.h"
#include "report/coastline.h"
#include "report/drawing.h"
#include "report/frame.h"
#include "report/json.h"
#include "report/letters.h"
#include "report/marks.h"
#include "report/palette.h"

namespace ick {
namespace detail {
namespace {

std::string text_at(double x, double y, std::string_view text, std::string_view more = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>", length_text(x), length_text(y), more, escaped(text));
}

constexpr std::string_view kMiddle = " text-anchor=\"middle\"", kEnd = " text-anchor=\"end\"";

std::string legend_swatch(const LegendItem& item) {
  const std::string left = length_text(item.left), middle = length_text(item.middle);
  switch (item.mark) {
    case Mark::line:
    case Mark::rule:
      return fmt::format("<path d=\"M{} {}h16\"/>", left, middle);
    case Mark::points:
      return fmt::format("<path d=\"M{} {}h0\"/>", length_text(item.left + 8.0), middle);
    default:
      return fmt::format("<path d=\"M{} {}h16v10h-16z\"/>", left, length_text(item.middle - 5.0));
  }
}

std::string_view swatch_kind(Mark mark) {
  if (mark == Mark::line) return "line";
  if (mark == Mark::rule) return "rule";
  if (mark == Mark::points) return "points";
  return mark == Mark::band ? "band" : "bars";
}

std::string legend_text(const Frame& frame) {
  std::string text;
  for (const LegendItem& item : frame.legend) {
    text += fmt::format("<g class=\"{} tone-{}\">{}</g>", swatch_kind(item.mark), tone_name(item.tone),
                        legend_swatch(item));
    text += text_at(item.left + 22.0, item.middle + 4.0, item.name);
  }
  return text.empty() ? "" : "<g class=\"legend\">" + text + "</g>";
}

std::string grid_text(const Figure& figure, const Frame& frame) {
  const Box& plot = frame.plot;
  std::string path;
  if (figure.x.scale != AxisScale::levels) {
    for (const Tick& tick : frame.x_ticks) {
      path += fmt::format("M{} {}v{}", length_text(plot.left + frame.x(tick.at)), length_text(plot.top),
                          length_text(plot.height));
    }
  }
  std::string across;
  if (figure.y.scale != AxisScale::levels) {
    for (const Tick& tick : frame.y_ticks) {
      across += fmt::format("M{} {}h{}", length_text(plot.left), length_text(plot.top + frame.y(tick.at)),
                            length_text(plot.width));
    }
  }
  return fmt::format("<g class=\"grid\"><path class=\"grid-x\" d=\"{}\"/><path d=\"{}\"/></g>", path, across);
}

// From where bars begin, where that is not an end of the axis.
std::string zero_line(const Figure& figure, const Frame& frame) {
  const bool bars = std::any_of(figure.layers.begin(), figure.layers.end(),
                                [](const PlotLayer& layer) { return layer.mark == Mark::bars; });
  const bool lying = bars_lie(figure);
  const double at = lying ? frame.x(0.0) : frame.y(0.0), end = lying ? frame.plot.width : frame.plot.height;
  if (!bars || !(at > 0.5 && at < end - 0.5)) return "";
  const Box& plot = frame.plot;
  return lying ? fmt::format("<path class=\"base\" d=\"M{} {}v{}\"/>", length_text(plot.left + at),
                             length_text(plot.top), length_text(plot.height))
               : fmt::format("<path class=\"base\" d=\"M{} {}h{}\"/>", length_text(plot.left),
                             length_text(plot.top + at), length_text(plot.width));
}

std::string axes_text(const Frame& frame) {
  const Box& plot = frame.plot;
  const double bottom = plot.top + plot.height;
  std::string text = fmt::format("<path class=\"base\" d=\"M{} {}h{}\"/>", length_text(plot.left), length_text(bottom),
                                 length_text(plot.width));
  const auto inside = [&](double middle, const std::string& shown) {  // no label leaves the picture
    const double half = 0.5 * text_width(shown, kTextSize);
    return std::clamp(middle, half, std::max(half, frame.width - half));
  };
  text += "<g class=\"x-axis\">";
  for (const Tick& tick : frame.x_ticks) {
    const double x = plot.left + frame.x(tick.at), y = bottom + 17.0;
    if (frame.slanted) {
      text += text_at(x + 4.0, bottom + 14.0, tick.text,
                      fmt::format(" text-anchor=\"end\" transform=\"rotate(-36 {} {})\"", length_text(x + 4.0),
                                  length_text(bottom + 14.0)));
    } else {
      if (!tick.text.empty()) text += text_at(inside(x, tick.text), y, tick.text, kMiddle);
      if (!tick.below.empty()) text += text_at(inside(x, tick.below), y + 15.0, tick.below, kMiddle);
    }
  }
  text += "</g><g class=\"y-axis\">";
  for (const Tick& tick : frame.y_ticks) {
    text += text_at(plot.left - 8.0, plot.top + frame.y(tick.at) + 4.0, tick.text, kEnd);
  }
  text += "</g>";
  if (!frame.x_title.empty()) {
    const double middle = inside(plot.left + 0.5 * plot.width, frame.x_title);
    text += text_at(middle, frame.height - 9.0, frame.x_title, " class=\"axis-title\" text-anchor=\"middle\"");
  }
  if (!frame.y_title.empty()) text += text_at(6.0, frame.y_title_base, frame.y_title, " class=\"axis-title\"");
  return text;
}

std::string colour_bar(const Figure& figure, const Frame& frame) {
  if (!frame.colours) return "";
  constexpr int kSteps = 32;
  const Box& plot = frame.plot;
  const double left = plot.left + plot.width + 14.0, wide = 10.0, step = plot.height / kSteps;
  std::string text = "<g class=\"colours\">";
  for (int i = 0; i < kSteps; ++i) {
    const double value = frame.values.low + (i + 0.5) / kSteps * (frame.values.high - frame.values.low);
    text += fmt::format("<path fill=\"{}\" d=\"M{} {}h{}v{}h-{}z\"/>", value_colour(figure, frame.values, value),
                        length_text(left), length_text(plot.top + (kSteps - 1 - i) * step), wide,
                        length_text(step + (i == 0 ? 0.0 : 0.6)), wide);
  }
  const Scale place(AxisScale::linear, frame.values, plot.top + plot.height, plot.top);
  double right = left + wide;
  for (const Tick& tick : frame.value_ticks) {
    text += text_at(left + wide + 6.0, place(tick.at) + 4.0, tick.text);
    right = std::max(right, left + wide + 6.0 + text_width(tick.text, kTextSize));
  }
  if (!frame.value_title.empty()) {
    const double x = right + 15.0, y = plot.top + 0.5 * plot.height;
    text += text_at(x, y, frame.value_title,
                    fmt::format(" class=\"axis-title\" text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"",
                                length_text(x), length_text(y)));
  }
  return text + "</g>";
}

// What a screen reader says.
std::string spoken(const std::string& text) {
  constexpr std::size_t kMostLetters = 1500;
  return escaped(cut_to_columns(clean(text), kMostLetters));
}

// What a page's script reads of an axis.
std::string axis_attribute(std::string_view name, const Axis& axis, const Scale& scale) {
  constexpr std::string_view kKinds[] = {"linear", "log", "time", "levels"};
  constexpr std::size_t kMostLevels = 400, kMostLetters = 60;
  Json json = {{"kind", kKinds[static_cast<std::size_t>(axis.scale)]},
               {"title", cut_to_columns(clean(axis.title), kMostLetters)},
               {"low", scale.span().low},
               {"high", scale.span().high}};
  for (std::size_t i = 0; i < std::min(axis.levels.size(), kMostLevels); ++i) {
    json["levels"].push_back(cut_to_columns(clean(axis.levels[i]), kMostLetters));
  }
  return fmt::format(" data-{}=\"{}\"", name, escaped(json.dump()));
}

std::string plot_text(const Figure& figure, const Frame& frame, bool told) {
  const Box& plot = frame.plot;
  std::string text = fmt::format(
      "<svg class=\"plot\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"0 0 {2} {3}\" "
      "preserveAspectRatio=\"none\">",
      length_text(plot.left), length_text(plot.top), length_text(plot.width), length_text(plot.height));
  const bool map = figure.coastline && figure.x.scale == AxisScale::linear && figure.y.scale == AxisScale::linear;
  const std::string land = map ? land_path(frame.x, frame.y) : "";
  if (!land.empty()) text += "<path class=\"land\" d=\"" + land + "\"/>";
  bool outlined = land.empty();
  for (const PlotLayer& layer : figure.layers) {
    text += marks_of(figure, layer, frame, told);
    if (outlined || layer.mark != Mark::cells) continue;
    text += "<path class=\"coast\" d=\"" + land + "\"/>";  // which cells hide
    outlined = true;
  }
  return text + "</svg>";
}

}  // namespace

std::string identifier(const std::string& text) {
  std::string name;
  for (const char byte : text.substr(0, 80)) {
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    if (plain) name += byte;
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "figure" : name;
}

std::string draw(const Figure& whole, const DrawingOptions& options) {
  const Figure figure = thinned(whole, options.most_marks);
  const Frame frame = frame_of(figure, options.width, options.alone);
  const std::string id = options.id;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure{}\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-labelledby=\"{}-title {}-text\"",
      figure.zoom && !options.alone ? " zoom" : "", options.width, length_text(frame.height), id, id);
  if (options.alone) text += fmt::format(" width=\"{}\" height=\"{}\"", options.width, length_text(frame.height));
  if (!options.alone) {
    text += axis_attribute("x", figure.x, frame.x) + axis_attribute("y", figure.y, frame.y);
    if (frame.colours) text += " data-colour=\"" + escaped(cut_to_columns(clean(figure.colour.title), 60)) + "\"";
  }
  text += fmt::format("><title id=\"{}-title\">{}</title><desc id=\"{}-text\">{}</desc>", id, spoken(figure.title), id,
                      spoken(figure.caption));
  if (options.alone) {
    text += "<style>" + drawing_rules(true) + "</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>";
  }
  if (!frame.title.empty()) text += text_at(6.0, frame.title_base, frame.title, " class=\"title\"");
  const std::string plot = plot_text(figure, frame, options.told);
  text += legend_text(frame) + grid_text(figure, frame) + plot;
  if (plot.find("<g ") == std::string::npos) {
    text += text_at(frame.plot.left + 12.0, frame.plot.top + 24.0, "No data", " class=\"empty\"");
  }
  text += zero_line(figure, frame) + axes_text(frame) + colour_bar(figure, frame);
  for (const PlotLayer& layer : figure.layers) {
    if (layer.mark == Mark::labels) text += labels_of(figure, layer, frame);
  }
  return text + "</svg>\n";
}

}  // namespace detail

std::string svg_of(const Figure& figure, int width) {
  detail::DrawingOptions options;
  options.width = std::clamp(width, 200, 4000);
  options.id = detail::identifier(figure.id);
  return detail::draw(figure, options);
}

}  // namespace ick
