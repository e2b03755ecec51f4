#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "ick/table/image.h"

namespace ick::detail {

// The numbers of an image, (C, H, W): one byte each where the file has bytes.
struct Pixels {
  std::vector<std::uint8_t> bytes;
  std::vector<float> numbers;  // when there are no bytes

  std::int64_t memory() const;
  void copy(float* to) const;
};

struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// The part of an image of this size that becomes one of `shape`: all of it, or its centre. DataError when the centre
// cannot be cut out of a smaller image.
Window fitted_window(ImageSettings::Fit fit, std::int64_t height, std::int64_t width, const ImageShape& shape);

// DataError unless there are as many channels as the other images have.
void check_channels(std::int64_t channels, const ImageShape& shape);

std::string count_of_channels(std::int64_t channels);  // "1 channel", "3 channels"

// One channel brought to another size by a triangle as wide as a pixel of the coarser grid, s pixels of the old one to
// a pixel of the new: linear interpolation to enlarge, a smooth mean to shrink.
//   to(o) = sum_i w_i from(i) / sum_i w_i,   w_i = max(0, 1 - |i + 1/2 - (o + 1/2) s| / max(s, 1)),   for both axes
void resize(const Window& from, const std::function<float(std::int64_t row, std::int64_t column)>& value,
            std::int64_t height, std::int64_t width, float* to);

// Gives pixels without a value the mean of the others. Where there are none, bytes become 0 and other numbers stay.
template <typename Number, typename IsMissing>
void fill_missing(Number* pixels, std::int64_t count, const IsMissing& is_missing) {
  double sum = 0.0;
  std::int64_t valid = 0;
  for (const Number* pixel = pixels; pixel < pixels + count; ++pixel) {
    if (is_missing(*pixel)) continue;
    sum += static_cast<double>(*pixel);
    ++valid;
  }
  if (valid == count || (valid == 0 && std::is_floating_point_v<Number>)) return;  // none at all: left as they are
  double mean = valid > 0 ? sum / static_cast<double>(valid) : 0.0;
  if constexpr (std::is_integral_v<Number>) mean = std::round(mean);
  std::replace_if(pixels, pixels + count, is_missing, static_cast<Number>(mean));
}

}  // namespace ick::detail
