#include "model/likelihood.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/gradient_check.h"
#include "support/network_case.h"

namespace ick {
namespace {

double phi(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

TEST(Likelihood, OfTwoClassesIsTheDefinition) {
  const at::Tensor f = 3.0 * normals({2, 5}, 1), y = at::tensor({0.0, 1.0, 1.0, 0.0, 1.0}, at::kDouble);
  for (const Link link : {Link::logit, Link::probit}) {
    const at::Tensor found = surprise(Family::bernoulli, link, f, y), p = probabilities(Family::bernoulli, link, f);
    for (std::int64_t e = 0; e < 2; ++e) {
      for (std::int64_t i = 0; i < 5; ++i) {
        const double at = f[e][i].item<double>();
        const double second = link == Link::logit ? 1.0 / (1.0 + std::exp(-at)) : phi(at);
        const double seen = y[i].item<double>() == 1.0 ? second : 1.0 - second;
        EXPECT_NEAR(found[e][i].item<double>(), -std::log(seen), 1e-9);
        EXPECT_NEAR(p[e][i][1].item<double>(), second, 1e-14);
        EXPECT_NEAR(p[e][i][0].item<double>(), 1.0 - second, 1e-14);
      }
    }
  }
}

// Far from the data neither -log Phi(-20) nor its gradient may become infinite:
//   -log Phi(-z) ~ z^2 / 2 + log(z sqrt(2 pi))
TEST(Likelihood, OfTwoClassesIsFiniteFarOut) {
  at::Tensor f = at::full({1, 1}, -20.0f).requires_grad_(true);
  const at::Tensor found = surprise(Family::bernoulli, Link::probit, f, at::ones({1}, at::kDouble));
  EXPECT_NEAR(found.item<double>(), 200.0 + std::log(20.0 * std::sqrt(2.0 * std::numbers::pi)), 0.01);
  found.sum().backward();
  EXPECT_NEAR(f.grad().item<double>(), -20.05, 0.01);  // -phi / Phi ~ -(z + 1 / z)
}

TEST(Likelihood, OfSeveralClassesIsTheDefinition) {
  const at::Tensor f = 2.0 * normals({2, 3, 4}, 2), y = at::tensor({3.0, 0.0, 2.0}, at::kDouble);
  const at::Tensor found = surprise(Family::categorical, Link::logit, f, y);
  const at::Tensor p = probabilities(Family::categorical, Link::logit, f, 2.5);
  for (std::int64_t e = 0; e < 2; ++e) {
    for (std::int64_t i = 0; i < 3; ++i) {
      double sum = 0.0, cooled = 0.0;
      for (std::int64_t c = 0; c < 4; ++c) {
        sum += std::exp(f[e][i][c].item<double>());
        cooled += std::exp(f[e][i][c].item<double>() / 2.5);
      }
      const auto seen = y[i].item<std::int64_t>();
      EXPECT_NEAR(found[e][i].item<double>(), std::log(sum) - f[e][i][seen].item<double>(), 1e-12);
      for (std::int64_t c = 0; c < 4; ++c) {
        EXPECT_NEAR(p[e][i][c].item<double>(), std::exp(f[e][i][c].item<double>() / 2.5) / cooled, 1e-14);
      }
    }
  }
}

TEST(Likelihood, OfCountsIsThatOfPoisson) {
  const at::Tensor f = normals({2, 3}, 3), y = at::tensor({0.0, 4.0, 2.0}, at::kDouble);
  const at::Tensor found = surprise(Family::poisson, Link::logit, f, y);
  for (std::int64_t i = 0; i < 3; ++i) {
    const double rate = std::exp(f[1][i].item<double>()), count = y[i].item<double>();
    const double expected = rate - count * std::log(rate) + std::lgamma(count + 1.0);
    EXPECT_NEAR(found[1][i].item<double>(), expected, 1e-12);
  }
}

// The density of four degrees of freedom: 3/8 (1 + t^2 / 4)^(-5/2).
TEST(Likelihood, OfStudentIsTheDensity) {
  const at::Tensor residual = 3.0 * normals({2, 6}, 4), log_scale = at::tensor({std::log(0.3), 1.1}, at::kDouble);
  const at::Tensor found = student_surprise(residual, log_scale);
  for (std::int64_t e = 0; e < 2; ++e) {
    const double s = std::exp(0.5 * log_scale[e].item<double>());
    for (std::int64_t i = 0; i < 6; ++i) {
      const double t = residual[e][i].item<double>() / s;
      EXPECT_NEAR(found[e][i].item<double>(), -std::log(0.375 * std::pow(1.0 + 0.25 * t * t, -2.5) / s), 1e-12);
    }
  }
}

TEST(Likelihood, GradientsAreThoseOfDifferences) {
  const at::Tensor y = at::tensor({1.0, 0.0, 1.0}, at::kDouble), classes = at::tensor({2.0, 0.0, 1.0}, at::kDouble);
  const at::Tensor weight = normals({2, 3}, 6), one = 1.5 * normals({2, 3}, 7), several = normals({2, 3, 3}, 8);
  const auto expect = [](const GradientCheck& check) {
    EXPECT_LT(check.error, 1e-6);
    EXPECT_GT(check.largest, 1e-2);
  };
  for (const Link link : {Link::logit, Link::probit}) {
    expect(check_gradient([&](const at::Tensor& f) { return (weight * surprise(Family::bernoulli, link, f, y)).sum(); },
                          one));
  }
  expect(check_gradient(
      [&](const at::Tensor& f) { return (weight * surprise(Family::categorical, Link::logit, f, classes)).sum(); },
      several));
  expect(check_gradient(
      [&](const at::Tensor& f) { return (weight * surprise(Family::poisson, Link::logit, f, y)).sum(); }, one));
  const at::Tensor log_scale = at::tensor({0.4, -0.3}, at::kDouble);
  expect(check_gradient([&](const at::Tensor& f) { return (weight * student_surprise(f, log_scale)).sum(); }, one));
  expect(check_gradient([&](const at::Tensor& s) { return (weight * student_surprise(one, s)).sum(); }, log_scale));
}

}  // namespace
}  // namespace ick
