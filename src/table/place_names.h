#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ick/base/text.h"

// Columns that are known by their names, whatever their case, to hold places.
namespace ick {

namespace detail {

inline bool is_one_of(std::string name, const std::vector<std::string>& names) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return contains(names, name);
}

}  // namespace detail

// Degrees.
inline bool is_latitude(const std::string& column) { return detail::is_one_of(column, {"lat", "latitude"}); }
inline bool is_longitude(const std::string& column) {
  return detail::is_one_of(column, {"lon", "lng", "long", "longitude"});
}

// Degrees, or lengths on a plane.
inline bool is_south_to_north(const std::string& column) {
  return is_latitude(column) || detail::is_one_of(column, {"northing"});
}
inline bool is_west_to_east(const std::string& column) {
  return is_longitude(column) || detail::is_one_of(column, {"easting"});
}

}  // namespace ick
