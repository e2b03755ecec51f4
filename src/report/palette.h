#pragma once

#include <string>
#include <string_view>

#include "ick/report/figure.h"

namespace ick::detail {

// model, of Tone::model: its CSS class is tone-model, and a variable of that name has its colour.
std::string_view tone_name(Tone tone);

// The tone in light colours, "#0072b2".
std::string_view tone_colour(Tone tone);

// Declarations of all colours as CSS variables.
std::string colour_variables(bool dark);

// Rules of what is drawn, which name colours by variables, or are in light colours where `literal`: for readers of SVG
// that know no variables.
std::string drawing_rules(bool literal);

// Colour of a value between zero and one: dark blue to yellow, even to the eye and to those who see fewer colours; where
// values diverge, blue to red with light grey at one half.
std::string map_colour(double part, bool diverging);

}  // namespace ick::detail
