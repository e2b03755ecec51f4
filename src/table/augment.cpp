#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ick/base/seed.h"
#include "ick/table/image.h"

namespace ick {

// A pixel at (x, y) from the centre of the new image is the old image's at
//   (u, v) = M R(-angle) ((x, y) - shift),   M = diag(+-1, +-1) the flips,   linear between pixels.
void augment(const Augmentation& augmentation, const ImageShape& shape, std::uint64_t seed, float* pixels) {
  if (!augmentation.any()) return;
  // All are drawn, in this order, whether used or not: one setting does not change what another does to an image.
  Random random(seed);
  const double mirror_x = random.uniform() < 0.5 && augmentation.flip_horizontal ? -1.0 : 1.0;
  const double mirror_y = random.uniform() < 0.5 && augmentation.flip_vertical ? -1.0 : 1.0;
  const double angle = augmentation.rotate * (2.0 * random.uniform() - 1.0) * std::numbers::pi / 180.0;
  const double shift_x = augmentation.shift * (2.0 * random.uniform() - 1.0);
  const double shift_y = augmentation.shift * (2.0 * random.uniform() - 1.0);

  const std::int64_t height = shape.height, width = shape.width, plane = height * width;
  const double centre_x = 0.5 * static_cast<double>(width - 1), centre_y = 0.5 * static_cast<double>(height - 1);
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const std::vector<float> old(pixels, pixels + shape.numbers());

  // Places on one axis: the pixel before, and the share of the one after.
  struct Place {
    std::int64_t before, after;
    float share;
  };
  const auto locate = [](double at, std::int64_t count) {
    const double inside = std::clamp(at, 0.0, static_cast<double>(count - 1));
    const auto before = static_cast<std::int64_t>(inside);
    return Place{before, std::min(before + 1, count - 1), static_cast<float>(inside - static_cast<double>(before))};
  };
  for (std::int64_t row = 0; row < height; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      const double x = static_cast<double>(column) - centre_x - shift_x;
      const double y = static_cast<double>(row) - centre_y - shift_y;
      const Place u = locate(centre_x + mirror_x * (cosine * x + sine * y), width);
      const Place v = locate(centre_y + mirror_y * (cosine * y - sine * x), height);
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        const float* above = old.data() + c * plane + v.before * width;
        const float* below = old.data() + c * plane + v.after * width;
        const float upper = above[u.before] + u.share * (above[u.after] - above[u.before]);
        const float lower = below[u.before] + u.share * (below[u.after] - below[u.before]);
        pixels[c * plane + row * width + column] = upper + v.share * (lower - upper);
      }
    }
  }
}

}  // namespace ick
