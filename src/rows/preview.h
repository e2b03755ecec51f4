#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rows/placed_raster.h"

namespace ick::detail {

// A small picture of a map, at most 1024 pixels wide and high: means of the cells under each pixel, while they come.
// Cells of a small map are several pixels wide.
class Preview {
 public:
  Preview(std::int64_t width, std::int64_t height);
  void add(const CellWindow& window, const std::vector<float>& values);

  // A PNG file: dark for small values, bright for large ones, from the 1st to the 99th percentile of the pixels;
  // transparent where there is no value.
  void write(const std::string& path) const;

 private:
  std::int64_t cells_;  // along the side of a pixel
  std::int64_t width_, height_;
  std::vector<double> sums_;
  std::vector<std::int64_t> counts_;
};

}  // namespace ick::detail
