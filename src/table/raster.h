#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gdal_image.h"
#include "ick/table/image.h"

namespace ick::detail {

struct DestroyTransformation {
  void operator()(void* transformation) const;
};

// A raster with a place on Earth, of which patches are cut. Safe to use from several threads. DataErrors say what is
// wrong with the raster, and leave it to others to name it.
class Raster {
 public:
  explicit Raster(const ImageFile& file);

  // The pixel, row * width + column, that holds each place (degrees, WGS84); -1 when it is outside.
  std::vector<std::int64_t> locate(std::vector<double> latitude, std::vector<double> longitude) const;

  std::int64_t channels(const std::vector<int>& bands) const { return image_.channels(bands); }

  // Rows [centre - H/2, centre - H/2 + H), columns likewise. Beyond an edge its pixels are repeated; a raster around
  // the whole Earth goes on at its other side.
  Pixels patch(std::int64_t centre, const std::vector<int>& bands, const ImageShape& shape) const;

 private:
  GdalImage image_;
  mutable std::mutex mutex_;  // of the image and the transformation
  std::unique_ptr<void, DestroyTransformation> transformation_;
  std::array<double, 6> to_pixel_{};  // column = t0 + t1 x + t2 y, row = t3 + t4 x + t5 y
  bool has_longitudes_ = false;       // x is in degrees along columns
  std::int64_t turn_ = 0;             // columns once around the Earth; 0 for a part of it
  double west_ = 0.0;
};

}  // namespace ick::detail
