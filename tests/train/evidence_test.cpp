#include "train/evidence.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "ick/base/error.h"
#include "support/feature_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

constexpr char kKernels[] = "y ~ rbf(t, points=6) + periodic(s, period=2, points=5) * matern32(u)";

// -log N(y; 0, C) / n by the eigenvalues of C.
double naive_density(const at::Tensor& covariance, const at::Tensor& y) {
  const auto [values, vectors] = at::linalg_eigh(covariance);
  const at::Tensor turned = vectors.t().mv(y);
  const auto n = static_cast<double>(y.size(0));
  double twice = n * std::log(2.0 * std::numbers::pi);
  for (std::int64_t i = 0; i < y.size(0); ++i) {
    const double value = values[i].item<double>();
    twice += std::log(value) + std::pow(turned[i].item<double>(), 2) / value;
  }
  return twice / (2.0 * n);
}

at::Tensor eye(std::int64_t n) { return at::eye(n, at::kDouble); }
at::Tensor scalar(double value) { return at::full({}, value, at::kDouble); }

// A model of kernels with one member and generic parameters.
std::unique_ptr<Model> scattered_model(const TrainCase& on) {
  auto model = on.model();
  scatter_parameters(model->kernel(), 5, 1.1);
  return model;
}

TEST(ExactEvidence, IsTheDensityOfANormalVector) {
  const at::Tensor x = standard_normal_rows(12, 2, 1), y = standard_normal_rows(12, 1, 2).squeeze(1);
  const Kernel kernel =
      kernel_on("rbf(t, lengthscale=0.7, variance=1.3) * matern12(s, lengthscale=1.9)", x, {"t", "s"});
  at::Tensor covariance = at::zeros({12, 12}, at::kDouble);
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) {
      const double t = (x[i][0] - x[j][0]).item<double>() / 0.7, s = (x[i][1] - x[j][1]).item<double>() / 1.9;
      covariance[i][j] = 0.4 * 1.3 * std::exp(-0.5 * t * t) * std::exp(-std::abs(s)) + (i == j ? 0.09 : 0.0);
    }
  }
  const double found = exact_evidence(kernel, 0.4, x, y, scalar(std::log(0.09))).item<double>();
  EXPECT_NEAR(found, naive_density(covariance, y), 1e-12);
}

TEST(ExactEvidence, GradientIsThatOfDifferences) {
  const at::Tensor x = standard_normal_rows(15, 3, 3), y = standard_normal_rows(15, 1, 4).squeeze(1);
  Kernel kernel = kernel_on("rbf(t) * periodic(s) + linear(u)", x, {"t", "s", "u"});
  scatter_parameters(kernel, 6, 1.1);
  exact_evidence(kernel, 0.5, x, y, scalar(-1.7)).backward();
  const GradientCheck of_kernel = check_parameter(
      kernel.parameters().raw(), [&] { return exact_evidence(kernel, 0.5, x, y, scalar(-1.7)); }, free_columns(kernel));
  EXPECT_GT(of_kernel.largest, 1e-3);
  EXPECT_LT(of_kernel.error, 1e-6);
  const GradientCheck of_noise =
      check_gradient([&](const at::Tensor& at) { return exact_evidence(kernel, 0.5, x, y, at); }, scalar(-1.7));
  EXPECT_GT(of_noise.largest, 1e-3);
  EXPECT_LT(of_noise.error, 1e-7);
}

TEST(ExactEvidence, WithoutACholeskyFactorIsAnError) {
  const at::Tensor x = standard_normal_rows(5, 1, 1), y = standard_normal_rows(5, 1, 2).squeeze(1);
  Kernel kernel = kernel_on("rbf(t)", x, {"t"});
  kernel.parameters().raw().detach().fill_(800.0);  // e^800 is infinite
  EXPECT_THROW(exact_evidence(kernel, 1.0, x, y, scalar(-1.0)), NumericError);
}

// Rows twice over make the covariance singular but for its noise.
TEST(ExactEvidence, SurvivesRepeatedRowsAlmostWithoutNoise) {
  const at::Tensor once = standard_normal_rows(10, 1, 1);
  const at::Tensor x = at::cat({once, once}), y = at::cat({once, once}).squeeze(1).sin();
  const Kernel kernel = kernel_on("rbf(t)", x, {"t"});
  EXPECT_TRUE(std::isfinite(exact_evidence(kernel, 1.0, x, y, scalar(std::log(1e-18))).item<double>()));
}

