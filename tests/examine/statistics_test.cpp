#include "ick/examine/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "support/golden_values.h"

namespace ick {
namespace {

SeriesRows known_series() {
  SeriesRows rows;
  for (const GoldenValue& each : golden("residuals", "series")) {
    rows.series.push_back(0), rows.time.push_back(each.first), rows.value.push_back(each.value);
  }
  return rows;
}

TEST(Residuals, TailOfChiSquaredIsThatOfScipy) {
  ASSERT_EQ(golden("residuals", "tail").size(), 20u);
  for (const GoldenValue& each : golden("residuals", "tail")) {
    EXPECT_NEAR(chi_squared_tail(each.first, each.second), each.value, 1e-12) << each.first << ", " << each.second;
  }
}

TEST(Residuals, LjungBoxOfAWholeSeriesIsTheirs) {
  const std::vector<GoldenValue> q = golden("residuals", "ljung"), p = golden("residuals", "ljung_p");
  ASSERT_EQ(q.size(), 3u);
  for (std::size_t k = 0; k < q.size(); ++k) {
    const auto lags = static_cast<std::int64_t>(q[k].first);
    const Autocorrelation found = autocorrelation_of(known_series(), 1.0, 20, lags);
    EXPECT_EQ(found.tested, lags);
    EXPECT_NEAR(found.q, q[k].value, 1e-9);
    EXPECT_NEAR(found.p, p[k].value, 1e-11);
  }
}

TEST(Residuals, AutocorrelationIsThatOfALoopOverPairs) {
  // two series, rows in no order, with gaps, times a little off the grid
  Random random(4);
  SeriesRows rows;
  for (const std::int64_t i : shuffled(120, 8)) {
    if (i % 7 == 3) continue;
    rows.series.push_back(i % 2), rows.time.push_back(0.25 * static_cast<double>(i / 2) + 0.02 * random.uniform());
    rows.value.push_back(std::sin(0.3 * static_cast<double>(i)) + random.normal());
  }
  const Autocorrelation found = autocorrelation_of(rows, 0.25, 6, 4);
  const auto n = static_cast<double>(rows.value.size());
  const double mean = std::accumulate(rows.value.begin(), rows.value.end(), 0.0) / n;
  double variance = 0.0, q = 0.0;
  for (const double each : rows.value) variance += (each - mean) * (each - mean) / n;
  for (int lag = 1; lag <= 6; ++lag) {
    double sum = 0.0, pairs = 0.0;
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      for (std::size_t j = 0; j < rows.value.size(); ++j) {
        if (rows.series[i] != rows.series[j]) continue;
        const double apart = (rows.time[j] - rows.time[i]) / 0.25 - lag;
        if (std::abs(apart) < 0.5) sum += (rows.value[i] - mean) * (rows.value[j] - mean), pairs += 1.0;
      }
    }
    const auto k = static_cast<std::size_t>(lag - 1);
    EXPECT_EQ(static_cast<double>(found.pairs[k]), pairs);
    EXPECT_NEAR(found.value[k], sum / pairs / variance, 1e-12);
    if (lag <= 4) q += (n + 2.0) / n * pairs * std::pow(sum / pairs / variance, 2);
  }
  EXPECT_NEAR(found.q, q, 1e-9);
}

TEST(Residuals, LjungBoxOfNoiseIsSmallAsOftenAsItSays) {
  int below = 0;
  constexpr int kTimes = 400;
  for (int t = 0; t < kTimes; ++t) {
    Random random(static_cast<std::uint64_t>(1000 + t));
    SeriesRows rows;
    for (int i = 0; i < 300; ++i) {
      if (i % 11 == 4) continue;  // with gaps
      rows.series.push_back(0), rows.time.push_back(i), rows.value.push_back(random.normal());
    }
    below += autocorrelation_of(rows, 1.0, 10, 10).p < 0.05;
  }
  EXPECT_NEAR(below / static_cast<double>(kTimes), 0.05, 3.0 * std::sqrt(0.05 * 0.95 / kTimes));
}

PlacedRows some_places(int count, bool sphere, std::uint64_t seed) {
  Random random(seed);
  PlacedRows rows;
  rows.sphere = sphere;
  for (int i = 0; i < count; ++i) {
    rows.north.push_back(47.0 + 3.0 * random.uniform()), rows.east.push_back(8.0 + 5.0 * random.uniform());
    rows.value.push_back(random.normal()), rows.group.push_back(i % 5);
  }
  return rows;
}

TEST(Places, DistanceOnTheGlobeIsThatOfTheHaversine) {
  PlacedRows rows;
  rows.sphere = true;
  rows.north = {52.5, 48.1, -33.9}, rows.east = {13.4, 11.6, 151.2}, rows.value = {0, 0, 0};
  const auto haversine = [&](std::size_t i, std::size_t j) {
    const double degree = std::acos(-1.0) / 180.0;
    const double a = rows.north[i] * degree, b = rows.north[j] * degree, l = (rows.east[j] - rows.east[i]) * degree;
    const double h = std::pow(std::sin(0.5 * (b - a)), 2) + std::cos(a) * std::cos(b) * std::pow(std::sin(0.5 * l), 2);
    return 2.0 * 6371.0088 * std::asin(std::sqrt(h));
  };
  EXPECT_NEAR(distance_between(rows, 0, 1), haversine(0, 1), 1e-6);
  EXPECT_NEAR(distance_between(rows, 1, 2), haversine(1, 2), 1e-6);
}

TEST(Places, VariogramIsThatOfALoopOverPairs) {
  const PlacedRows rows = some_places(60, false, 3);
  constexpr double kMost = 2.0;
  const Variogram found = variogram_of(rows, 4, kMost, 1'000'000, 0);
  std::vector<double> square(4, 0.0), distance(4, 0.0), pairs(4, 0.0);
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double d = std::hypot(rows.north[i] - rows.north[j], rows.east[i] - rows.east[j]);
      if (rows.group[i] != rows.group[j] || d >= kMost) continue;
      const auto b = static_cast<std::size_t>(d / 0.5);
      square[b] += std::pow(rows.value[i] - rows.value[j], 2), distance[b] += d, pairs[b] += 1.0;
    }
  }
  ASSERT_EQ(found.pairs.size(), 4u);
  for (std::size_t b = 0; b < 4; ++b) {
    EXPECT_EQ(static_cast<double>(found.pairs[b]), pairs[b]);
    EXPECT_NEAR(found.semivariance[b], 0.5 * square[b] / pairs[b], 1e-12);
    EXPECT_NEAR(found.distance[b], distance[b] / pairs[b], 1e-12);
  }
}

