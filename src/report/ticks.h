#pragma once

#include <string>
#include <vector>

#include "ick/report/figure.h"

namespace ick::detail {

struct Tick {
  double at = 0.0;
  std::string text;
  std::string below;  // what the text leaves out, where it changes: the year of a month, the day of an hour
};

// Round places between low and high, not many more than `most`. Decimal steps of 1, 2 and 5; powers of ten; seconds,
// hours, days, weeks, months, years of the calendar; levels by their index.
std::vector<Tick> ticks_of(const Axis& axis, double low, double high, int most);

// A number on an axis whose labels are `step` apart and reach to `largest`: 0.25, 12,500, 2.5e-8.
std::string tick_text(double value, double step, double largest);

}  // namespace ick::detail
