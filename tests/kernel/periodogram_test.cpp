#include "ick/kernel/periodogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ick/base/seed.h"
#include "ick/kernel/kernel.h"

namespace ick {
namespace {

struct Series {
  std::vector<double> x, y;
};

// Uneven places over 10 units, waves of 0.7 and 3.1 cycles a unit, a slope and noise.
Series two_waves(int rows) {
  Series series;
  Random random(11);
  for (int i = 0; i < rows; ++i) {
    const double x = 1000.0 + 10.0 * random.uniform();
    series.x.push_back(x);
    series.y.push_back(2.0 * std::sin(2.0 * std::numbers::pi * 0.7 * x) + std::cos(2.0 * std::numbers::pi * 3.1 * x) +
                       0.5 * x + 0.3 * random.normal());
  }
  return series;
}

// The share of the variance that a wave explains, by its normal equations.
double explained(const std::vector<double>& x, const std::vector<double>& y, double frequency) {
  double a[3][4] = {};
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double angle = 2.0 * std::numbers::pi * frequency * x[i];
    const double row[4] = {1.0, std::cos(angle), std::sin(angle), y[i]};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 4; ++c) a[r][c] += row[r] * row[c];
    }
    yy += y[i] * y[i];
  }
  double share = 0.0;
  for (int r = 0; r < 3; ++r) {  // what is left of y falls by the square of each pivot's right side
    share += a[r][3] * a[r][3] / a[r][r] / yy;
    for (int below = r + 1; below < 3; ++below) {
      const double factor = a[below][r] / a[r][r];
      for (int c = r; c < 4; ++c) a[below][c] -= factor * a[r][c];
    }
  }
  return share;
}

TEST(Periodogram, IsWhatWavesExplain) {
  for (const int rows : {5, 40, 300}) {
    Series series = two_waves(rows);
    double mean = 0.0;
    for (const double y : series.y) mean += y / rows;
    for (double& y : series.y) y -= mean;
    for (double& x : series.x) x -= 1003.0;  // some before the origin
    for (const std::size_t steps : {1, 3, 500}) {
      const std::vector<double> found = periodogram(series.x, series.y, 0.019, steps);
      ASSERT_EQ(found.size(), steps);
      for (std::size_t f = 0; f < steps; ++f) {
        EXPECT_NEAR(found[f], explained(series.x, series.y, 0.019 * static_cast<double>(f + 1)), 1e-7)
            << rows << " " << f;
      }
    }
  }
}

// What warm starts draw of 19 years of minutes: half of it rows that follow each other, half from anywhere.
TEST(Periodogram, FindsADayInManyYearsOfMinutes) {
  Series series;
  Random random(5);
  for (int i = 0; i < 4096; ++i) {
    const double minute = i < 2048 ? 4'000'000.0 + i : std::floor(random.uniform() * 19.0 * 365.25 * 1440.0);
    const double day = minute / 1440.0;
    series.x.push_back(day);
    series.y.push_back(std::sin(2.0 * std::numbers::pi * day) + 0.7 * std::cos(4.0 * std::numbers::pi * day) +
                       0.5 * random.normal());
  }
  const std::vector<double> found = strongest_frequencies(series.x, series.y, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0], 1.0, 1e-5);  // a peak is 1 / span = 1.4e-4 wide
  EXPECT_NEAR(found[1], 2.0, 1e-5);
}

TEST(Periodogram, FindsTwoWavesUnderASlopeInUnevenSamples) {
  const Series series = two_waves(400);
  const std::vector<double> found = strongest_frequencies(series.x, series.y, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0], 0.7, 0.01);  // a peak is 1 / span = 0.1 wide
  EXPECT_NEAR(found[1], 3.1, 0.01);
}

TEST(Periodogram, ThinsManyRows) {
  const Series series = two_waves(50000);
  const std::vector<double> found = strongest_frequencies(series.x, series.y, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0], 0.7, 0.005);
  EXPECT_NEAR(found[1], 3.1, 0.005);
}

TEST(Periodogram, HourlyDataWithADailyAndAWeeklyRhythm) {
  Series series;
  for (int hour = 0; hour < 24 * 70; ++hour) {
    series.x.push_back(hour);
    series.y.push_back(std::sin(2.0 * std::numbers::pi * hour / 24.0) +
                       0.8 * std::cos(2.0 * std::numbers::pi * hour / 168.0));
  }
  const std::vector<double> found = strongest_frequencies(series.x, series.y, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(1.0 / found[0], 24.0, 0.05);
  EXPECT_NEAR(1.0 / found[1], 168.0, 3.0);
}

TEST(Periodogram, ThinningKeepsFastRhythms) {
  Series series;
  for (int i = 0; i < 20000; ++i) {
    series.x.push_back(i);
    series.y.push_back(std::sin(2.0 * std::numbers::pi * i / 6.3));
  }
  const std::vector<double> found = strongest_frequencies(series.x, series.y, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(1.0 / found[0], 6.3, 0.001);
}

TEST(Periodogram, NoiseHasNoRhythm) {
  int found = 0;
  for (int seed = 0; seed < 50; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    Series series;
    for (int i = 0; i < 300; ++i) series.x.push_back(i), series.y.push_back(random.normal());
    found += strongest_frequencies(series.x, series.y, 1).empty() ? 0 : 1;
  }
  EXPECT_LE(found, 5);
}

TEST(Periodogram, NothingWhereThereIsNothing) {
  const std::vector<double> few = {0.0, 1.0, 2.0}, constant(50, 3.0), empty;
  std::vector<double> line, places;
  for (int i = 0; i < 50; ++i) places.push_back(i), line.push_back(2.0 * i - 7.0);
  EXPECT_TRUE(strongest_frequencies(few, few, 3).empty());
  EXPECT_TRUE(strongest_frequencies(constant, places, 3).empty());
  EXPECT_TRUE(strongest_frequencies(places, constant, 3).empty());
  EXPECT_TRUE(strongest_frequencies(places, line, 3).empty());
  EXPECT_TRUE(strongest_frequencies(empty, empty, 3).empty());
}

TEST(Periodogram, KernelsThatRepeatStartThere) {
  const Series series = two_waves(400);
  InputSummary input;
  input.name = "t";
  input.low = 1000.0;
  input.high = 1010.0;
  input.frequencies = strongest_frequencies(series.x, series.y, 2);
  const Kernel kernel(make_kernel_sum(parse_expression("spectral_mixture(t, components=3) + periodic(t)")), {input});
  const at::Tensor means = kernel.parameters().natural("term1.t.spectral_mixture.mean")[0];
  EXPECT_NEAR(means[0].item<double>(), 0.7, 0.01);
  EXPECT_NEAR(means[1].item<double>(), 3.1, 0.01);
  EXPECT_GT(means[2].item<double>(), 0.0);  // a draw: there are only two peaks given
  EXPECT_NEAR(kernel.parameters().natural("term2.t.periodic.period").item<double>(), 1.0 / 0.7, 0.02);
}

}  // namespace
}  // namespace ick
