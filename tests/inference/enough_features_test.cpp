#include "inference/enough_features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/train_case.h"

namespace ick {
namespace {

// Rows evenly spaced on t in [0, 1], in an order that has nothing to do with it.
Table even_table(std::int64_t rows) {
  std::vector<double> t, a = normal_numbers(rows, 1), y = normal_numbers(rows, 2);
  for (std::int64_t i = 0; i < rows; ++i) {
    t.push_back(static_cast<double>(i * 7 % rows) / static_cast<double>(rows - 1));
  }
  return make_table({{"a", a}, {"t", t}, {"y", y}});
}

EnoughFeatures found_for(const TrainCase& made) {
  ModelOptions options;
  options.layers = {4};
  const Model model(made.spec, made.encoder, made.rows, options);
  return enough_features(model, made.encoder, made.rows, options);
}

// k(x, x) - k(x, Z) K(Z, Z)^-1 k(Z, x) of an rbf of lengthscale l and variance one, Z evenly on [0, 1]: the mean over
// the rows.
double missed_by_grid(const at::Tensor& t, std::int64_t points, double l) {
  const at::Tensor z = at::linspace(0.0, 1.0, points, at::kDouble);
  const auto kernel = [&](const at::Tensor& a, const at::Tensor& b) {
    return at::exp(-(a.unsqueeze(1) - b.unsqueeze(0)).square() / (2.0 * l * l));
  };
  const at::Tensor inner = kernel(z, z) + 1e-8 * at::eye(points, at::kDouble), cross = kernel(z, t);
  return 1.0 - (cross * at::linalg_solve(inner, cross)).sum(0).mean().item<double>();
}

TEST(EnoughFeatures, AreDoubledUntilTheyCarryTheKernel) {
  constexpr double kLength = 0.005;
  const TrainCase made(even_table(701), "y ~ mlp(a) * rbf(t, lengthscale=0.005, variance=1)");
  ASSERT_EQ(made.spec.terms[0].features, 64);
  const EnoughFeatures found = found_for(made);
  const at::Tensor t = made.rows.x.select(1, 0);
  std::int64_t expected = 64;
  while (missed_by_grid(t, expected, kLength) > kMissedAtMost) expected *= 2;
  EXPECT_GT(expected, 64);
  EXPECT_EQ(found.spec.terms[0].features, expected);
  EXPECT_LE(found.missed, kMissedAtMost);
}

TEST(EnoughFeatures, StayWhereTheyAreEnough) {
  const TrainCase made(even_table(300), "y ~ mlp(a) * rbf(t, lengthscale=0.5) + mlp(a) + rbf(t, lengthscale=1)");
  const EnoughFeatures found = found_for(made);
  for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(found.spec.terms[t].features, made.spec.terms[t].features);
  EXPECT_LE(found.missed, kMissedAtMost);
}

TEST(EnoughFeatures, ThatAreStatedAreKept) {
  const TrainCase made(even_table(300), "y ~ mlp(a) * rbf(t, lengthscale=0.01, points=10)");
  const EnoughFeatures found = found_for(made);
  EXPECT_EQ(found.spec.terms[0].features, 10);
  EXPECT_GT(found.missed, 0.3);
}

// A period of few rows: points stand evenly over it, more of them than rows.
TEST(EnoughFeatures, OfAPeriodMayBeMoreThanTheRows) {
  const TrainCase made(even_table(20), "y ~ mlp(a) * periodic(t, period=1, lengthscale=0.2)");
  ASSERT_EQ(made.spec.terms[0].features, 10);
  const EnoughFeatures found = found_for(made);
  EXPECT_GE(found.spec.terms[0].features, 20);
  EXPECT_LE(found.missed, kMissedAtMost);
}

// What no number of features carries is left at the limit, and said.
TEST(EnoughFeatures, HaveALimit) {
  const TrainCase made(even_table(2001), "y ~ mlp(a) * rbf(t, lengthscale=0.0001)");
  const EnoughFeatures found = found_for(made);
  EXPECT_LE(found.spec.terms[0].features, 256);
  EXPECT_GT(found.missed, 0.5);
}

}  // namespace
}  // namespace ick
