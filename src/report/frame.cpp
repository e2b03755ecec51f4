#include "report/frame.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "report/letters.h"

namespace ick::detail {
namespace {

constexpr double kEdge = 6.0, kRow = 20.0, kSwatch = 22.0, kGap = 14.0;
constexpr double kLeastHeight = 170.0, kMostHeight = 900.0;
constexpr double kTickGap = 8.0;  // between labels and the plot

std::string fitting(const std::string& text, double size, double width) {
  return cut_to_width(clean(text), size, std::max(width, 2.0 * size));
}

double widest(const std::vector<Tick>& ticks) {
  double width = 0.0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.text, kTextSize));
  return width;
}

void cut_all(std::vector<Tick>& ticks, double width) {
  for (Tick& tick : ticks) tick.text = fitting(tick.text, kTextSize, width);
}

double middle_between(const Span& span) { return span.low + 0.5 * (span.high - span.low); }

// Maps are drawn true at their middle latitude: a degree of longitude is cos(latitude) as long as one of latitude.
double unit_ratio(const Figure& figure, const Span& y) {
  if (!figure.coastline) return 1.0;
  const double latitude = std::clamp(middle_between(y), -80.0, 80.0);
  return 1.0 / std::cos(latitude * std::numbers::pi / 180.0);
}

void widen(Span& span, double length) {
  const double middle = middle_between(span);
  span = {middle - 0.5 * length, middle + 0.5 * length};
}

// Units of x and y as long as each other: the plot takes the shape of the data, between two limits, and the shorter
// side is given more of its axis. Where both have about the same values, as predictions and observations, both axes
// are the same.
double true_aspect(const Figure& figure, Span& x, Span& y) {
  const double both = std::min(x.high, y.high) - std::max(x.low, y.low);
  const double either = std::max(x.high, y.high) - std::min(x.low, y.low);
  if (!figure.coastline && both > 0.4 * either) {
    x = y = {std::min(x.low, y.low), std::max(x.high, y.high)};
    return 1.0;
  }
  const double ratio = unit_ratio(figure, y);
  const double wide = x.high - x.low, high = (y.high - y.low) * ratio;
  const double aspect = std::clamp(wide / high, 0.75, 2.8);
  if (wide / high < aspect) widen(x, high * aspect);
  if (wide / high > aspect) widen(y, wide / aspect / ratio);
  return aspect;
}

struct Rows {
  std::vector<LegendItem> items;
  double height = 0.0;
  bool beside_title = false;
};

// From left to right, row after row; in the row of y's title where there is room for both.
Rows legend_rows(const Figure& figure, double width, double top, double title_width) {
  Rows rows;
  double right = 0.0, row = 0.0;
  for (const PlotLayer& layer : figure.layers) {
    const bool known = std::any_of(rows.items.begin(), rows.items.end(),
                                   [&](const LegendItem& item) { return item.name == clean(layer.name); });
    if (layer.name.empty() || known || layer.mark == Mark::labels) continue;
    LegendItem item{clean(layer.name), layer.mark, layer.tone, 0.0, 0.0};
    const std::string shown = fitting(layer.name, kTextSize, width - 2.0 * kEdge - kSwatch);
    const double wide = kSwatch + text_width(shown, kTextSize);
    if (right > 0.0 && right + wide > width - 2.0 * kEdge) {
      right = 0.0;
      row += kRow;
    }
    item.left = kEdge + right;
    item.middle = top + row + 0.5 * kRow;
    right += wide + kGap;
    rows.items.push_back(item);
  }
  if (rows.items.empty()) return rows;
  rows.height = row + kRow;
  rows.beside_title = row == 0.0 && title_width > 0.0 && title_width + kGap + right + 2.0 * kEdge < width;
  if (rows.beside_title) {
    for (LegendItem& item : rows.items) item.left += width - 2.0 * kEdge - right + kGap;
  }
  for (LegendItem& item : rows.items) {
    item.name = fitting(item.name, kTextSize, width - 2.0 * kEdge - kSwatch);
  }
  return rows;
}

