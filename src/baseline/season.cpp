#include "baseline/season.h"

#include <ATen/ATen.h>

#include <cmath>

#include "baseline/kinds.h"
#include "ick/base/unit.h"

namespace ick {

Rhythm rhythm_of(const BaselineTask& task, const BaselineRoles& roles, double turns) {
  const Numbers& values = task.table.column(roles.time).values;
  std::vector<double> times;
  for (std::int64_t i = 0; i < task.table.rows; ++i) {
    if (task.plan.training[i] && !std::isnan(values[i])) times.push_back(values[i]);
  }
  return rhythm_of(std::move(times), convert(1.0, "d", roles.time_unit).value_or(0.0), roles.periods, turns);
}

SeasonRows::SeasonRows(const Dataset& rows, bool learned)
    : times(numbers_of(rows.x.select(1, 0))), series(series_of(rows)) {
  if (learned) y = numbers_of(rows.targets()), weights = numbers_of(weights_or_one(rows));
}

}  // namespace ick
