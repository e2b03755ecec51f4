#pragma once

#include <string_view>

namespace ick {

// Columns whose names say that they are one of a place, whatever their case.
bool is_latitude(std::string_view column);   // lat, latitude
bool is_longitude(std::string_view column);  // lon, lng, long, longitude
bool runs_north(std::string_view column);    // a latitude, or northing
bool runs_east(std::string_view column);     // a longitude, or easting

}  // namespace ick
