#include "train/roles.h"

#include "ick/base/unit.h"

namespace ick {

bool measures_time(const Column& column, const FitOptions& options) {
  const auto unit = options.units.find(column.info.name);
  return column.info.type == ColumnType::time || (unit != options.units.end() && is_time_unit(unit->second));
}

}  // namespace ick
