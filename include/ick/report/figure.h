#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Pictures as plain data. One Figure has several readers: the report draws it (report/svg.cpp), --plots writes it as SVG,
// PNG and as a Vega-Lite specification, report.json keeps its numbers.
namespace ick {

// Times are days since 1970-01-01, as in ick/table/time.h. Levels are 0, 1, ...; along y the first stands at the top.
enum class AxisScale { linear, logarithmic, time, levels };

struct Axis {
  std::string title;  // with its unit: "pm25 (ug/m3)"
  AxisScale scale = AxisScale::linear;
  std::optional<double> low, high;  // ends; else those of the data
  std::vector<std::string> levels;  // of AxisScale::levels: texts of 0, 1, ...
};

// What a layer is, which decides its colour, in light and in dark; never a colour by itself.
enum class Tone { data, model, second, third, good, bad, reference, quiet };

enum class Mark {
  line,    // y over x, broken where y is not a number
  band,    // from y to y2 over x
  points,  // at x, y; coloured by `value` where there is one
  bars,    // from zero (or y2) to y, about x (or from x to x2); where only y has levels they lie: x and y change parts
  cells,   // from x to x2 and y to y2, coloured by `value` if there is any; without x2 or y2 centred, a step wide
  rule,    // a straight line across at each x (y is empty) or at each y (x is empty)
  labels,  // `text` at x, y
};

struct PlotLayer {
  Mark mark = Mark::line;
  Tone tone = Tone::model;
  std::string name;  // in the legend; "": not there
  std::vector<double> x, y;
  std::vector<double> x2, y2;     // as the mark says
  std::vector<double> value;      // for colours by Figure::colour
  std::vector<std::string> text;  // for labels; of other marks what is shown where the pointer is
};

// Colours of values. Diverging about `middle` where that is given.
struct ColourAxis {
  std::string title;
  std::optional<double> low, high, middle;
};

struct Figure {
  std::string id;  // name of its files and its anchor: "residuals-by-time"; letters, digits, hyphens
  std::string title;
  std::string caption;  // a sentence: what to look for, and what this one shows
  Axis x, y;
  ColourAxis colour;
  std::vector<PlotLayer> layers;  // drawn in this order
  double aspect = 1.9;            // width over height
  bool coastline = false;         // x, y are longitude, latitude: land is drawn below the layers, true to its shape
  bool square = false;            // x and y have the same scale, and the same ends where their values are alike
  bool zoom = false;              // long in x: the reader may choose a part of it
};

// A picture that stands alone, in light colours. Layers of more than 4,000 marks are thinned.
std::string svg_of(const Figure& figure, int width = 720);
// The same as a Vega-Lite specification, numbers included.
std::string vega_lite_of(const Figure& figure);
// Pixels of an SVG, as a PNG file. Error where it cannot be drawn.
std::string png_of(const std::string& svg, double scale = 2.0);

}  // namespace ick
