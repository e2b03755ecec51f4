#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "ick/report/page.h"

// A page with every kind of part, as a report of hourly air quality might look. Numbers are made up.
namespace ick {

inline double wobble(int i) { return std::sin(12.9898 * i) * 0.5 + std::sin(78.233 * i + 1.7) * 0.5; }  // like noise

inline Figure sample_series(int rows = 240) {
  Figure figure;
  figure.id = "series";
  figure.title = "Predicted and observed over time";
  figure.caption = "The line should run through the points and nine points in ten should lie in the band; 88% do here.";
  figure.x = {"date", AxisScale::time, {}, {}, {}};
  figure.y = {"pm25 (ug/m3)", AxisScale::linear, {}, {}, {}};
  figure.zoom = true;
  figure.aspect = 2.4;
  PlotLayer band{Mark::band, Tone::model, "90% interval", {}, {}, {}, {}, {}, {}}, line = band, points = band;
  line.mark = Mark::line;
  line.name = "predicted";
  points.mark = Mark::points;
  points.tone = Tone::data;
  points.name = "observed";
  for (int i = 0; i < rows; ++i) {
    const double day = 17897.0 + i,
                 mean = 34.0 + 18.0 * std::cos(2.0 * std::numbers::pi * i / 365.25) + 4.0 * std::sin(i / 9.0);
    const bool gap = i > rows / 2 && i < rows / 2 + 12;
    band.x.push_back(day);
    band.y.push_back(gap ? NAN : mean - 9.0);
    band.y2.push_back(gap ? NAN : mean + 9.0);
    line.x.push_back(day);
    line.y.push_back(gap ? NAN : mean);
    points.x.push_back(day);
    points.y.push_back(gap ? NAN : mean + 8.0 * wobble(i));
  }
  figure.layers = {band, points, line};
  return figure;
}

inline Figure sample_scatter() {
  Figure figure;
  figure.id = "predicted-observed";
  figure.title = "Predicted against observed";
  figure.caption =
      "Points should lie about the diagonal, without a bend. Here they do; the highest values are predicted too low.";
  figure.x = {"predicted pm25 (ug/m3)", AxisScale::linear, {}, {}, {}};
  figure.y = {"observed pm25 (ug/m3)", AxisScale::linear, {}, {}, {}};
  figure.square = true;
  PlotLayer diagonal{Mark::line, Tone::reference, "equal", {2, 78}, {2, 78}, {}, {}, {}, {}};
  PlotLayer points{Mark::points, Tone::model, "rows", {}, {}, {}, {}, {}, {}};
  for (int i = 0; i < 300; ++i) {
    const double mean = 36.0 + 30.0 * wobble(3 * i + 1);
    points.x.push_back(mean);
    points.y.push_back(mean + 6.0 * wobble(i));
    points.text.push_back("row " + std::to_string(i + 1));
  }
  figure.layers = {diagonal, points};
  return figure;
}

inline Figure sample_coverage() {
  Figure figure;
  figure.id = "pit";
  figure.title = "Where observations fall in their distributions";
  figure.caption =
      "All bars should be about as high as the line. The outer ones are higher: intervals are a little narrow.";
  figure.x = {"probability integral transform", AxisScale::linear, 0.0, 1.0, {}};
  figure.y = {"rows", AxisScale::linear, {}, {}, {}};
  figure.aspect = 1.2;
  PlotLayer bars{Mark::bars, Tone::model, "", {}, {}, {}, {}, {}, {}};
  for (int i = 0; i < 10; ++i) {
    bars.x.push_back(0.1 * i);
    bars.x2.push_back(0.1 * (i + 1));
    bars.y.push_back(30.0 + 9.0 * std::abs(i - 4.5) / 4.5 + 3.0 * wobble(i));
  }
  figure.layers = {bars, {Mark::rule, Tone::reference, "expected", {}, {33.0}, {}, {}, {}, {}}};
  return figure;
}

inline Figure sample_shares() {
  Figure figure;
  figure.id = "importance";
  figure.title = "What each column adds";
  figure.caption = "How much worse predictions of rows not seen become when a column is shuffled. The image adds most.";
  figure.x = {"rise of RMSE (ug/m3)", AxisScale::linear, {}, {}, {}};
  figure.y = {"",
              AxisScale::levels,
              {},
              {},
              {"image", "date", "lat, lon", "a column with a name so long that it has to be cut", "wind <script>"}};
  figure.layers = {{Mark::bars, Tone::model, "", {4.1, 2.7, 1.2, 0.3, -0.05}, {0, 1, 2, 3, 4}, {}, {}, {}, {}}};
  return figure;
}

inline Figure sample_map() {
  Figure figure;
  figure.id = "map-residuals";
  figure.title = "Residuals by place";
  figure.caption =
      "Colours should be mixed. Red places are under-predicted: there are few of them, and not side by side.";
  figure.x = {"longitude", AxisScale::linear, {}, {}, {}};
  figure.y = {"latitude", AxisScale::linear, {}, {}, {}};
  figure.colour = {"residual (ug/m3)", {}, {}, 0.0};
  figure.coastline = true;
  PlotLayer points{Mark::points, Tone::model, "", {}, {}, {}, {}, {}, {}};
  for (int i = 0; i < 120; ++i) {
    points.x.push_back(6.0 + 20.0 * std::fabs(wobble(i)) + 2.0 * wobble(7 * i));
    points.y.push_back(47.0 + 6.0 * wobble(11 * i + 3));
    points.value.push_back(10.0 * wobble(5 * i + 2));
  }
  figure.layers = {points, {Mark::labels, Tone::data, "", {13.4, 9.2}, {52.5, 45.5}, {}, {}, {}, {"Berlin", "Milano"}}};
  return figure;
}

inline Figure sample_heat_map() {
  Figure figure;
  figure.id = "kernel-matrix";
  figure.title = "Covariance of hour and weekday";
  figure.caption = "Bright cells vary together. The week-end stands apart.";
  figure.x = {"hour", AxisScale::linear, {}, {}, {}};
  figure.y = {"", AxisScale::levels, {}, {}, {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}};
  figure.colour = {"covariance", {}, {}, {}};
  PlotLayer cells{Mark::cells, Tone::model, "", {}, {}, {}, {}, {}, {}};
  for (int day = 0; day < 7; ++day) {
    for (int hour = 0; hour < 24; ++hour) {
      cells.x.push_back(hour);
      cells.y.push_back(day);
      cells.value.push_back(std::exp(-std::pow((hour - 12.0 - (day > 4 ? 3 : 0)) / 6.0, 2)) * (day > 4 ? 0.6 : 1.0));
    }
  }
  figure.layers = {cells};
  return figure;
}

inline Figure sample_spectrum() {
  Figure figure;
  figure.id = "eigenvalues";
  figure.title = "Eigenvalues of the kernel matrix";
  figure.caption = "Where they fall below the noise, more features add nothing: 40 are enough here.";
  figure.x = {"number", AxisScale::logarithmic, {}, {}, {}};
  figure.y = {"eigenvalue", AxisScale::logarithmic, {}, {}, {}};
  PlotLayer line{Mark::line, Tone::second, "Matern-3/2", {}, {}, {}, {}, {}, {}}, other = line;
  other.tone = Tone::third;
  other.name = "periodic";
  for (int i = 1; i <= 128; ++i) {
    line.x.push_back(i);
    line.y.push_back(40.0 * std::pow(i, -4.0));
    other.x.push_back(i);
    other.y.push_back(40.0 * std::exp(-0.14 * i));
  }
  figure.layers = {line, other, {Mark::rule, Tone::reference, "noise", {}, {1e-3}, {}, {}, {}, {}}};
  return figure;
}

inline Page sample_page() {
  Page page;
  page.title = "pm25 ~ cnn(image) * periodic(date, period=1y) + matern32(lat, lon)";
  page.subtitle = "2,400 rows of air.csv, 120 stations, 2019-01-01 to 2019-08-28";
  page.verdict =
      "The model explains 81% of the variance of rows that it has not seen, against 64% by the best baseline. "
      "Its 90% intervals contain 88% of them.";
  page.remarks = {
      {Remark::Kind::good, "The network's prior and the kernel's agree in scale."},
      {Remark::Kind::warning, "12 rows lie farther from all others than anything the model has learned from."},
      {Remark::Kind::note, "Times are read as UTC."}};
  page.headline = {{"scores",
                    "Rows left out in five blocks of time; beside each the best of six baselines.",
                    {"score", "model", "baseline", "left"},
                    {{{"RMSE (ug/m3)", {}}, {"5.21", 5.2137}, {"7.36", 7.358}, {"", {}}},
                     {{"R2", {}}, {"0.812", 0.8123}, {"0.641", 0.6408}, {"", {}}},
                     {{"Coverage of 90%", {}}, {"88.1%", 0.881}, {"91.0%", 0.91}, {"", {}}},
                     {{"CRPS (ug/m3)", {}}, {"2.90", 2.8991}, {"4.02", 4.0199}, {"", {}}}},
                    0}};
  Section scores{"scores", "How good are the predictions?", {}};
  scores.parts.push_back(
      Paragraph{"Scores are those of rows left out, in blocks of four weeks, so that neighbours in time do not help."});
  scores.parts.push_back(
      TextTable{"comparison",
                "The model and what is simple. Lower is better.",
                {"model", "RMSE", "CRPS", "coverage", "seconds"},
                {{{"this formula", {}}, {"5.21", 5.2137}, {"2.90", 2.8991}, {"88.1%", 0.881}, {"212", 212.4}},
                 {{"boosting", {}}, {"7.36", 7.358}, {"4.02", 4.0199}, {"91.0%", 0.91}, {"4", 4.1}},
                 {{"mean of the station", {}}, {"9.90", 9.9}, {"5.61", 5.61}, {"90.2%", 0.902}, {"0", 0.02}}},
                0});
  scores.parts.push_back(sample_scatter());
  scores.parts.push_back(sample_coverage());
  scores.parts.push_back(sample_series());
  Section terms{"terms", "What did season, place and image add?", {}};
  terms.parts.push_back(sample_shares());
  terms.parts.push_back(sample_heat_map());
  terms.parts.push_back(sample_spectrum());
  Section place{"place", "Where is it wrong?", {sample_map()}};
  Section again{"repeat", "How to repeat this", {}};
  again.parts.push_back(
      CommandLine{"ick fit air.csv 'pm25 ~ cnn(image) * periodic(date, period=1y) + matern32(lat, lon)' \\\n  --seed 7 "
                  "--out model"});
  TextTable settings{"settings", "All settings.", {"setting", "value"}, {}, {}};
  for (int i = 0; i < 60; ++i)
    settings.rows.push_back({{"setting_" + std::to_string(i), {}}, {std::to_string(i * i), double(i * i)}});
  again.parts.push_back(settings);
  page.sections = {scores, terms, place, again};
  return page;
}

// What a table may contain, in every place of a page.
inline Page hostile_page() {
  const std::vector<std::string> texts = {"<script>document.title = 'owned'</script>",
                                          "\"><img src=x onerror=\"document.title = 'owned'\">",
                                          "</style><script>document.title = 'owned'</script>",
                                          "' onmouseover='document.title = \"owned\"",
                                          "</title></svg></script><script>document.title = 'owned'</script>",
                                          "javascript:document.title='owned'",
                                          std::string(10000, 'W'),
                                          "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D \xE2\x80\xAEtxt.exe",
                                          std::string("a\0b\x1B[31mc\x07\xFF\xC0\x80", 14),
                                          "&lt;b&gt; &amp; ]]> <!-- {{x}} ${x} %s"};
  Page page;
  page.title = texts[0] + texts[6];
  page.subtitle = texts[1];
  page.verdict = texts[2];
  for (const std::string& text : texts) page.remarks.push_back({Remark::Kind::warning, text});
  TextTable table{texts[3], texts[4], texts, {}, 0};
  for (const std::string& text : texts) table.rows.push_back({{text, 1.0}, {text, {}}});
  page.headline = {table};
  for (const std::string& text : texts) {
    Figure figure;
    figure.id = figure.title = figure.caption = figure.x.title = figure.y.title = figure.colour.title = text;
    figure.x.scale = AxisScale::levels;
    figure.x.levels = texts;
    figure.layers = {{Mark::points, Tone::model, text, {0, 1, 2}, {1, 2, 3}, {}, {}, {1, 2, 3}, {text, text, text}},
                     {Mark::bars, Tone::second, text, {0, 1}, {1, 2}, {}, {}, {}, {text}},
                     {Mark::labels, Tone::data, text, {0}, {2}, {}, {}, {}, {text}}};
    page.sections.push_back({text, text, {Paragraph{text}, figure, table, CommandLine{text}}});
  }
  return page;
}

}  // namespace ick
