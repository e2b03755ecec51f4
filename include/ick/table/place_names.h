#pragma once

#include <string_view>

namespace ick {

// Columns whose names say that they are one of a place, whatever their case.
bool runs_north(std::string_view column);  // lat, latitude, northing
bool runs_east(std::string_view column);   // lon, lng, long, longitude, easting

}  // namespace ick
