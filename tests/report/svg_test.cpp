#include <cpl_error.h>
#include <cpl_minixml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/report/figure.h"
#include "ick/report/page.h"
#include "report/coastline.h"
#include "report/drawing.h"
#include "report/frame.h"
#include "report/palette.h"
#include "report/sample.h"

namespace ick {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

PlotLayer layer_of(Mark mark, std::vector<double> x, std::vector<double> y) {
  PlotLayer layer;
  layer.mark = mark;
  layer.x = std::move(x);
  layer.y = std::move(y);
  return layer;
}

Figure figure_of(std::vector<PlotLayer> layers) {
  Figure figure;
  figure.id = "test";
  figure.title = "A title";
  figure.caption = "A caption.";
  figure.layers = std::move(layers);
  return figure;
}

// Axes from 0 to 10 and from 0 to 100.
Figure on_known_axes(PlotLayer layer) {
  Figure figure = figure_of({std::move(layer)});
  figure.x.low = 0.0;
  figure.x.high = 10.0;
  figure.y.low = 0.0;
  figure.y.high = 100.0;
  return figure;
}

std::string attribute(const std::string& svg, const std::string& element, const std::string& name) {
  const std::size_t start = svg.find(element), at = svg.find(" " + name + "=\"", start) + name.size() + 3;
  EXPECT_NE(start, std::string::npos) << element;
  return svg.substr(at, svg.find('"', at) - at);
}

// Numbers of a path in order, letters left out.
std::vector<double> numbers_of(const std::string& path) {
  std::vector<double> numbers;
  const std::regex number("-?[0-9.]+");
  for (std::sregex_iterator at(path.begin(), path.end(), number), end; at != end; ++at)
    numbers.push_back(std::stod(at->str()));
  return numbers;
}

struct Plot {
  double width, height;
  std::string path;  // of the layer
};

Plot plot_of(const Figure& figure, const std::string& kind) {
  const std::string svg = svg_of(figure);
  return {std::stod(attribute(svg, "<svg class=\"plot\"", "width")),
          std::stod(attribute(svg, "<svg class=\"plot\"", "height")), attribute(svg, "<g class=\"" + kind, "d")};
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.051) << i;  // of tenths
}

bool is_xml(const std::string& text) {
  CPLErrorReset();
  CPLXMLNode* const tree = CPLParseXMLString(text.c_str());
  const bool whole = tree && CPLGetLastErrorType() == CE_None;
  CPLDestroyXMLNode(tree);
  return whole;
}

TEST(Svg, MarksStandWhereTheirNumbersAre) {
  const Plot line = plot_of(on_known_axes(layer_of(Mark::line, {0, 2.5, 10}, {0, 75, 100})), "line");
  const double w = line.width, h = line.height;
  expect_near(numbers_of(line.path), {0, h, 0.25 * w, 0.25 * h, w, 0});

  PlotLayer band = layer_of(Mark::band, {1, 4}, {10, 20});
  band.y2 = {30, 60};
  expect_near(numbers_of(plot_of(on_known_axes(band), "band").path),
              {0.1 * w, 0.9 * h, 0.4 * w, 0.8 * h, 0.4 * w, 0.4 * h, 0.1 * w, 0.7 * h});

  expect_near(numbers_of(plot_of(on_known_axes(layer_of(Mark::points, {3, 7}, {50, 90})), "points").path),
              {0.3 * w, 0.5 * h, 0, 0.7 * w, 0.1 * h, 0});

  PlotLayer bars = layer_of(Mark::bars, {2, 5}, {40, 80});
  bars.x2 = {5, 8};
  expect_near(numbers_of(plot_of(on_known_axes(bars), "bars").path),
              {0.2 * w, 0.6 * h, 0.3 * w, 0.4 * h, -0.3 * w, 0.5 * w, 0.2 * h, 0.3 * w, 0.8 * h, -0.3 * w});

  // Thickness: 0.7 of the step of 2.
  expect_near(numbers_of(plot_of(on_known_axes(layer_of(Mark::bars, {4, 6}, {50, 25})), "bars").path),
              {0.33 * w, 0.5 * h, 0.14 * w, 0.5 * h, -0.14 * w, 0.53 * w, 0.75 * h, 0.14 * w, 0.25 * h, -0.14 * w});

  expect_near(numbers_of(plot_of(on_known_axes(layer_of(Mark::rule, {}, {30})), "rule").path), {0, 0.7 * h, w});
  expect_near(numbers_of(plot_of(on_known_axes(layer_of(Mark::rule, {6}, {})), "rule").path), {0.6 * w, 0, h});
}

