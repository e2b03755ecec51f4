#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "ick/base/seed.h"
#include "table/image_case.h"

namespace ick {
namespace {

const ImageShape kShape{2, 6, 9};

std::vector<float> random_image(const ImageShape& shape, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> pixels(static_cast<std::size_t>(shape.numbers()));
  for (float& pixel : pixels) pixel = static_cast<float>(random.normal());
  return pixels;
}

std::vector<float> augmented(const Augmentation& augmentation, const ImageShape& shape, std::uint64_t seed,
                             std::vector<float> pixels) {
  augment(augmentation, shape, seed, pixels.data());
  return pixels;
}

std::vector<float> flipped(const std::vector<float>& pixels, const ImageShape& shape, bool horizontal, bool vertical) {
  std::vector<float> result;
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        const std::int64_t row = vertical ? shape.height - 1 - y : y, column = horizontal ? shape.width - 1 - x : x;
        result.push_back(pixels[static_cast<std::size_t>((c * shape.height + row) * shape.width + column)]);
      }
    }
  }
  return result;
}

TEST(Augment, NothingAskedNothingDone) {
  const std::vector<float> pixels = random_image(kShape, 1);
  EXPECT_EQ(augmented({}, kShape, 3, pixels), pixels);
}

TEST(Augment, FollowsFromTheSeed) {
  const std::vector<float> pixels = random_image(kShape, 2);
  const Augmentation all{true, true, 20.0, 1.5};
  EXPECT_EQ(augmented(all, kShape, 7, pixels), augmented(all, kShape, 7, pixels));
  EXPECT_NE(augmented(all, kShape, 7, pixels), augmented(all, kShape, 8, pixels));
}

TEST(Augment, FlipsHalfOfTheTime) {
  const std::vector<float> pixels = random_image(kShape, 3);
  for (const auto& [horizontal, vertical] : {std::pair{true, false}, {false, true}, {true, true}}) {
    std::map<std::vector<float>, int> seen;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const std::vector<float> once = augmented({horizontal, vertical, 0.0, 0.0}, kShape, seed, pixels);
      ++seen[once];
      EXPECT_EQ(augmented({horizontal, vertical, 0.0, 0.0}, kShape, seed, once), pixels) << "twice is not at all";
    }
    for (const bool h : {false, true}) {
      for (const bool v : {false, true}) {
        const bool possible = (horizontal || !h) && (vertical || !v);
        const double share = possible ? 1000.0 / (horizontal && vertical ? 4 : 2) : 0.0;
        EXPECT_NEAR(seen[flipped(pixels, kShape, h, v)], share, 5.0 * std::sqrt(share)) << h << v;
      }
    }
  }
}

// The plane a x + b y about the centre stays a plane with the same slope, turned, wherever no edge is repeated, and
// its value at the centre tells how far it was moved.
TEST(Augment, TurnsAndMovesAPlane) {
  const ImageShape shape{1, 41, 41};
  const double a = 0.7, b = -0.3;
  std::vector<float> pixels;
  for (int y = -20; y <= 20; ++y) {
    for (int x = -20; x <= 20; ++x) pixels.push_back(static_cast<float>(a * x + b * y));
  }
  double most_angle = 0.0, most_shift = 0.0, mean_angle = 0.0;
  constexpr int kDraws = 400;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const std::vector<float> turned = augmented({false, false, 30.0, 2.0}, shape, seed, pixels);
    const auto at = [&](int y, int x) {
      return static_cast<double>(turned[static_cast<std::size_t>((y + 20) * 41 + x + 20)]);
    };
    const double slope_x = (at(0, 5) - at(0, -5)) / 10, slope_y = (at(5, 0) - at(-5, 0)) / 10;
    EXPECT_NEAR(std::hypot(slope_x, slope_y), std::hypot(a, b), 1e-5);
    for (int y = -8; y <= 8; y += 4) {
      for (int x = -8; x <= 8; x += 4) EXPECT_NEAR(at(y, x), at(0, 0) + slope_x * x + slope_y * y, 1e-4);
    }
    double angle = (std::atan2(slope_y, slope_x) - std::atan2(b, a)) * 180.0 / std::numbers::pi;
    angle = std::remainder(angle, 360.0);
    most_angle = std::max(most_angle, std::abs(angle));
    mean_angle += angle / kDraws;
    most_shift = std::max(most_shift, std::abs(at(0, 0)) / std::hypot(a, b));
  }
  EXPECT_LE(most_angle, 30.001);
  EXPECT_GT(most_angle, 28.0);
  EXPECT_NEAR(mean_angle, 0.0, 5.0 * 30.0 / std::sqrt(3.0 * kDraws));
  EXPECT_LE(most_shift, 2.0 * std::numbers::sqrt2);
  EXPECT_GT(most_shift, 2.0);
}

// Edges are repeated: no values but those of the image, and a constant stays one.
TEST(Augment, InventsNothing) {
  const std::vector<float> pixels = random_image(kShape, 4);
  const auto [low, high] = std::minmax_element(pixels.begin(), pixels.end());
  const std::vector<float> constant(pixels.size(), 3.25f);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const float pixel : augmented({true, true, 180.0, 20.0}, kShape, seed, pixels)) {
      ASSERT_GE(pixel, *low - 1e-6f);
      ASSERT_LE(pixel, *high + 1e-6f);
    }
    EXPECT_EQ(augmented({true, true, 180.0, 20.0}, kShape, seed, constant), constant);
  }
}

}  // namespace
}  // namespace ick
