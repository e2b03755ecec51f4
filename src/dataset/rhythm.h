#pragma once

#include <string>
#include <vector>

namespace ick {

// How much of a period the times have to show: every part of it twice; or once, and a part that comes again.
inline constexpr double kSeenTwice = 2.0, kSeenOnce = 1.25;

// How times go: all in one unit.
struct Rhythm {
  double step = 0.0, span = 0.0;  // median difference of neighbouring times; from the first to the last
  double day = 0.0;               // length of a day; 0: there is no unit of time
  std::vector<double> periods;    // that they can show, the shortest first
};
// Periods that are stated, and day, week and year: of at least two steps, seen at least `turns` times.
Rhythm rhythm_of(std::vector<double> times, double day, const std::vector<double>& stated, double turns);

// "day", "week", "year", or "10.5 d"
std::string period_text(double period, double day);

}  // namespace ick
