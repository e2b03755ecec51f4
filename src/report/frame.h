#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ick/report/figure.h"
#include "report/scale.h"
#include "report/ticks.h"

namespace ick::detail {

constexpr double kTextSize = 12.0, kTitleSize = 15.0;

struct Box {
  double left = 0.0, top = 0.0, width = 0.0, height = 0.0;
};

struct LegendItem {
  std::string name;
  Mark mark;
  Tone tone;
  double left, middle;  // of its swatch
};

// Where everything stands in a picture so many units wide; what is to be written is clean and cut to its place.
struct Frame {
  double width = 0.0, height = 0.0;
  std::string title, x_title, y_title;
  double title_base = 0.0, y_title_base = 0.0;  // base lines
  Box plot;
  Scale x, y;  // within the plot, whose y grows downwards
  std::vector<Tick> x_ticks, y_ticks;
  bool slanted = false;  // labels along x
  std::vector<LegendItem> legend;
  bool colours = false;  // a bar of colours stands at the right
  Span values;
  std::vector<Tick> value_ticks;
  std::string value_title;
};

Frame frame_of(const Figure& figure, double width, bool with_title);

}  // namespace ick::detail
