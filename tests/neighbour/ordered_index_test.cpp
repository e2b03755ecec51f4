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

// Every row once; which rows make a half is chance; inside what a half adds, the next row is nearer by far than one
// drawn. Also along a line, and of points at one place.
TEST(OrderInHalves, HalvesAreDrawnAndRowsInsideAreNearTheNext) {
  constexpr std::int64_t kRows = 4000;
  for (const int size : {1, 2, 5}) {
    SCOPED_TRACE(size);
    Random random(7);
    Coordinates points;
    points.size = size;
    for (std::int64_t i = 0; i < size * kRows; ++i) points.at.push_back(random.normal());
    const std::vector<std::int64_t> order = order_in_halves(points, kRows, 11), drawn = shuffled(kRows, 11);
    const auto sorted = [](auto from, auto to) {
      std::vector<std::int64_t> rows(from, to);
      std::sort(rows.begin(), rows.end());
      return rows;
    };
    for (const std::int64_t half : {4000, 2000, 1000, 500, 250}) {
      EXPECT_EQ(sorted(order.begin(), order.begin() + half), sorted(drawn.begin(), drawn.begin() + half));
    }
    const auto apart = [&](const std::vector<std::int64_t>& rows) {
      double sum = 0.0;
      for (std::int64_t i = 2001; i < kRows; ++i) {
        sum += std::sqrt(squared(points, rows[i], points.at.data() + rows[i - 1] * size));
      }
      return sum / (kRows - 2001);
    };
    // The curve follows three coordinates: the other two of five are as far apart as they were, sqrt(2 / 5) of it all.
    EXPECT_LT(apart(order), (size == 1 ? 0.01 : size == 2 ? 0.1 : 0.75) * apart(drawn));
  }
  const Coordinates at_one_place{std::vector<double>(2 * kRows, 1.5), 2};
  std::vector<std::int64_t> order = order_in_halves(at_one_place, kRows, 11);
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < kRows; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(order_in_halves(Coordinates{}, kRows, 11), shuffled(kRows, 11));
}

}  // namespace
}  // namespace ick
