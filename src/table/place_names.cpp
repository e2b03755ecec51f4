#include "ick/table/place_names.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace ick {
namespace {

bool is_one_of(std::string_view column, std::initializer_list<std::string_view> names) {
  std::string lower(column);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::find(names.begin(), names.end(), lower) != names.end();
}

}  // namespace

bool is_latitude(std::string_view column) { return is_one_of(column, {"lat", "latitude"}); }
bool is_longitude(std::string_view column) { return is_one_of(column, {"lon", "lng", "long", "longitude"}); }
bool runs_north(std::string_view column) { return is_latitude(column) || is_one_of(column, {"northing"}); }
bool runs_east(std::string_view column) { return is_longitude(column) || is_one_of(column, {"easting"}); }

}  // namespace ick
