#include "ick/train/lasting_noise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace ick
