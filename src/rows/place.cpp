#include "rows/place.h"

#include <fmt/format.h>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/table/place_names.h"

namespace ick::detail {

Place place_of(const std::vector<std::string>& columns) {
  const std::string &a = columns.at(0), &b = columns.at(1);
  const bool turned = runs_north(a) || runs_east(b) || ((a == "y" || a == "Y") && (b == "x" || b == "X"));
  Place place = turned ? Place{b, a} : Place{a, b};
  place.degrees = is_longitude(place.x) && is_latitude(place.y);
  return place;
}

Place find_place(const DataSummary& summary, const std::vector<std::string>& columns) {
  if (!columns.empty()) {
    if (columns.size() != 2 || columns[0] == columns[1]) {
      throw UsageError(setting("columns") + ": a map has two columns of a place, as in lat,lon");
    }
    for (const std::string& name : columns) {
      const ColumnType type = summary.column(name).info.type;
      if (type == ColumnType::number || type == ColumnType::integer) continue;
      throw UsageError(setting("columns") + ": \"" + name + "\" is not a column of numbers");
    }
    return place_of(columns);
  }
  std::string north, east, x, y;
  for (const ColumnSummary& each : summary.columns) {
    const std::string& name = each.info.name;
    if (runs_north(name)) north = name;
    if (runs_east(name)) east = name;
    if (name == "x" || name == "X") x = name;
    if (name == "y" || name == "Y") y = name;
  }
  if (!north.empty() && !east.empty()) return place_of({east, north});
  if (!x.empty() && !y.empty()) return place_of({x, y});
  std::vector<std::string> names;
  for (const ColumnSummary& each : summary.columns) names.push_back(each.info.name);
  throw UsageError("the model reads no place by name (lat and lon, northing and easting, x and y), but " +
                   join_words(names) +
                   "; say which two columns a map has, x first: " + setting("columns", "east,north"));
}

void check_range(const Place& place, double x_low, double x_high, double y_low, double y_high) {
  constexpr double kHair = 1e-9;
  if (!place.degrees) return;
  if (y_low < -90.0 - kHair || y_high > 90.0 + kHair) {
    throw UsageError(fmt::format("the grid reaches from latitude {} to {}, beyond a pole; expected -90 to 90",
                                 number_text(y_low), number_text(y_high)));
  }
  if (x_low < -360.0 - kHair || x_high > 720.0 + kHair || x_high - x_low > 360.0 + kHair) {
    throw UsageError(fmt::format("the grid reaches from longitude {} to {}; expected at most one turn around the Earth",
                                 number_text(x_low), number_text(x_high)));
  }
}

}  // namespace ick::detail
