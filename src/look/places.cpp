#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <tuple>
#include <utility>

#include "ick/table/place_names.h"
#include "parts.h"

namespace ick::detail {
namespace {

constexpr double kKilometresOfDegree = 111.195;  // of a sphere of radius 6371 km

// Degrees from the first to the last on the shortest arc that has them all.
double arc(const Numbers& longitudes, std::int64_t rows) {
  std::vector<double> around;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double value = longitudes[static_cast<std::size_t>(row)];
    if (!std::isnan(value)) around.push_back(value - 360.0 * std::floor(value / 360.0));
  }
  std::sort(around.begin(), around.end());
  double widest = around.front() + 360.0 - around.back();
  for (std::size_t i = 1; i < around.size(); ++i) widest = std::max(widest, around[i] - around[i - 1]);
  return 360.0 - widest;
}

// lat, longitude and the others, not northing and easting.
bool in_degrees(const std::string& name) { return name.front() == 'l' || name.front() == 'L'; }

}  // namespace

std::optional<PlaceLook> look_at_place(const Table& table, const std::vector<Codes>& codes) {
  const std::size_t none = table.columns.size();
  std::size_t north = none, east = none;
  for (std::size_t i = none; i-- > 0;) {
    const Column& column = table.columns[i];
    if (column.info.type != ColumnType::number && column.info.type != ColumnType::integer) continue;
    if (codes[i].count == 0) continue;
    if (runs_north(column.info.name)) north = i;
    if (runs_east(column.info.name)) east = i;
  }
  if (north == none || east == none) return std::nullopt;
  const Codes places = joined(codes[north], codes[east]);
  if (places.count < 2) return std::nullopt;  // nothing to tell apart
  const auto range = [&](std::size_t column) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : table.columns[column].values) low = std::fmin(low, value), high = std::fmax(high, value);
    return std::pair(low, high);
  };
  PlaceLook look;
  look.north = table.columns[north].info.name;
  look.east = table.columns[east].info.name;
  std::tie(look.south_low, look.north_high) = range(north);
  std::tie(look.west_low, look.east_high) = range(east);
  look.sphere = in_degrees(look.north) && in_degrees(look.east) && look.south_low >= -90.0 && look.north_high <= 90.0 &&
                look.west_low >= -360.0 && look.east_high <= 720.0 && look.east_high - look.west_low <= 360.0;
  look.north_extent = look.north_high - look.south_low;
  look.east_extent = look.east_high - look.west_low;
  if (look.sphere) {
    const double middle = 0.5 * (look.south_low + look.north_high) * std::numbers::pi / 180.0;
    look.north_extent *= kKilometresOfDegree;
    look.east_extent =
        arc(table.columns[east].values, std::ssize(codes[east].of)) * kKilometresOfDegree * std::cos(middle);
  }
  look.places = places.count;
  const Sizes sizes = sizes_of(places.rows());
  look.least_rows = sizes.least, look.median_rows = sizes.median, look.most_rows = sizes.most;
  return look;
}

}  // namespace ick::detail
