#pragma once

#include <memory>
#include <string>
#include <vector>

namespace ick::detail {

// Which places are inside: longitude and latitude, or x and y.
class Area {
 public:
  virtual ~Area() = default;
  virtual std::vector<bool> inside(const std::vector<double>& x, const std::vector<double>& y) const = 0;

  struct Box {
    double x_low, x_high, y_low, y_high;
  };
  virtual Box box() const = 0;
};

// By its content: areas of a GeoJSON file (Polygon and MultiPolygon, wherever they are; RFC 7946, longitude first, in
// degrees unless the model's places are others), or the cells of a raster that have a value. DataError names the file.
std::unique_ptr<Area> open_area(const std::string& path, bool degrees);

}  // namespace ick::detail