TEST(Svg, BarsLieWhereOnlyYHasLevels) {
  Figure figure = figure_of({layer_of(Mark::bars, {8, -2}, {0, 1})});
  figure.x.low = -2.0;
  figure.x.high = 8.0;
  figure.y.scale = AxisScale::levels;
  figure.y.levels = {"first", "second"};
  const Plot plot = plot_of(figure, "bars");
  const double w = plot.width, h = plot.height;  // the first at the top
  expect_near(numbers_of(plot.path),
              {0.2 * w, 0.075 * h, 0.8 * w, 0.35 * h, -0.8 * w, 0, 0.575 * h, 0.2 * w, 0.35 * h, -0.2 * w});
}

TEST(Svg, BarsOfSeveralLayersStandSideBySide) {
  Figure figure = on_known_axes(layer_of(Mark::bars, {2, 4}, {50, 50}));
  figure.layers.push_back(figure.layers[0]);
  figure.layers[1].tone = Tone::second;
  const double w = plot_of(figure, "bars tone-model").width;
  const auto first = numbers_of(plot_of(figure, "bars tone-model").path);
  const auto second = numbers_of(plot_of(figure, "bars tone-second").path);
  EXPECT_NEAR(first[0], 0.13 * w, 0.1);
  EXPECT_NEAR(second[0], 0.2 * w, 0.1);
  EXPECT_LE(first[0] + first[2], second[0]);
}

TEST(Svg, LogarithmsAndTimes) {
  Figure figure = on_known_axes(layer_of(Mark::line, {0.1, 1, -5, 100}, {0, 50, 50, 100}));
  figure.x = {"", AxisScale::logarithmic, 0.1, 1000.0, {}};
  const Plot plot = plot_of(figure, "line");  // what is below zero has no place: the line is broken
  expect_near(numbers_of(plot.path), {0, plot.height, 0.25 * plot.width, 0.5 * plot.height, 0.75 * plot.width, 0, 0});
}

TEST(Svg, LinesAreBrokenWhereThereIsNoNumber) {
  const auto shape = [](const Figure& figure, const char* kind) {
    return std::regex_replace(plot_of(figure, kind).path, std::regex("[-0-9. ]+"), "_");
  };
  Figure figure = on_known_axes(layer_of(Mark::line, {0, 1, 2, 3, 4, 5}, {1, 2, kNone, 4, kNone, 6}));
  EXPECT_EQ(shape(figure, "line"), "M_L_M_h_M_h_");
  figure.layers[0].mark = Mark::band;
  figure.layers[0].y2 = {3, 4, 5, 6, 7, INFINITY};
  EXPECT_EQ(shape(figure, "band"), "M_L_L_L_ZM_L_Z");
}

TEST(Svg, ColoursGoFromOneEndToTheOther) {
  PlotLayer cells = layer_of(Mark::cells, {0, 1, 2}, {0, 0, 0});
  cells.value = {-1, 0, 3};
  Figure figure = figure_of({cells});
  std::string svg = svg_of(figure);
  for (const char* colour : {"#440154", "#fde725"})
    EXPECT_NE(svg.find(colour), std::string::npos) << colour;  // viridis
  figure.layers[0].value = {-1, kNone, 3};                     // no colour, no cell
  EXPECT_EQ(numbers_of(attribute(svg_of(figure), "<g class=\"cells", "d")).size(), 5u);
  figure.layers[0].value.clear();  // its tone
  EXPECT_EQ(numbers_of(attribute(svg_of(figure), "<g class=\"cells", "d")).size(), 15u);
  figure.layers[0].value = {-1, 0, 3};
  figure.colour.middle = 0.0;
  svg = svg_of(figure);  // from -3 to 3: zero is grey, 3 the darkest red, -1 some blue
  for (const char* colour : {"#e8e8e6", "#981826"})
    EXPECT_NE(svg.find("fill=\"" + std::string(colour)), std::string::npos);
  EXPECT_EQ(detail::map_colour(0.5, true), "#e8e8e6");
}

