#include "train/roles.h"

#include <algorithm>

#include "ick/base/text.h"
#include "ick/base/unit.h"

namespace ick {

namespace {

bool is_one_of(const std::string& column, const std::vector<std::string>& names) {
  std::string lower = column;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return contains(names, lower);
}

}  // namespace

bool names_north(const std::string& column) { return is_one_of(column, {"lat", "latitude", "northing"}); }
bool names_east(const std::string& column) { return is_one_of(column, {"lon", "lng", "long", "longitude", "easting"}); }

bool measures_time(const Column& column, const FitOptions& options) {
  const auto unit = options.units.find(column.info.name);
  return column.info.type == ColumnType::time || (unit != options.units.end() && is_time_unit(unit->second));
}

}  // namespace ick
