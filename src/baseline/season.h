#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "baseline/roles.h"
#include "dataset/rhythm.h"

namespace ick {

// Of the times of the rows to learn from, in the unit of their column, with the periods that the formula states.
Rhythm rhythm_of(const BaselineTask& task, const BaselineRoles& roles, double turns);

// Times, series and targets of rows.
struct SeasonRows {
  std::vector<double> times, y, weights;  // the latter two of rows to learn from
  std::vector<std::int64_t> series;

  SeasonRows(const Dataset& rows, bool learned);
};

}  // namespace ick