TEST(Svg, SquareFiguresHaveTheSameUnits) {
  Figure figure = figure_of({layer_of(Mark::points, {0, 10}, {2, 9})});
  figure.square = true;
  const detail::Frame alike = detail::frame_of(figure, 720, true);
  EXPECT_EQ(alike.x.span().low, alike.y.span().low);
  EXPECT_NEAR(alike.plot.width, alike.plot.height, 1e-9);
  figure.layers[0].y = {500, 503};  // other values: as long units
  const detail::Frame frame = detail::frame_of(figure, 720, true);
  EXPECT_NEAR(frame.plot.width / (frame.x.span().high - frame.x.span().low),
              frame.plot.height / (frame.y.span().high - frame.y.span().low), 1e-9);
}

TEST(Svg, MapsHaveLand) {
  Figure figure = figure_of({layer_of(Mark::points, {-10, 30}, {35, 60})});
  figure.coastline = true;
  const detail::Frame frame = detail::frame_of(figure, 720, true);
  const std::string land = detail::land_path(frame.x, frame.y);
  EXPECT_GT(land.size(), 1000u);
  for (const double number : numbers_of(land)) {
    EXPECT_GE(number, -20.0);
    EXPECT_LT(number, std::max(frame.plot.width, frame.plot.height) + 20.0);
  }
  // Longitudes from 0 to 360 have the Americas, too; the open Pacific has none.
  const auto map = [](double west, double east, double south, double north) {
    return detail::land_path(detail::Scale(AxisScale::linear, {west, east}, 0, 500),
                             detail::Scale(AxisScale::linear, {south, north}, 300, 0));
  };
  EXPECT_FALSE(map(250, 290, -20, 10).empty());
  EXPECT_TRUE(map(-140, -130, -50, -40).empty());
  EXPECT_TRUE(map(10, 11, 48, 49).empty());  // finer than the outline
  // A picture of Central Asia is land from edge to edge, a fiftieth of its width beyond each.
  const std::vector<double> corners = numbers_of(map(70, 80, 45, 52));
  ASSERT_EQ(corners.size(), 8u);
  double area = 0.0;
  for (std::size_t i = 0; i < 8; i += 2) {
    area += 0.5 * (corners[i] * corners[(i + 3) % 8] - corners[(i + 2) % 8] * corners[i + 1]);
  }
  EXPECT_NEAR(std::abs(area), 520.0 * (300.0 + 2.0 * 0.2 / 7.0 * 300.0), 60.0);
  // Chukotka beyond the 180th degree, Antarctica to the pole.
  EXPECT_FALSE(map(-180, -172, 64, 68).empty());
  EXPECT_FALSE(map(-60, 60, -90, -85).empty());
}

