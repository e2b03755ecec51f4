#include "pixels.h"

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"

namespace ick::detail {

std::int64_t Pixels::memory() const { return static_cast<std::int64_t>(bytes.size() + sizeof(float) * numbers.size()); }

void Pixels::copy(float* to) const {
  if (bytes.empty()) {
    std::copy(numbers.begin(), numbers.end(), to);
  } else {
    std::copy(bytes.begin(), bytes.end(), to);
  }
}

Window fitted_window(ImageSettings::Fit fit, std::int64_t height, std::int64_t width, const ImageShape& shape) {
  if (fit == ImageSettings::Fit::resize) return {0, 0, height, width};
  if (height < shape.height || width < shape.width) {
    throw DataError("is " + std::to_string(width) + " x " + std::to_string(height) +
                    " pixels, too small for fit=crop to cut " + std::to_string(shape.width) + " x " +
                    std::to_string(shape.height) + " out of it; use fit=resize, or a smaller size=[height, width]");
  }
  return {(height - shape.height) / 2, (width - shape.width) / 2, shape.height, shape.width};
}

std::string count_of_channels(std::int64_t channels) {
  return std::to_string(channels) + (channels == 1 ? " channel" : " channels");
}

void check_channels(std::int64_t channels, const ImageShape& shape) {
  if (channels == shape.channels) return;
  throw DataError("has " + count_of_channels(channels) + ", the others have " + std::to_string(shape.channels) +
                  "; save it like the others, or choose channels that all have, as in bands=[1]");
}

namespace {

struct Weights {
  std::int64_t first = 0;
  std::vector<double> of;  // pixels first, first + 1, ...; they add up to one
};

std::vector<Weights> triangles(std::int64_t from, std::int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to), reach = std::max(step, 1.0);
  std::vector<Weights> all(static_cast<std::size_t>(to));
  for (std::int64_t o = 0; o < to; ++o) {
    const double centre = (static_cast<double>(o) + 0.5) * step - 0.5;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(centre - reach)));
    const auto last = std::min<std::int64_t>(from - 1, static_cast<std::int64_t>(std::floor(centre + reach)));
    Weights& weights = all[static_cast<std::size_t>(o)];
    weights.first = first;
    double total = 0.0;
    for (std::int64_t i = first; i <= last; ++i) {
      weights.of.push_back(1.0 - std::abs(static_cast<double>(i) - centre) / reach);
      total += weights.of.back();
    }
    for (double& weight : weights.of) weight /= total;
  }
  return all;
}

}  // namespace

void resize(const Window& from, const std::function<float(std::int64_t, std::int64_t)>& value, std::int64_t height,
            std::int64_t width, float* to) {
  if (from.height == height && from.width == width) {
    for (std::int64_t row = from.top; row < from.top + height; ++row) {
      for (std::int64_t column = from.left; column < from.left + width; ++column) *to++ = value(row, column);
    }
    return;
  }
  const std::vector<Weights> across = triangles(from.width, width), down = triangles(from.height, height);
  // Rows of the old image, brought to the new width, are made once and dropped when no longer needed.
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(from.height));
  for (std::int64_t y = 0; y < height; ++y) {
    const Weights& weights = down[static_cast<std::size_t>(y)];
    std::vector<double> sum(static_cast<std::size_t>(width), 0.0);
    for (std::size_t k = 0; k < weights.of.size(); ++k) {
      const std::int64_t i = weights.first + static_cast<std::int64_t>(k);
      std::vector<double>& row = rows[static_cast<std::size_t>(i)];
      if (row.empty()) {
        for (const Weights& each : across) {
          double pixel = 0.0;
          for (std::size_t j = 0; j < each.of.size(); ++j) {
            pixel += each.of[j] * value(from.top + i, from.left + each.first + static_cast<std::int64_t>(j));
          }
          row.push_back(pixel);
        }
      }
      for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += weights.of[k] * row[x];
    }
    for (const double pixel : sum) *to++ = static_cast<float>(pixel);
    if (y + 1 == height) break;
    for (std::int64_t i = weights.first; i < down[static_cast<std::size_t>(y + 1)].first; ++i) {
      rows[static_cast<std::size_t>(i)] = {};
    }
  }
}

}  // namespace ick::detail
