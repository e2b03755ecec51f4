#include "feature/nystrom.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "support/feature_case.h"

namespace ick {
namespace {

// Points at every row: K reproduced to the jitter. With A = K + j I, K - K A^-1 K = j (I - j A^-1), so no entry is off
// by more than j = 1e-8 of the mean diagonal; the factor 3 leaves room for rounding.
TEST(Nystrom, FullRankReproducesTheKernelToTheJitter) {
  const at::Tensor x = feature_rows(40, 3, 2.0);
  for (const char* formula : {"rbf(x)", "matern12(x, t)", "matern52(x, t, u)", "rational_quadratic(t)", "periodic(x)",
                              "linear(x, t) * rbf(u)", "spectral_mixture(x)", "matern32(lat, lon, sphere)",
                              "rbf(x) * periodic(t)", "categorical(level) * rbf(x) * matern32(lat, lon, sphere)"}) {
    const Kernel kernel = feature_kernel(formula, 2);
    const NystromMap map(kernel, x, exact(40, Placement::pivoted_cholesky));
    const at::Tensor k = kernel.matrix(x, x).detach();
    const double mean_diagonal = k.diagonal(0, 1, 2).mean(1).max().item<double>();
    EXPECT_EQ(map.features(), 40) << formula;
    EXPECT_LE(largest(gram(map(x)) - k), 3e-8 * mean_diagonal) << formula;
    EXPECT_EQ(map.report().jitter_steps, 0) << formula;
    EXPECT_DOUBLE_EQ(map.report().largest_jitter, 1e-8) << formula;
  }
}

// Kernels of finite rank are carried whole by as many features, by any placement, at rows between and beyond the
// points, with parameters that the points were not chosen for.
TEST(Nystrom, AsManyPointsAsTheRankCarryTheWholeKernel) {
  struct Case {
    std::string formula;
    std::int64_t rank;
  };
  const at::Tensor x = feature_rows(200, 3, 2.0) + 5.0 * at::tensor({1, 1, 1, 1, 0, 0, 0}, at::kDouble);
  const at::Tensor other = feature_rows(50, 4, 2.0) + 5.0 * at::tensor({1, 1, 1, 1, 0, 0, 0}, at::kDouble);
  for (const Case& each :
       {Case{"linear(x)", 1}, Case{"linear(x, t)", 2}, Case{"linear(x, t, u, v)", 4}, Case{"constant()", 1},
        Case{"constant(x)", 1}, Case{"categorical(level)", 4}, Case{"polynomial(x)", 3}, Case{"polynomial(x, t)", 6},
        Case{"polynomial(x, t, u, degree=3)", 20}, Case{"cosine(t)", 2}, Case{"cosine(x, t)", 2},
        Case{"linear(x) * categorical(level)", 4}, Case{"linear(x, t) * linear(u)", 2},
        Case{"cosine(x) * linear(t)", 2}, Case{"constant() * polynomial(x)", 3}}) {
    for (const Placement placement : {Placement::automatic, Placement::kmeans, Placement::pivoted_cholesky}) {
      for (const Path path : {Path::fused, Path::reference}) {
        Kernel kernel = kernel_on(each.formula, x, kFeatureColumns, kFeatureLevels, {3, 5});
        MapOptions options = exact(40, placement);
        options.path = path;
        const auto map = make_feature_map(kernel, x, options);
        EXPECT_EQ(map->features(), each.rank) << each.formula;
        if (each.formula.find("cosine(x) *") == std::string::npos && placement == Placement::automatic) {
          scatter_parameters(kernel, 9);
        }
        const at::Tensor k = kernel.matrix(other, other).detach();
        EXPECT_LT(largest(gram((*map)(other)) - k), 1e-6 * std::max(1.0, largest(k)))
            << each.formula << ", " << map->report().name;
      }
    }
  }
}

TEST(Nystrom, FewerPointsThanTheRankAreAsAsked) {
  const at::Tensor x = feature_rows(100, 3, 2.0);
  for (const auto& [placement, name] : {std::pair{Placement::automatic, "k-means"}, {Placement::kmeans, "k-means"}}) {
    const auto map = make_feature_map(feature_kernel("polynomial(x, t)"), x, exact(5, placement));
    EXPECT_EQ(map->report().name, "nystrom (" + std::string(name) + ", 5 points)");
  }
  EXPECT_EQ(make_feature_map(feature_kernel("linear(x)"), x, exact(5))->report().name,
            "nystrom (pivoted Cholesky, 1 point)");
}

// Algorithm 1 of the paper as printed: z = U k(Z, x), U^T U = (K + jitter)^-1, from a Cholesky factor of the inverse.
at::Tensor inverse_formula_gram(const at::Tensor& k) {
  const std::int64_t n = k.size(0);
  const at::Tensor inverse = at::linalg_inv(k + 1e-8 * k.diagonal().mean() * at::eye(n, at::kDouble));
  const auto [factor, info] = at::linalg_cholesky_ex(inverse);  // U^T
  const at::Tensor z = k.matmul(factor);
  return z.matmul(z.t());
}

TEST(Nystrom, MissesByEightDigitsWhatTheInverseFormulaMissesByMuch) {
  const at::Tensor x = at::linspace(0.0, 1.0, 20, at::kDouble).unsqueeze(1);
  const Kernel kernel = kernel_on("rbf(x, lengthscale=0.5)", x, {"x"});
  const at::Tensor k = kernel.matrix(x, x).detach();
  const auto map = make_feature_map(kernel, x, exact(20));
  const double ours = largest(gram((*map)(x)) - k), inverse = largest(inverse_formula_gram(k[0]) - k[0]);
  RecordProperty("ours", std::to_string(ours * 1e8) + "e-8");
  RecordProperty("inverse", std::to_string(inverse));
  EXPECT_LE(ours, 2e-8);
  EXPECT_TRUE(!(inverse < 1e-3)) << inverse;  // or not finite at all
}

TEST(Nystrom, ErrorFallsWithPoints) {
  const at::Tensor x = feature_rows(300, 4, 10.0);
  for (const char* formula : {"rbf(x)", "matern32(x)", "rational_quadratic(x)", "rbf(x, t, lengthscale=4)",
                              "rbf(x, lengthscale=3) * periodic(t, period=7)", "matern52(lat, lon, sphere)"}) {
    const Kernel kernel = kernel_on(formula, x, kFeatureColumns, kFeatureLevels);
    double before = 1.0;
    for (const std::int64_t p : {8, 16, 32, 64}) {
      const double off = covariance_miss(*make_feature_map(kernel, x, exact(p)), x);
      EXPECT_LT(off, 0.8 * before + 1e-7) << formula << " with " << p;
      before = off;
    }
    EXPECT_LT(before, 0.2) << formula;
  }
}

TEST(Nystrom, ResidualIsWhatFeaturesMiss) {
  const at::Tensor x = feature_rows(80, 5, 4.0);
  for (const char* formula : {"rbf(x)", "matern32(x, t)", "rbf(x) * periodic(t)"}) {
    const Kernel kernel = feature_kernel(formula, 2);
    const NystromMap map(kernel, x, exact(12));
    const at::Tensor z = map(x).detach(), k = kernel.matrix(x, x).detach(), residual = map.residual(x);
    for (std::int64_t e = 0; e < 2; ++e) {
      for (std::int64_t j = 0; j < 80; ++j) {
        double left = k[e][j][j].item<double>();
        for (std::int64_t i = 0; i < 12; ++i) left -= std::pow(z[e][j][i].item<double>(), 2.0);
        EXPECT_NEAR(residual[e][j].item<double>(), std::max(left, 0.0), 1e-12) << formula;
      }
    }
    EXPECT_FALSE(residual.requires_grad());
    EXPECT_GE(residual.min().item<double>(), 0.0);
    EXPECT_GT(residual.max().item<double>(), 1e-3) << "twelve points cannot be enough here: " << formula;
    EXPECT_LE(largest(map.residual(map.points())), 3e-8) << formula;
  }
}

TEST(Nystrom, ResidualFarAwayIsTheVariance) {
  const at::Tensor x = feature_rows(50, 6, 3.0);
  Kernel kernel = kernel_on("rbf(x, t, variance=2.5, lengthscale=1)", x, kFeatureColumns, kFeatureLevels);
  const auto map = make_feature_map(kernel, x, exact(20));
  EXPECT_NEAR(largest(map->residual(x + 100.0) - 2.5), 0.0, 1e-12);
}

TEST(Nystrom, FeaturesAreFloatUnlessAsked) {
  const at::Tensor x = feature_rows(9, 7);
  const Kernel kernel = feature_kernel("rbf(x)", 3);
  MapOptions options;
  options.features = 5;
  const auto map = make_feature_map(kernel, x, options);
  EXPECT_EQ((*map)(x).scalar_type(), at::kFloat);
  EXPECT_EQ((*map)(x).sizes().vec(), (std::vector<std::int64_t>{3, 9, 5}));
  EXPECT_EQ(map->residual(x).scalar_type(), at::kDouble);
  EXPECT_EQ(map->report().name, "nystrom (grid, 5 points)");
  EXPECT_TRUE(map->own_parameters().empty());
}

// (offset + x x')^6 at |x| up to 1e6 times larger than the lengthscale. The matrix has rank 7, its diagonal spans 36
// decades, and rounding of the largest entries (1e-16 of it) stays below the first jitter, 1e-8 of the mean diagonal.
TEST(Nystrom, LargeDiagonalsNeedNoFurtherJitter) {
  const at::Tensor x = at::linspace(-1e6, 1e6, 33, at::kDouble).unsqueeze(1);
  const Kernel kernel = kernel_on("polynomial(x, degree=6, lengthscale=1)", x, {"x"});
  for (const Path path : {Path::fused, Path::reference}) {
    MapOptions options = exact(33);
    options.path = path;
    const auto map = make_feature_map(kernel, x, options);
    EXPECT_TRUE((*map)(x).isfinite().all().item<bool>());
    EXPECT_EQ(map->report().jitter_steps, 0);
  }
}

// A cosine of period 0.7, but for a decay that no double shows: a kernel of no finite rank, which takes all points.
constexpr char kWave[] = "spectral_mixture(x, components=1, weight=1, mean=1.4285714285714286, scale=1e-40)";

// A cosine 1e9 periods away: the rounding of t / period is 1e-7 turns, so the matrix is indefinite by more than the
// first jitter. Its smallest eigenvalue says which rung is the first to hold.
TEST(Nystrom, ClimbsTheJitterLadderAsFarAsTheSmallestEigenvalueAsks) {
  bool climbed = false;
  for (const double range : {1e5, 1e9, 3e10, 1e12}) {
    const at::Tensor x = range * feature_rows(33, 8, 1.0).narrow(1, 0, 1);
    const Kernel kernel = kernel_on(kWave, x, {"x"});
    const auto eigenvalues = at::linalg_eigvalsh(kernel.matrix(x, x).detach()[0]);
    int expected = 0;
    while (1e-8 * std::pow(10.0, expected) < -eigenvalues[0].item<double>()) ++expected;
    climbed = climbed || expected > 1;
    for (const Path path : {Path::fused, Path::reference}) {
      MapOptions options = exact(33, Placement::kmeans);
      options.path = path;
      const auto map = make_feature_map(kernel, x, options);
      ASSERT_EQ(map->features(), 33);
      EXPECT_TRUE((*map)(x).isfinite().all().item<bool>());
      EXPECT_EQ(map->report().jitter_steps, expected)
          << range << " smallest eigenvalue " << eigenvalues[0].item<double>();
      EXPECT_NEAR(map->report().largest_jitter / (1e-8 * std::pow(10.0, expected)), 1.0, 1e-12);
    }
  }
  EXPECT_TRUE(climbed);
}

TEST(Nystrom, SaysWhenNoJitterIsEnough) {
  const at::Tensor x = 1e17 * feature_rows(33, 8, 1.0).narrow(1, 0, 1);
  const Kernel kernel = kernel_on(kWave, x, {"x"});
  for (const Path path : {Path::fused, Path::reference}) {
    MapOptions options = exact(33, Placement::kmeans);
    options.path = path;
    const auto map = make_feature_map(kernel, x, options);
    EXPECT_EQ(message_of<NumericError>([&] { (*map)(x); }),
              "the covariance of the inducing points of term1.x.spectral_mixture.weight has no Cholesky factor, even "
              "with 1% of "
              "its diagonal added; bound its parameters or rescale its inputs");
  }
}

}  // namespace
}  // namespace ick
