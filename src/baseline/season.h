#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "baseline/roles.h"

namespace ick {

// How much of a period the times have to show: every part of it twice; or once, and a part that comes again.
inline constexpr double kSeenTwice = 2.0, kSeenOnce = 1.25;

// How the times of the rows to learn from go: all in the unit of their column.
struct Rhythm {
  double step = 0.0, span = 0.0;  // median difference of neighbouring times; from the first to the last
  double day = 0.0;               // length of a day; 0: the column has no unit of time
  std::vector<double> periods;    // that it can show, the shortest first
};
// Periods that the formula states, and day, week and year: of at least two steps, seen at least `turns` times.
Rhythm rhythm_of(const BaselineTask& task, const BaselineRoles& roles, double turns);

// Times, series and targets of rows.
struct SeasonRows {
  std::vector<double> times, y, weights;  // the latter two of rows to learn from
  std::vector<std::int64_t> series;

  SeasonRows(const Dataset& rows, bool learned);
};

// "day", "week", "year", or "10.5 d"
std::string period_text(double period, double day);

}  // namespace ick