int fitting_count(double length, double each) { return std::clamp(static_cast<int>(length / each), 2, 12); }

double text_end_of(const Tick& tick, const Scale& x, double side) {
  return x(tick.at) + side * 0.5 * text_width(tick.text, kTextSize);
}

// As many as stand apart.
std::vector<Tick> x_ticks_of(const Axis& axis, const Scale& x, double width) {
  constexpr double kLeast = 44.0, kApart = 16.0;
  for (int most = fitting_count(width, kLeast);; --most) {
    std::vector<Tick> ticks = ticks_of(axis, x.span().low, x.span().high, most);
    bool apart = true;
    for (std::size_t i = 1; i < ticks.size(); ++i) {
      apart = apart && text_end_of(ticks[i - 1], x, 1.0) + kApart <= text_end_of(ticks[i], x, -1.0);
    }
    if (apart || most <= 2) return ticks;
  }
}

// Labels that would still touch the one before are left out; the text of a level is cut instead.
void keep_apart(std::vector<Tick>& ticks, const Scale& x, double width) {
  constexpr double kApart = 7.0;
  double text_end = -1e9, below_end = -1e9;
  std::erase_if(ticks, [&](Tick& tick) {
    const double place = x(tick.at), half = 0.5 * text_width(tick.text, kTextSize);
    if (!(place >= -0.5 && place <= width + 0.5)) return true;
    if (place - half < text_end + kApart) tick.text.clear();
    if (!tick.text.empty()) text_end = place + half;
    const double below = 0.5 * text_width(tick.below, kTextSize);
    if (!tick.below.empty() && place - below < below_end + kApart) tick.below.clear();
    if (!tick.below.empty()) below_end = place + below;
    return false;
  });
}

double room_below(Frame& frame, const Axis& axis) {
  constexpr double kSlantedLabel = 110.0, kLine = 15.0, kCosine = 0.81;  // of 36 degrees
  double room = kTickGap + kTextSize;
  if (axis.scale == AxisScale::levels && !frame.x_ticks.empty()) {
    const double slot = frame.plot.width / static_cast<double>(frame.x_ticks.size());
    frame.slanted = widest(frame.x_ticks) > slot - 6.0 && slot < 90.0;
    for (Tick& tick : frame.x_ticks) {
      const double from_edge = (frame.plot.left + frame.x(tick.at)) / kCosine;  // where the label of a slope ends
      tick.text = fitting(tick.text, kTextSize, frame.slanted ? std::min(kSlantedLabel, from_edge) : slot - 6.0);
    }
    if (frame.slanted) room = kTickGap + 0.6 * widest(frame.x_ticks) + kTextSize;
  } else {
    keep_apart(frame.x_ticks, frame.x, frame.plot.width);
  }
  const bool below =
      std::any_of(frame.x_ticks.begin(), frame.x_ticks.end(), [](const Tick& tick) { return !tick.below.empty(); });
  return room + (below ? kLine : 0.0);
}

bool has_values(const Figure& figure) {
  return std::any_of(figure.layers.begin(), figure.layers.end(), [](const PlotLayer& layer) {
    return (layer.mark == Mark::cells || layer.mark == Mark::points) && !layer.value.empty();
  });
}

double plot_height(const Figure& figure, double width, double aspect, bool shaped) {
  constexpr double kBar = 26.0;
  if (shaped) return width / aspect;
  if (figure.y.scale != AxisScale::levels) return std::clamp(width / aspect, kLeastHeight, kMostHeight);
  if (figure.x.scale == AxisScale::levels) return std::min(width / aspect, kMostHeight);
  const double count = static_cast<double>(figure.y.levels.size());  // as many rows as it has
  return std::clamp(count * kBar + 10.0, 60.0, kMostHeight);
}

}  // namespace

