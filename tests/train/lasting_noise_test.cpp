#include "ick/train/lasting_noise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ick/base/seed.h"
#include "support/gradient_check.h"
#include "support/train_case.h"

namespace ick {
namespace {

constexpr LastingNoise kNoise = {0, 1.7, 0.2};

// Uneven, in order, two of them equal.
at::Tensor times() { return at::tensor({0.0, 0.1, 0.7, 0.7, 2.9, 3.0, 7.5, 7.9, 8.2, 15.0}, at::kDouble); }
at::Tensor values() { return at::tensor(normal_numbers(30, 4), at::kDouble).view({10, 3}); }

// The definition, one pair of rows at a time.
at::Tensor covariance() {
  const at::Tensor t = times();
  at::Tensor c = at::empty({10, 10}, at::kDouble);
  for (std::int64_t i = 0; i < 10; ++i) {
    for (std::int64_t j = 0; j < 10; ++j) {
      const double apart = std::abs(t[i].item<double>() - t[j].item<double>());
      c[i][j] = 0.8 * std::exp(-apart / 1.7) + (i == j ? 0.2 : 0.0);
    }
  }
  return c;
}

TEST(LastingNoise, WhitensByTheCovariance) {
  EXPECT_LT((covariance_of(kNoise, times()) - covariance()).abs().max().item<double>(), 1e-14);
  const at::Tensor white = whitened(kNoise, times(), values());
  const at::Tensor expected = values().t().matmul(at::linalg_solve(covariance(), values()));
  EXPECT_LT((white.t().matmul(white) - expected).abs().max().item<double>(), 1e-10);
  EXPECT_NEAR(log_determinant(kNoise, times()), at::logdet(covariance()).item<double>(), 1e-10);
}

TEST(LastingNoise, LaterRowsGoOnFromTheState) {
  LastingState state;
  const at::Tensor first = whitened(kNoise, times().narrow(0, 0, 4), values().narrow(0, 0, 4), state);
  const at::Tensor second = whitened(kNoise, times().narrow(0, 4, 6), values().narrow(0, 4, 6), state);
  EXPECT_LT((at::cat({first, second}) - whitened(kNoise, times(), values())).abs().max().item<double>(), 1e-14);
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
      [&](const at::Tensor& at) { return (whitened(kNoise, times(), at) * weights).sin().sum(); }, values());
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

// log v by the definition.
double log_variance(const NoiseSeasons& seasons, double t) {
  double sum = seasons.centre;
  for (std::size_t i = 0; i < seasons.periods.size(); ++i) {
    const double* const w = seasons.weights.data() + 4 * i;
    const double angle = 2.0 * std::numbers::pi * t / seasons.periods[i];
    sum +=
        w[0] * std::cos(angle) + w[1] * std::sin(angle) + w[2] * std::cos(2.0 * angle) + w[3] * std::sin(2.0 * angle);
  }
  return sum;
}

TEST(NoiseSeasons, AreWavesOfTheLogarithm) {
  const NoiseSeasons seasons{{4.0, 9.0}, {0.5, -0.2, 0.1, 0.3, -0.4, 0.2, 0.15, -0.1}, -0.3};
  const at::Tensor t = times(), found = seasonal_variance(seasons, t);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(std::log(found[i].item<double>()), log_variance(seasons, t[i].item<double>()), 1e-12);
  }
  const std::vector<SeasonalRange> ranges = seasonal_ranges(seasons);
  ASSERT_EQ(ranges.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    NoiseSeasons one{{seasons.periods[i]}, {seasons.weights.begin() + 4 * i, seasons.weights.begin() + 4 * i + 4}};
    double low = 1e9, high = 0.0;
    for (int k = 0; k < 5000; ++k) {
      const double sd = std::exp(0.5 * log_variance(one, one.periods[0] * k / 5000.0));
      low = std::min(low, sd), high = std::max(high, sd);
    }
    EXPECT_NEAR(ranges[i].low, low, 1e-3);
    EXPECT_NEAR(ranges[i].high, high, 1e-3);
  }
  EXPECT_TRUE(at::equal(seasonal_variance({}, t), at::ones({10}, at::kDouble)));
}

// Errors that last for three, whose log variance goes by waves of a long and a short season. One that has not been seen
// once is not looked for.
TEST(NoiseSeasons, AreFoundInSquares) {
  constexpr int kRows = 40'000;
  constexpr double kStep = 0.25;
  const NoiseSeasons truth{{1000.0, 7.0}, {0.8, 0.0, 0.0, 0.3, -0.4, 0.2, 0.0, 0.0}};
  const LastingNoise lasting{0, 3.0, 0.4};
  const at::Tensor times = kStep * at::arange(kRows, at::kDouble);
  const at::Tensor normals = at::tensor(normal_numbers(kRows, 7), at::kDouble);
  const at::Tensor errors = 5.0 * seasonal_variance(truth, times).sqrt() * drawn_errors(lasting, times, normals);
  const NoiseSeasons found = likely_seasons(lasting, times, errors.square(), {1000.0, 7.0, 11'000.0});
  ASSERT_EQ(found.periods, truth.periods);
  ASSERT_EQ(found.weights.size(), 8u);
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(found.weights[k], truth.weights[k], 0.12) << k;
  EXPECT_NEAR(seasonal_variance(found, times).mean().item<double>(), 1.0, 1e-12);
}

// The longer errors last, the nearer weights are to the mode of their prior; in the end rows do not ask for a season.
TEST(NoiseSeasons, AreBelievedTheLessTheLongerErrorsLast) {
  const at::Tensor times = at::arange(400, at::kDouble);
  const at::Tensor squares = (times * (2.0 * std::numbers::pi / 100.0)).cos().exp();
  double before = 1.0;
  for (const double time : {0.1, 1.0, 3.0}) {
    const double weight = likely_seasons({0, time, 0.0}, times, squares, {100.0}).weights[0];
    EXPECT_LT(weight, before);
    EXPECT_GT(weight, 0.0);
    before = weight;
  }
  EXPECT_TRUE(likely_seasons({0, 300.0, 0.0}, times, squares, {100.0}).weights.empty());
  EXPECT_TRUE(likely_seasons({0, 3.0, 0.0}, times, squares, {401.0}).weights.empty());
}

// Errors of one size have no season but by chance; one that is there is kept beside one that is not.
TEST(NoiseSeasons, ThatRowsDoNotAskForAreLeftOut) {
  constexpr int kDraws = 40, kRows = 700;
  const at::Tensor times = at::arange(kRows, at::kDouble);
  const at::Tensor wave = (times * (2.0 * std::numbers::pi / 365.0)).cos().exp();
  int without = 0, right = 0;
  for (int k = 0; k < kDraws; ++k) {
    const at::Tensor squares = at::tensor(normal_numbers(kRows, 100 + k), at::kDouble).square();
    without += likely_seasons({0, 0.1, 0.0}, times, squares, {7.0, 365.0}).periods.empty();
    right += likely_seasons({0, 0.1, 0.0}, times, squares * wave, {7.0, 365.0}).periods == std::vector<double>{365.0};
  }
  EXPECT_GE(without, 36);
  EXPECT_GE(right, 37);
}

}  // namespace
}  // namespace ick
