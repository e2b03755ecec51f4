#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "table/gdal_image.h"

namespace ick::detail {

// A rectangle of cells.
struct CellWindow {
  std::int64_t left = 0, top = 0, width = 0, height = 0;
  std::int64_t cells() const { return width * height; }
};

// A raster with a place, of which only is asked where its cells are and which have a value. Opened as images are: no
// other files, no network. DataErrors name the file. Not for use from several threads at once.
class PlacedRaster {
 public:
  // `degrees`: places are longitude and latitude (WGS84), whatever the raster's coordinates; else they are these.
  PlacedRaster(const std::string& path, bool degrees);
  ~PlacedRaster();

  std::int64_t width() const { return image_->width(); }
  std::int64_t height() const { return image_->height(); }
  const std::array<double, 6>& place() const {
    return place_;
  }                         // x = p0 + p1 column + p2 row, y = p3 + p4 column + p5 row
  std::string wkt() const;  // "" without a coordinate system

  // From the raster's coordinates to places and back, in their place; infinite where there are none.
  void to_places(std::vector<double>& x, std::vector<double>& y) const;
  void from_places(std::vector<double>& x, std::vector<double>& y) const;

  // Cells with a value in all that the file says of it: nodata, mask, alpha.
  std::vector<bool> with_value(const CellWindow& window) const;

 private:
  std::string path_;
  std::unique_ptr<GdalImage> image_;
  std::array<double, 6> place_{};
  struct Transformations;
  std::unique_ptr<Transformations> transformations_;  // null where places are the raster's coordinates
};

}  // namespace ick::detail
