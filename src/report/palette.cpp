#include "report/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace ick::detail {
namespace {

struct Colour {
  std::string_view name, light, dark;
};

// Tones in the order of the enum, after Okabe and Ito (2008), which people who see fewer colours tell apart; then what
// pages and axes are made of.
constexpr std::array kColours = {
    Colour{"data", "#48535f", "#aab6c2"},      Colour{"model", "#0068a8", "#58b4ee"},
    Colour{"second", "#d97a00", "#f2aa3f"},    Colour{"third", "#a8488c", "#dd8fc3"},
    Colour{"good", "#00855f", "#3cc79b"},      Colour{"bad", "#c0401c", "#ff8460"},
    Colour{"reference", "#5f6b77", "#98a4b1"}, Colour{"quiet", "#b9c2cb", "#4d5965"},
    Colour{"page", "#ffffff", "#12171d"},      Colour{"panel", "#f5f7f9", "#1a2129"},
    Colour{"ink", "#1b232c", "#e6ebf0"},       Colour{"muted", "#56626e", "#a3afbb"},
    Colour{"border", "#dce2e8", "#2f3943"},    Colour{"grid", "#e6eaee", "#28313b"},
    Colour{"land", "#eceef0", "#222a33"},      Colour{"coast", "#a9b3bd", "#5a6672"},
};

// Colours are named by variables; a standalone picture has them replaced.
constexpr std::string_view kDrawingRules = R"css(
.figure { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", Arial, sans-serif; }
.figure text { font-size: 12px; fill: var(--muted); }
.figure .title { font-size: 15px; font-weight: 600; fill: var(--ink); }
.figure .axis-title, .figure .legend text { fill: var(--ink); }
.figure .paper { fill: var(--page); }
.grid { stroke: var(--grid); stroke-width: 1; fill: none; }
.base { stroke: var(--reference); stroke-width: 1; fill: none; }
.land { fill: var(--land); stroke: var(--coast); stroke-width: 0.8; stroke-linejoin: round; }
.coast { fill: none; stroke: var(--coast); stroke-width: 0.8; stroke-linejoin: round; }
.line path { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line.tone-reference path, .rule.tone-reference path { stroke-width: 1.3; stroke-dasharray: 5 4; stroke-linecap: butt; }
.line.tone-data path { stroke-width: 1.4; }
.line.tone-quiet path { stroke-width: 1.2; }
.line.many path { stroke-width: 1.2; }
.band path { fill: currentColor; fill-opacity: 0.2; stroke: none; }
.points { fill: none; stroke: currentColor; stroke-linecap: round; stroke-width: 7; stroke-opacity: 0.85; }
.points.many { stroke-width: 4.6; stroke-opacity: 0.55; }
.points.crowd { stroke-width: 3; stroke-opacity: 0.4; }
.points.coloured { stroke-opacity: 1; }
.points .rim { stroke: var(--muted); stroke-width: 8.6; }
.points.many .rim { stroke-width: 6; }
.points.crowd .rim { stroke-width: 4; }
.bars path { fill: currentColor; fill-opacity: 0.85; stroke: var(--page); stroke-width: 0.6; }
.bars.tone-quiet path { fill-opacity: 1; }
.cells { fill: currentColor; stroke: none; shape-rendering: crispEdges; }
.rule path { fill: none; stroke: currentColor; stroke-width: 1.3; }
.figure .labels text { fill: var(--ink); font-size: 11px; paint-order: stroke; stroke: var(--page); stroke-width: 3px;
  stroke-opacity: 0.8; stroke-linejoin: round; }
.figure .empty { font-style: italic; }
)css";

constexpr std::string_view kReplaceable = "var(--";

std::string_view light_colour(std::string_view name) {
  const auto found =
      std::find_if(kColours.begin(), kColours.end(), [&](const Colour& each) { return each.name == name; });
  return found->light;
}

struct Stop {
  double red, green, blue;
};

// matplotlib's viridis and a blue to red after Moreland (2009), at even distances.
constexpr std::array<Stop, 9> kSequential = {{{68, 1, 84},
                                              {71, 44, 122},
                                              {59, 81, 139},
                                              {44, 113, 142},
                                              {33, 144, 141},
                                              {39, 173, 129},
                                              {92, 200, 99},
                                              {170, 220, 50},
                                              {253, 231, 37}}};
constexpr std::array<Stop, 9> kDiverging = {{{33, 74, 148},
                                             {67, 118, 186},
                                             {123, 166, 213},
                                             {184, 207, 230},
                                             {232, 232, 230},
                                             {243, 199, 176},
                                             {230, 146, 114},
                                             {202, 85, 65},
                                             {152, 24, 38}}};

}  // namespace

std::string_view tone_name(Tone tone) { return kColours[static_cast<std::size_t>(tone)].name; }

std::string_view tone_colour(Tone tone) { return kColours[static_cast<std::size_t>(tone)].light; }

std::string colour_variables(bool dark) {
  std::string text;
  for (const Colour& each : kColours) text += fmt::format("--{}: {}; ", each.name, dark ? each.dark : each.light);
  return text;
}

std::string drawing_rules(bool literal) {
  std::string rules(kDrawingRules);
  for (std::size_t tone = 0; tone <= static_cast<std::size_t>(Tone::quiet); ++tone) {
    rules += fmt::format(".tone-{0} {{ color: var(--{0}); }}\n", kColours[tone].name);
  }
  for (std::size_t at = 0; literal && (at = rules.find(kReplaceable, at)) != std::string::npos;) {
    const std::size_t end = rules.find(')', at), start = at + kReplaceable.size();
    rules.replace(at, end + 1 - at, light_colour(std::string_view(rules).substr(start, end - start)));
  }
  return rules;
}

std::string map_colour(double part, bool diverging) {
  const std::array<Stop, 9>& stops = diverging ? kDiverging : kSequential;
  const double place = std::clamp(part, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double weight = place - static_cast<double>(first);
  const auto mixed = [&](double Stop::*channel) {
    return static_cast<int>(std::lround((1.0 - weight) * stops[first].*channel + weight * stops[first + 1].*channel));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(&Stop::red), mixed(&Stop::green), mixed(&Stop::blue));
}

}  // namespace ick::detail
