#include "ick/train/lasting_noise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "ick/base/seed.h"
#include "support/gradient_check.h"
#include "support/train_case.h"

namespace ick {
namespace {

const std::vector<double> kWeights = {0.5, -0.2, 0.1, 0.3, -0.4, 0.2, 0.15, -0.1};
// Of one size, and of a size that goes by two seasons.
const LastingNoise kNoise = {0, 1.7, 0.2}, kSeasonal = {0, 1.7, 0.2, {{4.0, 9.0}, kWeights, -0.3}};

// Uneven, in order, two of them equal.
at::Tensor times() { return at::tensor({0.0, 0.1, 0.7, 0.7, 2.9, 3.0, 7.5, 7.9, 8.2, 15.0}, at::kDouble); }
at::Tensor values() { return at::tensor(normal_numbers(30, 4), at::kDouble).view({10, 3}); }

double seasonal_sd(double t) {
  double log_variance = -0.3;
  for (const double period : {4.0, 9.0}) {
    const double* const w = kWeights.data() + (period == 4.0 ? 0 : 4);
    const double angle = 2.0 * std::numbers::pi * t / period;
    log_variance += w[0] * std::cos(angle) + w[1] * std::sin(angle);
    log_variance += w[2] * std::cos(2.0 * angle) + w[3] * std::sin(2.0 * angle);
  }
  return std::exp(0.5 * log_variance);
}

// The definition, one pair of rows at a time.
at::Tensor covariance(bool seasonal = false) {
  const at::Tensor t = times();
  at::Tensor c = at::empty({10, 10}, at::kDouble);
  for (std::int64_t i = 0; i < 10; ++i) {
    for (std::int64_t j = 0; j < 10; ++j) {
      const double a = t[i].item<double>(), b = t[j].item<double>();
      const double sizes = seasonal ? seasonal_sd(a) * seasonal_sd(b) : 1.0;
      c[i][j] = sizes * (0.8 * std::exp(-std::abs(a - b) / 1.7) + (i == j ? 0.2 : 0.0));
    }
  }
  return c;
}

TEST(LastingNoise, WhitensByTheCovariance) {
  for (const bool seasonal : {false, true}) {
    SCOPED_TRACE(seasonal);
    const LastingNoise& noise = seasonal ? kSeasonal : kNoise;
    EXPECT_LT((covariance_of(noise, times()) - covariance(seasonal)).abs().max().item<double>(), 1e-14);
    const at::Tensor white = whitened(noise, times(), values());
    const at::Tensor expected = values().t().matmul(at::linalg_solve(covariance(seasonal), values()));
    EXPECT_LT((white.t().matmul(white) - expected).abs().max().item<double>(), 1e-10);
    EXPECT_NEAR(log_determinant(noise, times()), at::logdet(covariance(seasonal)).item<double>(), 1e-10);
  }
}

TEST(LastingNoise, LaterRowsGoOnFromTheState) {
  LastingState state;
  const at::Tensor first = whitened(kSeasonal, times().narrow(0, 0, 4), values().narrow(0, 0, 4), state);
  const at::Tensor second = whitened(kSeasonal, times().narrow(0, 4, 6), values().narrow(0, 4, 6), state);
  EXPECT_LT((at::cat({first, second}) - whitened(kSeasonal, times(), values())).abs().max().item<double>(), 1e-14);
}

TEST(LastingNoise, DrawsAreTheFactorTimesNormalNumbers) {
  const at::Tensor normals = values().select(1, 0).contiguous();
  const at::Tensor expected = at::linalg_cholesky(covariance()).mv(normals);
  EXPECT_LT((drawn_errors(kNoise, times(), normals) - expected).abs().max().item<double>(), 1e-12);
  const at::Tensor order = at::tensor({9, 0, 2, 3, 1, 8, 4, 6, 5, 7}, at::kLong);  // the two at one time as they were
  const at::Tensor mixed = drawn_errors(kNoise, times().index_select(0, order), normals.index_select(0, order));
  EXPECT_LT((mixed - expected.index_select(0, order)).abs().max().item<double>(), 1e-12);
}

TEST(LastingNoise, SlopesAreThoseOfDifferences) {
  const at::Tensor weights = at::tensor(normal_numbers(30, 5), at::kDouble).view({10, 3});
  const GradientCheck check = check_gradient(
      [&](const at::Tensor& at) { return (whitened(kSeasonal, times(), at) * weights).sin().sum(); }, values());
  EXPECT_GT(check.largest, 0.1);
  EXPECT_LT(check.error, 1e-8);
}

// An autoregression of order one in steps of a quarter, with white noise on it or none, and white noise alone.
TEST(LastingNoise, IsFoundInResiduals) {
  constexpr int kRows = 20'000;
  constexpr double kStep = 0.25;
  struct Case {
    double time, white;
  };
  for (const Case& each : {Case{3.0, 0.0}, Case{3.0, 0.4}, Case{0.5, 0.1}, Case{3.0, 1.0}}) {
    SCOPED_TRACE(each.time);
    SCOPED_TRACE(each.white);
    Random random(7);
    const double a = std::exp(-kStep / each.time);
    std::vector<double> residuals;
    double lasting = random.normal();
    for (int i = 0; i < kRows; ++i) {
      residuals.push_back(5.0 * (std::sqrt(1.0 - each.white) * lasting + std::sqrt(each.white) * random.normal()));
      lasting = a * lasting + std::sqrt(1.0 - a * a) * random.normal();
    }
    const LastingNoise found =
        likely_noise(2, kStep * at::arange(kRows, at::kDouble), at::tensor(residuals, at::kDouble));
    EXPECT_EQ(found.column, 2);
    if (each.white < 1.0) {
      EXPECT_NEAR(found.time / each.time, 1.0, 0.15);
    }
    EXPECT_NEAR(found.white, each.white, 0.03);
  }
}

// Residuals whose log variance goes by 0.8 of a cosine over 1,000, the same errors otherwise. A season shorter than errors
// may last (a tenth of the range) is not looked for, nor one that has not been seen once.
TEST(LastingNoise, FindsItsSeason) {
  constexpr int kRows = 20'000;
  constexpr double kStep = 0.25, kPeriod = 1000.0, kTime = 3.0;
  Random random(7);
  const double a = std::exp(-kStep / kTime);
  std::vector<double> residuals;
  double lasting = random.normal();
  for (int i = 0; i < kRows; ++i) {
    const double sd = std::exp(0.4 * std::cos(2.0 * std::numbers::pi * kStep * i / kPeriod));
    residuals.push_back(sd * (std::sqrt(0.6) * lasting + std::sqrt(0.4) * random.normal()));
    lasting = a * lasting + std::sqrt(1.0 - a * a) * random.normal();
  }
  const at::Tensor times = kStep * at::arange(kRows, at::kDouble);
  const LastingNoise found = likely_noise(0, times, at::tensor(residuals, at::kDouble), {}, {kPeriod, 10.0, 9000.0});
  EXPECT_NEAR(found.time / kTime, 1.0, 0.15);
  EXPECT_NEAR(found.white, 0.4, 0.03);
  ASSERT_EQ(found.seasons.periods, std::vector<double>{kPeriod});
  ASSERT_EQ(found.seasons.weights.size(), 4u);
  EXPECT_NEAR(found.seasons.weights[0], 0.8, 0.15);
  for (const int k : {1, 2, 3}) EXPECT_NEAR(found.seasons.weights[static_cast<std::size_t>(k)], 0.0, 0.15);
  EXPECT_NEAR(seasonal_variance(found.seasons, times).mean().item<double>(), 1.0, 1e-12);
  const std::vector<SeasonalRange> ranges = seasonal_ranges(found.seasons);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_NEAR(ranges[0].low, std::exp(-0.4), 0.1);
  EXPECT_NEAR(ranges[0].high, std::exp(0.4), 0.15);
}

}  // namespace
}  // namespace ick
