#include "look/curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "ick/base/seed.h"

namespace ick::detail {
namespace {

std::vector<double> normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

TEST(Ranks, AreTheSharesOfValuesBelowAndHalfOfEqualOnes) {
  Random random(3);
  std::vector<double> values;
  for (int i = 0; i < 57; ++i) values.push_back(static_cast<double>(random.below(20)));
  const std::vector<double> ranks = ranks_of(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double below = 0.0, equal = 0.0;
    for (const double other : values) below += other < values[i], equal += other == values[i];
    EXPECT_NEAR(ranks[i], (below + 0.5 * equal) / 57.0, 1e-14);
  }
}

TEST(Curve, TellsAFunctionFromNoise) {
  const std::vector<double> x = normals(4000, 1), noise = normals(4000, 2);
  std::vector<double> bent, noisy;
  for (std::size_t i = 0; i < x.size(); ++i) {
    bent.push_back(std::abs(x[i] + 0.5));
    noisy.push_back(x[i] + noise[i]);
  }
  EXPECT_GT(curve_r2(ranks_of(x), ranks_of(bent)), 0.999);
  EXPECT_LT(curve_r2(ranks_of(x), ranks_of(noise)), 0.01);
  // The correlation of ranks of normals with correlation r is 6/pi asin(r/2) (Pearson 1907); the curve is a line.
  const double spearman = 6.0 / std::acos(-1.0) * std::asin(0.5 * std::sqrt(0.5));
  EXPECT_NEAR(curve_r2(ranks_of(x), ranks_of(noisy)), spearman * spearman, 0.05);
}

TEST(Curve, FewRowsAreEnoughForACopy) {
  const std::vector<double> x = normals(40, 5);
  std::vector<double> y;
  for (const double value : x) y.push_back(std::exp(value));
  EXPECT_GT(curve_r2(ranks_of(x), ranks_of(y)), 0.98);
  EXPECT_EQ(curve_r2(std::vector<double>{0.1, 0.2}, std::vector<double>{0.3, 0.4}), 0.0);
}

TEST(Levels, ExplainWhatTheirMeansDo) {
  // y is 0, 1 or 2 by level, plus noise of variance 1/12: R2 = (2/3) / (2/3 + 1/12) = 8/9.
  Random random(4);
  std::vector<std::uint32_t> level;
  std::vector<double> y;
  for (int i = 0; i < 6000; ++i) {
    level.push_back(static_cast<std::uint32_t>(random.below(3)));
    y.push_back(level.back() + random.uniform());
  }
  EXPECT_NEAR(level_r2(level, y), 8.0 / 9.0, 0.01);
  std::vector<std::uint32_t> own(y.size());  // a level for each row tells nothing of the rows left out
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::uint32_t>(i);
  EXPECT_LT(level_r2(own, y), 0.01);
}

TEST(Classes, CountBeyondTheMostFrequent) {
  // Nine of ten rows are class 0. A rule that is always right gains 1; one that says 0 throughout gains nothing.
  Random random(6);
  std::vector<double> x, unrelated;
  std::vector<std::uint32_t> y;
  for (int i = 0; i < 3000; ++i) {
    x.push_back(random.uniform());
    unrelated.push_back(static_cast<double>(random.below(5)));
    y.push_back(x.back() > 0.9 ? 1 : 0);
  }
  EXPECT_GT(nearest_gain(x, y), 0.98);
  EXPECT_NEAR(nearest_gain(unrelated, y), 0.0, 1e-12);
}

}  // namespace
}  // namespace ick::detail