TEST(Svg, ManyMarksAreThinned) {
  PlotLayer line = layer_of(Mark::line, {}, {}), points = layer_of(Mark::points, {}, {});
  for (int i = 0; i < 100'000; ++i) {
    line.x.push_back(i);
    line.y.push_back(i == 54'321 ? 50.0 : std::sin(i / 5000.0));
  }
  points.x = line.x;
  points.y = line.y;
  const Figure thin = detail::thinned(figure_of({line, points}), 1000);
  EXPECT_LE(thin.layers[0].x.size(), 1000u);
  EXPECT_EQ(thin.layers[1].x.size(), 1000u);
  EXPECT_EQ(thin.layers[0].x.front(), 0.0);
  EXPECT_EQ(thin.layers[0].x.back(), 99'999.0);
  EXPECT_EQ(*std::max_element(thin.layers[0].y.begin(), thin.layers[0].y.end()), 50.0);  // the peak stays
  EXPECT_LT(svg_of(figure_of({line, points})).size(), 200'000u);
  EXPECT_EQ(detail::thinning_note(figure_of({points}), 1000), "1,000 of 100,000 marks are drawn.");
}

// Pictures of nothing, of one thing, of the largest and the smallest numbers are pictures all the same.
TEST(Svg, OfAnythingIsAPicture) {
  std::vector<Figure> figures;
  const std::vector<std::vector<double>> numbers = {{},
                                                    {3},
                                                    {kNone, kNone},
                                                    {2, 2, 2},
                                                    {1e-300, 1e300},
                                                    {-1e308, 1e308, 0},
                                                    {INFINITY, -INFINITY, 1},
                                                    {5e-324, 1e-323},
                                                    {1, 1 + 1e-16, 1 + 1e-15},
                                                    {-1, 0, 1}};
  for (const auto& x : numbers) {
    for (const auto& y : numbers) {
      for (int mark = 0; mark < 7; ++mark) {
        PlotLayer layer = layer_of(static_cast<Mark>(mark), x, y);
        layer.name = "name";
        layer.value = y;
        layer.text = {"a", "b"};
        layer.y2 = x;
        figures.push_back(figure_of({layer}));
        for (int kind = 0; kind < 4; ++kind) {
          figures.back().x.scale = figures.back().y.scale = static_cast<AxisScale>(kind);
          figures.back().coastline = figures.back().square = mark % 2 == 0;
          const std::string svg = svg_of(figures.back(), 300);
          ASSERT_TRUE(is_xml(svg)) << svg;
          ASSERT_EQ(svg.find("nan"), std::string::npos) << svg;
          ASSERT_EQ(svg.find("inf"), std::string::npos) << svg;
          ASSERT_LT(svg.size(), 200'000u);
          const double height = std::stod(attribute(svg, "<svg", "height"));
          ASSERT_TRUE(height > 50.0 && height < 1500.0) << svg;
        }
      }
    }
  }
  EXPECT_TRUE(is_xml(svg_of(Figure{})));
}

TEST(Svg, TextOfOthersIsText) {
  for (const Section& section : hostile_page().sections) {
    for (const PagePart& part : section.parts) {
      const Figure* figure = std::get_if<Figure>(&part);
      if (!figure) continue;
      const std::string svg = svg_of(*figure);
      EXPECT_TRUE(is_xml(svg)) << svg;
      for (const char* word : {"<script", "<img", "\" onmouseover", "' onmouseover"}) {
        EXPECT_EQ(svg.find(word), std::string::npos) << word;
      }
      EXPECT_LT(svg.size(), 30'000u);  // long words are cut
    }
  }
}

TEST(Png, HasTheSizeItIsAskedFor) {
  Figure figure = figure_of({layer_of(Mark::line, {0, 1}, {0, 1})});
  const std::string svg = svg_of(figure, 500);
  const std::string png = png_of(svg, 2.0);
  ASSERT_TRUE(png.starts_with("\x89PNG\r\n"));
  const auto big_endian = [&](std::size_t at) {
    int value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value * 256 + static_cast<unsigned char>(png[i]);
    return value;
  };
  EXPECT_EQ(big_endian(16), 1000);
  EXPECT_EQ(big_endian(20), std::lround(2.0 * std::stod(attribute(svg, "<svg", "height"))));
  EXPECT_THROW(png_of("no picture"), Error);
  EXPECT_THROW(png_of(""), Error);
}

TEST(VegaLite, HasTheLayersAndTheirNumbers) {
  using nlohmann::json;
  const json spec = json::parse(vega_lite_of(sample_series()));
  ASSERT_EQ(spec["layer"].size(), 3u);
  EXPECT_EQ(spec["layer"][0]["mark"]["type"], "area");
  EXPECT_EQ(spec["layer"][1]["mark"]["type"], "circle");
  EXPECT_EQ(spec["layer"][2]["mark"]["type"], "line");
  const Figure figure = sample_series();
  const json& values = spec["layer"][2]["data"]["values"];
  ASSERT_EQ(values.size(), figure.layers[2].x.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i]["x"].get<double>(), figure.layers[2].x[i] * 86400e3);  // milliseconds
    if (std::isnan(figure.layers[2].y[i])) {
      EXPECT_TRUE(values[i]["y"].is_null());
    } else {
      EXPECT_EQ(values[i]["y"].get<double>(), figure.layers[2].y[i]);
    }
  }
  const json bars = json::parse(vega_lite_of(sample_shares()));
  const json& first = bars["layer"][0]["data"]["values"][0];
  EXPECT_EQ(first["x"], 0.0);
  EXPECT_EQ(first["x2"], 4.1);
  EXPECT_DOUBLE_EQ(first["y"].get<double>(), -0.35);
}

}  // namespace
}  // namespace ick
