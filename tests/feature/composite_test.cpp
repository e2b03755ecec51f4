#include "feature/composite.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ick/base/error.h"
#include "support/feature_case.h"

namespace ick {
namespace {

MapOptions exact_of(MapKind kind, std::int64_t features) {
  MapOptions options;
  options.kind = kind;
  options.features = features;
  options.dtype = at::kDouble;
  return options;
}

TEST(Composite, SumPutsFeaturesSideBySide) {
  const at::Tensor x = feature_rows(50, 1, 2.0);
  for (const MapKind kind : {MapKind::nystrom, MapKind::fourier, MapKind::hilbert}) {
    // on single columns nothing of a Nystrom or Hilbert map is drawn; the series of a periodic kernel is not either
    const std::string formula =
        kind == MapKind::fourier ? "periodic(x) + periodic(t) + cosine(u)" : "rbf(x) + periodic(t) + matern32(u)";
    const Kernel kernel = feature_kernel(formula, 2);
    const at::Tensor joined = (*make_feature_map(kernel, x, exact_of(kind, 12)))(x).detach();
    at::Tensor total;
    std::int64_t first = 0;
    for (std::size_t t = 0; t < 3; ++t) {
      const auto part = make_feature_map(kernel.term(t), x, exact_of(kind, 12));
      const at::Tensor z = (*part)(x).detach();
      EXPECT_TRUE(at::equal(joined.narrow(2, first, part->features()), z));
      first += part->features();
      total = total.defined() ? total + gram(z) : gram(z);
    }
    EXPECT_EQ(first, joined.size(2));
    EXPECT_LT(largest(gram(joined) - total), 1e-12);
  }
}

TEST(Composite, SumIsCloseToTheSumOfKernels) {
  const at::Tensor x = feature_rows(60, 2, 3.0);
  const Kernel kernel = feature_kernel("rbf(x) * periodic(t) + matern52(u, v) + linear(x, t)", 2);
  EXPECT_LT(covariance_miss(*make_feature_map(kernel, x, exact_of(MapKind::nystrom, 60)), x), 1e-7);
}

TEST(Composite, TermsDrawApart) {
  const at::Tensor x = feature_rows(50, 3, 2.0);
  const Kernel kernel =
      kernel_on("rbf(x, t, lengthscale=1) + rbf(x, t, lengthscale=1)", x, kFeatureColumns, kFeatureLevels);
  const at::Tensor z = (*make_feature_map(kernel, x, exact_of(MapKind::fourier, 20)))(x).detach();
  EXPECT_GT(largest(z.narrow(2, 0, 20) - z.narrow(2, 20, 20)), 1e-2) << "the same draws twice would not average out";
}

TEST(Composite, ReportNamesTheParts) {
  const at::Tensor x = feature_rows(50, 4, 2.0);
  const Kernel kernel = feature_kernel("rbf(x) + periodic(t) * matern32(u)");
  const auto joint = make_feature_map(kernel, x, exact_of(MapKind::nystrom, 12));
  EXPECT_EQ(joint->report().name, "nystrom (grid, 12 points) + nystrom (k-means, 12 points)");
  const auto chained = make_chained_map(kernel, x, exact_of(MapKind::nystrom, 12));
  EXPECT_EQ(chained->report().name,
            "nystrom (grid, 12 points) + nystrom (one period, 12 points) . nystrom (grid, 12 points)");
  EXPECT_EQ(chained->features(), 24);
}

TEST(Composite, OwnParametersOfAllParts) {
  const at::Tensor x = feature_rows(50, 5, 2.0);
  MapOptions options = exact_of(MapKind::nystrom, 9);
  options.train_points = true;
  const auto map = make_feature_map(feature_kernel("rbf(x) + matern32(x, t)", 2), x, options);
  ASSERT_EQ(map->own_parameters().size(), 2U);
  for (const at::Tensor& each : map->own_parameters()) {
    EXPECT_EQ(each.sizes().vec(), (std::vector<std::int64_t>{2, 9, 7}));
    EXPECT_TRUE(each.is_leaf() && each.requires_grad());
  }
}

TEST(Composite, ChainOfOneKernelIsThatKernelsMap) {
  const at::Tensor x = feature_rows(50, 6, 2.0);
  const Kernel kernel = feature_kernel("matern32(x)", 2);
  EXPECT_TRUE(at::equal((*make_chained_map(kernel, x, exact_of(MapKind::nystrom, 9)))(x),
                        (*make_feature_map(kernel, x, exact_of(MapKind::nystrom, 9)))(x)));
}

TEST(Composite, ChainMultipliesElementByElement) {
  const at::Tensor x = feature_rows(50, 7, 2.0);
  const Kernel kernel = feature_kernel("matern32(x) * periodic(t)", 2);
  const auto part = [&](std::size_t f) {
    return (*make_feature_map(kernel.factor(0, f), x, exact_of(MapKind::nystrom, 9)))(x).detach();
  };
  const at::Tensor chained = (*make_chained_map(kernel, x, exact_of(MapKind::nystrom, 9)))(x).detach();
  EXPECT_TRUE(at::equal(chained, part(0) * part(1)));
}

TEST(Composite, ChainNeedsAsManyFeaturesEach) {
  at::Tensor x = feature_rows(50, 8, 2.0);
  x.select(1, 1).fill_(1.5);
  const Kernel kernel = kernel_on("rbf(x) * rbf(t)", x, kFeatureColumns, kFeatureLevels);
  EXPECT_EQ(message_of<UsageError>([&] { make_chained_map(kernel, x, exact_of(MapKind::nystrom, 9)); }),
            "chained maps need as many features each, found 9 and 1");
}

// The paper chains feature maps: sum_k z2_k z2'_k z3_k z3'_k. That is not the product of the kernels; it is worse the
// more features there are, and its diagonal shrinks. The joint map tends to the product.
TEST(Composite, ChainIsNotTheProductAndTheJointMapIs) {
  const at::Tensor x = feature_rows(400, 9, 1.0).narrow(1, 0, 2).contiguous();
  const Kernel kernel = kernel_on("rbf(x, lengthscale=0.35) * periodic(t, period=1, lengthscale=0.7)", x, {"x", "t"});
  const at::Tensor k = kernel.matrix(x, x).detach()[0];
  double chained_before = 0.9, joint_before = 1.0, diagonal_before = 0.25;
  for (const std::int64_t p : {16, 64, 128}) {
    const at::Tensor chained = gram((*make_chained_map(kernel, x, exact_of(MapKind::nystrom, p)))(x))[0];
    const at::Tensor joint = gram((*make_feature_map(kernel, x, exact_of(MapKind::nystrom, p)))(x))[0];
    const double of_chained = frobenius_miss(chained, k), of_joint = frobenius_miss(joint, k);
    const double diagonal = chained.diagonal().mean().item<double>();
    RecordProperty("p" + std::to_string(p), "chained " + std::to_string(of_chained) + " joint " +
                                                std::to_string(of_joint) + " diagonal " + std::to_string(diagonal));
    EXPECT_GT(of_chained, chained_before) << p;
    EXPECT_LT(diagonal, diagonal_before) << p;
    EXPECT_LT(of_joint, 0.5 * joint_before) << p;
    chained_before = of_chained, joint_before = of_joint, diagonal_before = diagonal;
  }
  EXPECT_LT(joint_before, 0.01);
}

}  // namespace
}  // namespace ick
