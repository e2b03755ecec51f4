#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/kernel/table.h"
#include "support/feature_case.h"

// The fused path against composed tensor operations: two programs for the same formula.
namespace ick {
namespace {

struct Agreement {
  double features = 0.0, gradients = 0.0;  // largest deviation, relative to the largest number of the tensor
};

std::unique_ptr<FeatureMap> map_of(const Kernel& kernel, MapOptions options, Path path) {
  options.path = path;
  return make_feature_map(kernel, feature_rows(64, 1), options);
}

void worsen(double& worst, double off) { worst = std::isnan(off) ? HUGE_VAL : std::max(worst, off); }

void compare(const Kernel& kernel, const MapOptions& options, const at::Tensor& x, Agreement& worst) {
  const auto fused = map_of(kernel, options, Path::fused), reference = map_of(kernel, options, Path::reference);
  const at::Tensor a = (*fused)(x), b = (*reference)(x);
  ASSERT_EQ(a.sizes(), b.sizes());
  ASSERT_EQ(a.scalar_type(), options.dtype);
  ASSERT_GT(largest(b), 0.0);
  worsen(worst.features, miss(a.detach(), b.detach()));
  const at::Tensor upstream = random_like(a, 2);
  const std::vector<at::Tensor> of_fused = map_gradients(*fused, a, upstream);
  const std::vector<at::Tensor> of_reference = map_gradients(*reference, b, upstream);
  ASSERT_EQ(of_fused.size(), of_reference.size());
  for (std::size_t i = 0; i < of_fused.size(); ++i) worsen(worst.gradients, miss(of_fused[i], of_reference[i]));
}

MapOptions options_of(std::int64_t features, at::ScalarType dtype, bool train_points) {
  MapOptions options;
  options.features = features;
  options.dtype = dtype;
  options.train_points = train_points;
  return options;
}

void expect_agreement(const std::string& formula, std::int64_t members, std::int64_t n, std::int64_t p,
                      bool train_points) {
  SCOPED_TRACE(formula + ", E " + std::to_string(members) + ", n " + std::to_string(n) + ", p " + std::to_string(p) +
               (train_points ? ", trained points" : ""));
  const Kernel kernel = feature_kernel(formula, members);
  const at::Tensor x = feature_rows(n, 2);
  Agreement in_float, in_double;
  compare(kernel, options_of(p, at::kFloat, train_points), x, in_float);
  compare(kernel, options_of(p, at::kDouble, train_points), x, in_double);
  EXPECT_LT(in_float.features, 1e-5);
  EXPECT_LT(in_float.gradients, 1e-5);
  EXPECT_LT(in_double.features, 1e-9);
  EXPECT_LT(in_double.gradients, 1e-5);
}

constexpr std::int64_t kRowCounts[] = {1, 2, 3, 5, 50, 251, 252, 253, 600};
constexpr std::int64_t kPointCounts[] = {1, 3, 4, 5, 16, 33};

class FusedKernel : public testing::TestWithParam<int> {
 protected:
  const KernelRow& row() const { return kernel_table()[static_cast<std::size_t>(GetParam())]; }
};

TEST_P(FusedKernel, AgreesForEveryNumberOfPoints) {
  for (const std::int64_t p : kPointCounts) {
    expect_agreement(call_text(row()), 3, 50, p, false);
    expect_agreement(call_text(row(), 2), 1, 50, p, row().inputs != Inputs::level);
  }
}

TEST_P(FusedKernel, AgreesForEveryNumberOfRows) {
  for (const std::int64_t n : kRowCounts) expect_agreement(call_text(row()), n % 2 == 0 ? 3 : 1, n, 5, false);
}

TEST_P(FusedKernel, AgreesWithinProducts) {
  const std::string one = call_text(row());
  expect_agreement(one + " * matern52(u)", 3, 50, 16, false);
  expect_agreement("matern32(v) * " + one + " * periodic(u)", 1, 253, 16, row().inputs != Inputs::level);
  expect_agreement("matern32(lat, lon, sphere) * " + one + " * categorical(level)", 3, 50, 16, false);
}

std::string title(const testing::TestParamInfo<int>& info) {
  const KernelRow& row = kernel_table()[static_cast<std::size_t>(info.param)];
  return std::string(row.name) + (row.inputs == Inputs::place ? "_sphere" : "");
}

INSTANTIATE_TEST_SUITE_P(Table, FusedKernel, testing::Range(0, static_cast<int>(kernel_table().size())), title);

TEST(Fused, AgreesForEveryNumberOfRowsAndPoints) {
  for (const char* formula : {"periodic(t)", "rbf(x) * matern32(t)"}) {
    for (const std::int64_t n : kRowCounts) {
      for (const std::int64_t p : kPointCounts) {
        for (const std::int64_t members : {1, 3}) expect_agreement(formula, members, n, p, p % 2 == 1);
      }
    }
  }
}

TEST(Fused, AgreesForSumsAndSharedKernels) {
  for (const char* formula :
       {"rbf(x) + periodic(t) * matern32(x)", "rbf(x) * (periodic(t) + matern12(u))", "linear(x, t) + constant()",
        "rbf(x) * rbf(x) + categorical(level) * matern52(lat, lon, sphere) + cosine(t)",
        "spectral_mixture(x, t, components=3) * polynomial(u, degree=3)"}) {
    for (const bool train_points : {false, true}) expect_agreement(formula, 3, 253, 8, train_points);
  }
}

TEST(Fused, AgreesWithBoundsAndFixedValues) {
  for (const char* formula : {"rbf(x, lengthscale=bounded(1, 0.5, 2), variance=fixed(2))",
                              "periodic(t, period=fixed(2), lengthscale=bounded(1, 0.2, 3))",
                              "categorical(level, loading=bounded(0.1, -2, 2)) * rbf(x)"}) {
    Kernel kernel = kernel_on(formula, feature_rows(64, 1), kFeatureColumns, kFeatureLevels, {2, 3});
    Agreement worst;
    compare(kernel, options_of(8, at::kDouble, false), feature_rows(50, 2), worst);
    EXPECT_LT(worst.features, 1e-9) << formula;
    EXPECT_LT(worst.gradients, 1e-7) << formula;
  }
}

TEST(Fused, FixedParametersHaveNoGradient) {
  const Kernel kernel = kernel_on("rbf(x, lengthscale=fixed(2)) * periodic(t, period=fixed(3)) * matern32(u)",
                                  feature_rows(64, 1), kFeatureColumns, kFeatureLevels, {2, 3});
  for (const Path path : {Path::fused, Path::reference}) {
    const auto map = map_of(kernel, options_of(8, at::kFloat, false), path);
    const at::Tensor z = (*map)(feature_rows(50, 2));
    const at::Tensor gradient = map_gradients(*map, z, random_like(z, 2))[0];
    int fixed = 0, moved = 0;
    for (const Parameter& each : kernel.parameters().parameters()) {
      const double size = largest(gradient.narrow(1, each.first, each.count));
      ++(each.fixed ? fixed : moved);
      if (each.fixed) {
        EXPECT_EQ(size, 0.0) << each.path;
      } else {
        EXPECT_GT(size, 1e-6) << each.path;
      }
    }
    EXPECT_EQ(fixed, 4);  // two that the formula fixes, two variances after the first
    EXPECT_EQ(moved, 3);
  }
}

// A smooth kernel with many points: K(Z, Z) is singular to the jitter, and features differ where rounding decides. What
// they say about the covariance does not.
TEST(Fused, AgreesOnTheCovarianceWhereThePointsAreTooMany) {
  Kernel kernel = kernel_on("rbf(x, lengthscale=8)", feature_rows(64, 1), kFeatureColumns, kFeatureLevels);
  const at::Tensor x = feature_rows(100, 2);
  const auto fused = map_of(kernel, options_of(64, at::kDouble, false), Path::fused);
  const auto reference = map_of(kernel, options_of(64, at::kDouble, false), Path::reference);
  EXPECT_LT(largest(gram((*fused)(x)) - gram((*reference)(x))), 1e-8);
  EXPECT_LT(covariance_miss(*fused, x), 1e-7);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && at::equal(a, b);
}

TEST(Fused, BitsDoNotDependOnThreadsOrGradients) {
  const int threads = at::get_num_threads();
  for (const char* formula : {"periodic(t)", "rbf(x) * matern32(t)", "categorical(level) + spectral_mixture(x)"}) {
    for (const bool train_points : {false, true}) {
      const Kernel kernel = feature_kernel(formula, 4);
      const auto map = map_of(kernel, options_of(16, at::kFloat, train_points), Path::fused);
      const at::Tensor x = feature_rows(300, 2);
      std::vector<at::Tensor> features;
      std::vector<std::vector<at::Tensor>> gradients;
      for (const int count : {1, 2}) {
        at::set_num_threads(count);
        const at::Tensor z = (*map)(x);
        EXPECT_TRUE(z.requires_grad());
        gradients.push_back(map_gradients(*map, z, random_like(z, 3)));
        features.push_back(z.detach());
        const at::NoGradGuard no_gradient;
        features.push_back((*map)(x));
        EXPECT_FALSE(features.back().requires_grad());
      }
      for (const at::Tensor& each : features) EXPECT_TRUE(same_bits(each, features[0])) << formula;
      for (std::size_t i = 0; i < gradients[0].size(); ++i) {
        EXPECT_TRUE(same_bits(gradients[0][i], gradients[1][i])) << formula;
      }
    }
  }
  at::set_num_threads(threads);
}

TEST(Fused, AGraphOutlivesItsMapAndCanBeWalkedTwice) {
  at::Tensor raw, z;
  {
    const Kernel kernel = feature_kernel("periodic(t) * rbf(x)");
    z = (*map_of(kernel, options_of(8, at::kDouble, false), Path::fused))(feature_rows(20, 3));
    raw = kernel.parameters().raw();
  }
  const at::Tensor upstream = random_like(z, 4);
  z.backward(upstream, /*retain_graph=*/true);
  const at::Tensor once = raw.grad().clone();
  z.backward(upstream);
  ASSERT_GT(largest(once), 0.0);
  EXPECT_TRUE(at::equal(raw.grad(), 2.0 * once));
}

TEST(Fused, NoRowsNoFeatures) {
  for (const Path path : {Path::fused, Path::reference}) {
    const Kernel kernel = feature_kernel("rbf(x) * periodic(t) + categorical(level)", 3);
    const auto map = map_of(kernel, options_of(7, at::kFloat, true), path);
    const at::Tensor z = (*map)(feature_rows(0, 1));
    EXPECT_EQ(z.sizes().vec(), (std::vector<std::int64_t>{3, 0, map->features()}));
    EXPECT_EQ(map->residual(feature_rows(0, 1)).sizes().vec(), (std::vector<std::int64_t>{3, 0}));
    for (const at::Tensor& each : map_gradients(*map, z, at::zeros_like(z))) EXPECT_EQ(largest(each), 0.0);
  }
}

}  // namespace
}  // namespace ick