TEST(Places, VariogramOfDrawnPairsIsNearThatOfAll) {
  PlacedRows rows = some_places(900, true, 5);
  rows.group.clear();
  const Variogram all = variogram_of(rows, 5, 200.0, 10'000'000, 0), some = variogram_of(rows, 5, 200.0, 100'000, 1);
  ASSERT_EQ(all.pairs.size(), some.pairs.size());
  for (std::size_t b = 0; b < all.pairs.size(); ++b) EXPECT_NEAR(some.semivariance[b], all.semivariance[b], 0.08);
}

TEST(Places, MoransIndexIsThatOfALoop) {
  const PlacedRows rows = some_places(25, false, 9);
  const MoranTest found = moran_test(rows, 3, 9, 0);
  const double mean = std::accumulate(rows.value.begin(), rows.value.end(), 0.0) / 25.0;
  double above = 0.0, below = 0.0;
  for (std::size_t i = 0; i < 25; ++i) {
    std::vector<std::size_t> others;
    for (std::size_t j = 0; j < 25; ++j) {
      if (j != i) others.push_back(j);
    }
    std::sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
      return distance_between(rows, i, a) < distance_between(rows, i, b);
    });
    for (int k = 0; k < 3; ++k) above += (rows.value[i] - mean) * (rows.value[others[k]] - mean) / 3.0;
    below += std::pow(rows.value[i] - mean, 2);
  }
  EXPECT_NEAR(found.index, above / below, 1e-12);
  EXPECT_NEAR(found.expected, -1.0 / 24.0, 1e-15);
}

TEST(Places, MoranTestFindsAPatternAndNoPatternInNoise) {
  PlacedRows rows = some_places(150, true, 11);
  EXPECT_GT(moran_test(rows, 6, 199, 0).p, 0.02);
  for (std::size_t i = 0; i < rows.value.size(); ++i) rows.value[i] += 3.0 * std::sin(2.0 * rows.east[i]);
  EXPECT_LT(moran_test(rows, 6, 199, 0).p, 0.01);
}

TEST(Places, MeansOfPlacesAreThoseOfTheirRows) {
  PlacedRows rows;
  rows.north = {1, 2, 1}, rows.east = {5, 5, 5}, rows.value = {3, 10, 4};
  const PlacedRows means = means_of_places(rows);
  EXPECT_EQ(means.north, (std::vector<double>{1, 2}));
  EXPECT_EQ(means.value, (std::vector<double>{3.5, 10}));
}

TEST(Numbers, BinsHoldMeansOfEquallyManyRows) {
  const std::vector<double> x = {5, 1, 4, 2, 3, 0}, y = {50, 10, 40, 22, 30, 2};
  const BinnedMeans found = binned_means(x, y, 3);
  EXPECT_EQ(found.x, (std::vector<double>{0.5, 2.5, 4.5}));
  EXPECT_EQ(found.y, (std::vector<double>{6, 26, 45}));
  EXPECT_NEAR(found.error[0], 4.0, 1e-12);  // sd of 2 and 10 is sqrt(32), over sqrt(2)
  EXPECT_EQ(found.rows, (std::vector<std::int64_t>{2, 2, 2}));
}

TEST(Numbers, AnOutlineHasTheEndsOfEveryRun) {
  Random random(2);
  std::vector<double> values;
  for (int i = 0; i < 10'000; ++i) values.push_back(random.normal());
  values[7'321] = 40.0, values[12] = -30.0;
  const std::vector<std::int64_t> kept = outline_of(values, 500);
  EXPECT_LE(kept.size(), 500u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::ranges::count(kept, 7'321) == 1 && std::ranges::count(kept, 12) == 1);
  EXPECT_EQ(outline_of(values, 20'000).size(), values.size());
}

TEST(Numbers, RowsAreDrawnOnceAndInOrder) {
  const std::vector<std::int64_t> some = some_rows_of(1000, 50, 3);
  EXPECT_EQ(some.size(), 50u);
  EXPECT_TRUE(std::ranges::adjacent_find(some, std::greater_equal<>()) == some.end());
  EXPECT_NE(some, some_rows_of(1000, 50, 4));
  EXPECT_EQ(some_rows_of(5, 50, 3).size(), 5u);
}

}  // namespace
}  // namespace ick
