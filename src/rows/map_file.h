#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rows/placed_raster.h"

namespace ick::detail {

// What a file of a map says of its cells.
struct MapLayout {
  std::int64_t width = 0, height = 0;
  std::array<double, 6> place{};  // x = p0 + p1 column + p2 row, y = p3 + p4 column + p5 row
  std::string wkt;                // "" without a coordinate system
  bool degrees = false;           // of x and y
  struct Band {
    std::string name, text, unit;
  };
  std::vector<Band> bands;
  std::vector<double> times;  // days since 1970; empty without
};

// A map under way: nothing at its place until finish(). Bands are 32-bit numbers, not a number where there is no value.
class MapFile {
 public:
  virtual ~MapFile() = default;
  virtual void write(std::int64_t time, const CellWindow& window, const std::vector<std::vector<float>>& bands) = 0;
  virtual void finish() = 0;
};

std::unique_ptr<MapFile> create_geotiff(const std::string& path, const MapLayout& layout);
std::unique_ptr<MapFile> create_netcdf(const std::string& path, const MapLayout& layout);  // of rows along parallels

std::string wkt_of_degrees();                        // WGS84
std::string name_of_system(const std::string& wkt);  // "WGS 84 / UTM zone 43N"
bool is_geographic(const std::string& wkt);

}  // namespace ick::detail
