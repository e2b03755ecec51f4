#include "neighbour/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ick/base/seed.h"

namespace ick {
namespace {

double squared(const Coordinates& points, std::int64_t row, const double* at) {
  double sum = 0.0;
  for (int d = 0; d < points.size; ++d) sum += std::pow(points.at[row * points.size + d] - at[d], 2.0);
  return sum;
}

// Distances of the nearest rows before a row, by looking at all of them.
std::vector<double> by_looking(const Coordinates& points, const double* at, std::int64_t before, std::size_t count) {
  std::vector<double> all;
  for (std::int64_t row = 0; row < before; ++row) all.push_back(squared(points, row, at));
  std::sort(all.begin(), all.end());
  all.resize(std::min(count, all.size()));
  return all;
}

// Scattered points, a coarse grid of many equal ones, and all at one place.
TEST(OrderedIndex, FindsTheNearestRowsBefore) {
  constexpr std::int64_t kRows = 1500;
  for (const double step : {0.0, 0.25, 10.0}) {
    SCOPED_TRACE(step);
    Random random(3);
    Coordinates points;
    points.size = 2;
    for (std::int64_t i = 0; i < 2 * kRows; ++i) {
      const double value = random.uniform();
      points.at.push_back(step > 0.0 ? step * std::floor(value / step) : value);
    }
    const OrderedIndex index(points, kRows);
    for (const std::int64_t before : {1, 2, 40, 300, 777, 1500}) {
      const double at[] = {random.uniform(), random.uniform()};
      for (const double* query : {at, static_cast<const double*>(points.at.data() + 2 * (before - 1))}) {
        const std::vector<std::int64_t> found = index.nearest(query, before, 30);
        const std::vector<double> expected = by_looking(points, query, before, 30);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_LT(found[i], before);
          EXPECT_DOUBLE_EQ(squared(points, found[i], query), expected[i]);
        }
        std::vector<std::int64_t> once = found;
        std::sort(once.begin(), once.end());
        EXPECT_EQ(std::adjacent_find(once.begin(), once.end()), once.end());
      }
    }
  }
}

}  // namespace
}  // namespace ick