Frame frame_of(const Figure& figure, double width, bool with_title) {
  constexpr double kBetweenY = 42.0, kLevelRow = 16.0, kColourBar = 20.0;
  Frame frame;
  frame.width = width;
  double top = kEdge;
  if (with_title && !figure.title.empty()) {
    frame.title = fitting(figure.title, kTitleSize, width - 2.0 * kEdge);
    frame.title_base = top + kTitleSize;
    top += kTitleSize + 12.0;
  }
  frame.y_title = fitting(figure.y.title, kTextSize, width - 2.0 * kEdge);
  const double title_width = text_width(frame.y_title, kTextSize);
  const Rows rows = legend_rows(figure, width, top, title_width);
  frame.legend = rows.items;
  top += rows.height;
  if (!frame.y_title.empty()) {
    if (!rows.beside_title) top += kRow;
    frame.y_title_base = top - 6.0;
  }
  top += 6.0;

  Span x = span_of_x(figure), y = span_of_y(figure);
  const bool shaped =
      (figure.square || figure.coastline) && figure.x.scale == AxisScale::linear && figure.y.scale == AxisScale::linear;
  const double aspect = shaped ? true_aspect(figure, x, y) : std::clamp(figure.aspect, 0.3, 6.0);

  double right = width - kEdge - 10.0;
  frame.colours = has_values(figure);
  if (frame.colours) {
    frame.values = span_of_values(figure);
    Axis axis;
    frame.value_ticks = ticks_of(axis, frame.values.low, frame.values.high, 6);
    cut_all(frame.value_ticks, 70.0);
    right -= kColourBar + kTickGap + widest(frame.value_ticks) + (figure.colour.title.empty() ? 0.0 : 22.0);
  }
  const double guess = std::clamp(0.85 * width / aspect, kLeastHeight, kMostHeight);
  const auto y_ticks = [&](double height) {
    const bool listed = figure.y.scale == AxisScale::levels;
    auto ticks =
        ticks_of(figure.y, y.low, y.high,
                 listed ? std::max(1, static_cast<int>(height / kLevelRow)) : fitting_count(height, kBetweenY));
    for (Tick& tick : ticks) tick.text = clean(tick.text);
    cut_all(ticks, 0.4 * width);
    return ticks;
  };
  frame.plot.top = top;
  frame.y_ticks = y_ticks(guess);
  for (int pass = 0; pass < 2; ++pass) {  // the labels' width decides the plot's size, which decides the labels
    frame.plot.left = std::max(frame.plot.left, kEdge + widest(frame.y_ticks) + kTickGap);
    frame.plot.width = right - frame.plot.left;
    frame.plot.height = plot_height(figure, frame.plot.width, aspect, shaped);
    frame.y_ticks = y_ticks(frame.plot.height);
  }
  const bool downwards = figure.y.scale == AxisScale::levels;  // the first level at the top, as in a list
  frame.x = Scale(figure.x.scale, x, 0.0, frame.plot.width);
  frame.y = Scale(figure.y.scale, y, downwards ? 0.0 : frame.plot.height, downwards ? frame.plot.height : 0.0);
  const bool levels = figure.x.scale == AxisScale::levels;
  frame.x_ticks = levels
                      ? ticks_of(figure.x, x.low, x.high, std::max(1, static_cast<int>(frame.plot.width / kLevelRow)))
                      : x_ticks_of(figure.x, frame.x, frame.plot.width);
  for (Tick& tick : frame.x_ticks) tick.text = clean(tick.text);

  frame.height = frame.plot.top + frame.plot.height + room_below(frame, figure.x) + kEdge;
  frame.x_title = fitting(figure.x.title, kTextSize, width - 2.0 * kEdge);
  if (!frame.x_title.empty()) frame.height += kRow;
  frame.value_title = fitting(figure.colour.title, kTextSize, frame.plot.height);
  return frame;
}

}  // namespace ick::detail