TEST(LinearEvidence, IsTheDensityOfItsFeaturesPlusWhatTheyMiss) {
  const TrainCase on(generic_table(20), kKernels);
  const auto model = scattered_model(on);
  const double variance = 0.13;
  const at::Tensor phi = model->linear_features(on.rows.x)[0].detach();  // (n, P + 1)
  ASSERT_EQ(phi.size(1), 12);
  const double dense = naive_density(phi.matmul(phi.t()) + variance * eye(20), on.rows.y);
  // k(x, x) of stationary kernels is their variance.
  const ParameterSet& parameters = model->kernel().parameters();
  const double prior =
      0.5 *
      (parameters.natural("term1.t.rbf.variance") + parameters.natural("term2.s.periodic.variance")).item<double>();
  double missing = 0.0;
  for (std::int64_t i = 0; i < 20; ++i) missing += prior - phi[i].narrow(0, 0, 11).square().sum().item<double>();
  ASSERT_GT(missing, 0.5) << "the features miss nothing; take fewer";
  const double found = linear_evidence(*model, on.rows.x, on.rows.y, scalar(std::log(variance))).item<double>();
  EXPECT_NEAR(found, dense + missing / (2.0 * 20.0 * variance), 1e-10);
}

// Where the features carry the whole kernel both evidences are one. The bias has a prior variance of one.
TEST(LinearEvidence, WithAllFeaturesIsTheExactOne) {
  const TrainCase on(generic_table(20), "y ~ linear(t, points=1) + linear(u, points=1)");
  const auto model = on.model();
  const at::Tensor x = on.rows.x, y = on.rows.y;
  const Kernel with_bias = kernel_on("linear(t) + linear(u) + constant(variance=2)", x, {"t", "u"});
  const double found = linear_evidence(*model, x, y, scalar(-1.3)).item<double>();
  EXPECT_NEAR(found, exact_evidence(with_bias, 0.5, x, y, scalar(-1.3)).item<double>(), 1e-6);  // jitter is 1e-8
}

TEST(LinearEvidence, GradientIsThatOfDifferences) {
  const TrainCase on(generic_table(20), kKernels);
  const auto model = scattered_model(on);
  linear_evidence(*model, on.rows.x, on.rows.y, scalar(-1.7)).backward();
  const GradientCheck of_kernel = check_parameter(
      model->kernel().parameters().raw(), [&] { return linear_evidence(*model, on.rows.x, on.rows.y, scalar(-1.7)); },
      free_columns(model->kernel()));
  EXPECT_GT(of_kernel.largest, 1e-3);
  EXPECT_LT(of_kernel.error, 1e-6);
  const GradientCheck of_noise = check_gradient(
      [&](const at::Tensor& at) { return linear_evidence(*model, on.rows.x, on.rows.y, at); }, scalar(-1.7));
  EXPECT_GT(of_noise.largest, 1e-3);
  EXPECT_LT(of_noise.error, 1e-7);
}

// k* (K + s^2 I)^-1 y and k** - k* (K + s^2 I)^-1 k*, with K = Phi Phi'.
TEST(LinearPosterior, IsTheGaussianProcessOfItsFeatures) {
  const TrainCase on(generic_table(30), kKernels);
  const auto model = scattered_model(on);
  const double variance = 0.07;
  const at::Tensor x = on.rows.x.narrow(0, 0, 20), y = on.rows.y.narrow(0, 0, 20), other = on.rows.x.narrow(0, 20, 10);
  const LinearPosterior posterior = linear_posterior(*model, x, y, variance);
  const at::Tensor phi = model->linear_features(x)[0].detach(), there = model->linear_features(other)[0].detach();
  const at::Tensor inverse = at::linalg_inv(phi.matmul(phi.t()) + variance * eye(20));
  const at::Tensor cross = there.matmul(phi.t());
  const at::Tensor mean = cross.matmul(inverse).mv(y);
  const at::Tensor spread = (there.square().sum(1) - (cross.matmul(inverse) * cross).sum(1));
  EXPECT_TRUE(at::allclose(there.mv(posterior.mean), mean, 1e-9, 1e-10));
  const at::Tensor solved = at::linalg_solve(posterior.factor, there.t());
  EXPECT_TRUE(at::allclose(solved.square().sum(0), spread, 1e-8, 1e-10));
  EXPECT_GT(spread.min().item<double>(), 0.0);
  EXPECT_GT(mean.abs().max().item<double>(), 0.1);

  // The model with these weights is that mean, in float32.
  model->set_linear_weights(posterior.mean.unsqueeze(0));
  const at::Tensor f = (*model)(batch_of(on.rows, 20, 10))[0].detach().to(at::kDouble);
  EXPECT_TRUE(at::allclose(f, mean, 1e-4, 1e-4));
}

TEST(WeakPrior, IsANormalOfDeviationThree) {
  Evaluation evaluation{1.25, {0.5, -0.25}};
  add_weak_prior({2.0, -1.0}, {0.5, -1.6}, 10.0, evaluation);
  EXPECT_NEAR(evaluation.value, 1.25 + (1.5 * 1.5 + 0.6 * 0.6) / (2.0 * 9.0 * 10.0), 1e-15);
  EXPECT_NEAR(evaluation.gradient[0], 0.5 + 1.5 / 90.0, 1e-15);
  EXPECT_NEAR(evaluation.gradient[1], -0.25 + 0.6 / 90.0, 1e-15);
}

}  // namespace
}  // namespace ick
