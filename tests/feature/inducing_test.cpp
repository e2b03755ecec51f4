#include "feature/inducing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "feature/nystrom.h"
#include "ick/base/error.h"
#include "support/feature_case.h"

namespace ick {
namespace {

at::Tensor column(const at::Tensor& values) { return values.reshape({-1, 1}); }

// z = L^-1 k(Z, x) for points of the test's own choosing.
at::Tensor gram_with_points(const Kernel& kernel, const at::Tensor& points, const at::Tensor& x) {
  const at::Tensor k = kernel.matrix(points, points).detach()[0];
  const at::Tensor jitter = 1e-8 * k.diagonal().mean() * at::eye(k.size(0), at::kDouble);
  const at::Tensor z =
      at::linalg_solve_triangular(std::get<0>(at::linalg_cholesky_ex(k + jitter)), kernel.matrix(points, x).detach()[0],
                                  /*upper=*/false);
  return z.t().matmul(z);
}

TEST(Inducing, GridIsEvenOverTheRange) {
  const at::Tensor x = column(at::tensor({3.0, -1.0, 0.2, 6.5, 1.0}, at::kDouble));
  const Kernel kernel = kernel_on("matern32(x)", x, {"x"});
  const InducingPoints points = place_points(kernel, x, 6, Placement::automatic, 0);
  EXPECT_EQ(points.placement, Placement::grid);
  const double expected[] = {-1.0, 0.5, 2.0, 3.5, 5.0, 6.5};
  ASSERT_EQ(points.z.sizes().vec(), (std::vector<std::int64_t>{6, 1}));
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(points.z[i][0].item<double>(), expected[i], 1e-14);
}

TEST(Inducing, ConstantColumnTakesOnePoint) {
  const at::Tensor x = at::full({20, 1}, 4.25, at::kDouble);
  const Kernel kernel = kernel_on("rbf(x, variance=3)", x, {"x"});
  for (const Placement placement : {Placement::automatic, Placement::kmeans, Placement::pivoted_cholesky}) {
    const NystromMap map(kernel, x, exact(16, placement));
    ASSERT_EQ(map.features(), 1);
    EXPECT_EQ(map.points()[0][0].item<double>(), 4.25);
    EXPECT_LE(largest(gram(map(x)) - 3.0), 6e-8);
  }
}

TEST(Inducing, AutomaticPlacementSuitsTheKernel) {
  const at::Tensor x = feature_rows(200, 1);
  const auto chosen = [&](const std::string& formula) {
    return place_points(feature_kernel(formula), x, 8, Placement::automatic, 0).placement;
  };
  EXPECT_EQ(chosen("rbf(x)"), Placement::grid);
  EXPECT_EQ(chosen("rbf(x) * matern32(x)"), Placement::grid);
  EXPECT_EQ(chosen("spectral_mixture(x)"), Placement::grid);
  EXPECT_EQ(chosen("periodic(t)"), Placement::one_period);
  EXPECT_EQ(chosen("rbf(t) * periodic(t)"), Placement::pivoted_cholesky);
  EXPECT_EQ(chosen("periodic(x, t)"), Placement::kmeans);
  EXPECT_EQ(chosen("rbf(x, t)"), Placement::kmeans);
  EXPECT_EQ(chosen("rbf(lat, lon, sphere)"), Placement::kmeans);
  EXPECT_EQ(chosen("categorical(level)"), Placement::pivoted_cholesky);
  EXPECT_EQ(chosen("rbf(x) * categorical(level)"), Placement::pivoted_cholesky);
  EXPECT_EQ(chosen("linear(x)"), Placement::pivoted_cholesky);
  EXPECT_EQ(chosen("linear(x, t)"), Placement::pivoted_cholesky);
  EXPECT_EQ(chosen("polynomial(x, t, u)"), Placement::kmeans) << "ten features would carry it, eight do not";
  EXPECT_EQ(chosen("cosine(x, t)"), Placement::one_period);
}

TEST(Inducing, PeriodicPointsCoverOnePeriodAndFollowIt) {
  const at::Tensor x = column(at::linspace(2.0, 402.0, 250, at::kDouble));
  Kernel kernel = kernel_on("periodic(t, period=24, lengthscale=0.7)", x, {"t"}, {}, {3, 0});
  const InducingPoints start = place_points(kernel, x, 24, Placement::automatic, 0);  // where trained points begin
  for (int i = 0; i < 24; ++i) EXPECT_NEAR(start.z[i][0].item<double>(), 2.0 + i, 1e-12);
  const NystromMap map(kernel, x, exact(24));
  for (const double period : {24.0, 10.0, 31.7, 365.25, 1000.0}) {
    kernel.parameters().set("term1.t.periodic.period", period);
    const at::Tensor z = map.points();
    ASSERT_EQ(z.sizes().vec(), (std::vector<std::int64_t>{3, 24, 1}));
    for (int i = 0; i < 24; ++i) EXPECT_NEAR(z[2][i][0].item<double>(), 2.0 + period * i / 24.0, 1e-10);
    EXPECT_LE(largest(gram(map(x)) - kernel.matrix(x, x).detach()), 1e-6) << period;
    EXPECT_EQ(map.report().jitter_steps, 0);
  }
}

TEST(Inducing, PeriodicPointsFollowTheMembersOwnPeriods) {
  const at::Tensor x = column(at::linspace(-3.0, 40.0, 90, at::kDouble));
  Kernel kernel = kernel_on("periodic(t, lengthscale=0.8)", x, {"t"}, {}, {3, 0});
  kernel.parameters().set("term1.t.periodic.period", column(at::tensor({2.0, 7.0, 60.0}, at::kDouble)));
  for (const Path path : {Path::fused, Path::reference}) {
    MapOptions options = exact(24);
    options.path = path;
    const auto map = make_feature_map(kernel, x, options);
    EXPECT_LE(largest(gram((*map)(x)) - kernel.matrix(x, x).detach()), 1e-6);
  }
}

// Two fixed points would fall half a period apart, where they say the same, for some period.
TEST(Inducing, PointsOfACosineFollowItsPeriod) {
  const at::Tensor x =
      at::stack({at::linspace(2.0, 402.0, 90, at::kDouble), at::linspace(-7.0, 1.0, 90, at::kDouble)}, 1);
  Kernel kernel = kernel_on("cosine(s, t, period=[24, 3])", x, {"s", "t"}, {}, {2, 0});
  for (const Path path : {Path::fused, Path::reference}) {
    MapOptions options = exact(24);
    options.path = path;
    const auto map = make_feature_map(kernel, x, options);
    for (const double period : {24.0, 12.0, 6.0, 31.7, 1000.0}) {
      kernel.parameters().set("term1.s_t.cosine.period",
                              at::tensor({period, 2.0, 1.5 * period, 0.7}, at::kDouble).view({2, 2}));
      EXPECT_LE(largest(gram((*map)(x)) - kernel.matrix(x, x).detach()), 1e-6) << period;
    }
  }
}

// Two inputs that do not go together: points on the diagonal of the box, as in the authors' program, see nothing of the
// corners.
TEST(Inducing, KMeansCoversTheBoxOffItsDiagonal) {
  const at::Tensor x = feature_rows(400, 2, 1.0).narrow(1, 0, 2).contiguous();
  const Kernel kernel = kernel_on("rbf(x, t, lengthscale=0.7)", x, {"x", "t"});
  const at::Tensor k = kernel.matrix(x, x).detach()[0];
  const at::Tensor line = at::linspace(-1.0, 1.0, 25, at::kDouble);
  const at::Tensor on_diagonal = gram_with_points(kernel, at::stack({line, line}, 1), x);
  const auto map = make_feature_map(kernel, x, exact(25));
  const at::Tensor by_kmeans = gram((*map)(x))[0];
  RecordProperty("diagonal", std::to_string(frobenius_miss(on_diagonal, k)));
  RecordProperty("kmeans", std::to_string(frobenius_miss(by_kmeans, k)));
  EXPECT_GT(frobenius_miss(on_diagonal, k), 0.15);
  EXPECT_LT(frobenius_miss(by_kmeans, k), 0.02);
  const at::Tensor corner = at::tensor({-0.9, 0.9}, at::kDouble).view({1, 2});
  EXPECT_GT(1.0 - gram_with_points(kernel, at::stack({line, line}, 1), corner)[0][0].item<double>(), 0.5);
  EXPECT_LT(map->residual(corner).item<double>(), 0.1);
}

TEST(Inducing, KMeansPointsAreTrainingRows) {
  const at::Tensor x = feature_rows(150, 3);
  const InducingPoints points =
      place_points(feature_kernel("rbf(lat, lon, sphere) * rbf(x)"), x, 20, Placement::kmeans, 4);
  ASSERT_EQ(points.z.size(0), 20);
  const at::Tensor read = at::tensor({0, 5, 6}, at::kLong);
  const at::Tensor same =
      (points.z.index_select(1, read).unsqueeze(1) == x.index_select(1, read).unsqueeze(0)).all(2);  // (20, 150)
  EXPECT_TRUE(same.any(1).all().item<bool>());
  EXPECT_EQ(same.any(0).sum().item<std::int64_t>(), 20) << "no row twice";
}

// Most rows in two tight heaps, a few spread out: rows drawn evenly fall into the heaps.
TEST(Inducing, PivotedCholeskyBeatsRandomRowsOnHeaps) {
  at::Tensor x = feature_rows(400, 5, 10.0).narrow(1, 0, 2).contiguous();
  x.narrow(0, 0, 340).mul_(0.02);
  x.narrow(0, 0, 170).add_(4.0);
  const Kernel kernel = kernel_on("matern52(x, t, lengthscale=3)", x, {"x", "t"});
  const at::Tensor k = kernel.matrix(x, x).detach()[0];
  double pivoted = 0.0, random_rows = 0.0;
  constexpr int kSeeds = 20;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto map = make_feature_map(kernel, x, exact(30, Placement::pivoted_cholesky, seed));
    pivoted += frobenius_miss(gram((*map)(x))[0], k) / kSeeds;
    at::Tensor order = at::randperm(400, at::detail::createCPUGenerator(seed), at::kLong);
    random_rows += frobenius_miss(gram_with_points(kernel, x.index_select(0, order.narrow(0, 0, 30)), x), k) / kSeeds;
  }
  RecordProperty("pivoted", std::to_string(pivoted));
  RecordProperty("random", std::to_string(random_rows));
  EXPECT_LT(pivoted, 0.6 * random_rows);
}

TEST(Inducing, PivotedCholeskyServesLevels) {
  const at::Tensor x = feature_rows(300, 6);
  const Kernel kernel =
      kernel_on("categorical(level) * rbf(x, lengthscale=6)", x, kFeatureColumns, kFeatureLevels, {1, 2});
  const auto map = make_feature_map(kernel, x, exact(40));
  EXPECT_EQ(map->report().name, "nystrom (pivoted Cholesky, 40 points)");
  EXPECT_LT(covariance_miss(*map, x), 1e-3);
  for (std::int64_t level = 0; level < 4; ++level) {
    EXPECT_TRUE((place_points(kernel, x, 40, Placement::automatic, 0).z.select(1, 4) == level).any().item<bool>());
  }
}

// A kernel of finite rank needs no more points than its rank.
TEST(Inducing, PivotedCholeskyStopsWhenNothingIsLeft) {
  const at::Tensor x = feature_rows(100, 7);
  const auto points = [&](const std::string& formula) {
    return place_points(feature_kernel(formula), x, 50, Placement::pivoted_cholesky, 0).z.size(0);
  };
  EXPECT_EQ(points("linear(x, t, u)"), 3);
  EXPECT_EQ(points("polynomial(x)"), 3);  // 1, x, x^2
  EXPECT_EQ(points("categorical(level)"), 4);
  EXPECT_EQ(points("constant()"), 1);
  EXPECT_EQ(points("cosine(x)"), 2);
}

// With `explained`, rows of which so little is left ask for no further points; each row counts by its own variance.
TEST(Inducing, PivotedCholeskyStopsWhenRowsAreExplained) {
  const at::Tensor x = feature_rows(300, 9);
  for (const std::string formula : {"rbf(x, lengthscale=3)", "linear(x) * rbf(t, lengthscale=3)"}) {
    const Kernel kernel = feature_kernel(formula);
    MapOptions options;
    options.features = 200;
    options.placement = Placement::pivoted_cholesky;
    options.explained = 1e-3;
    const auto few = make_feature_map(kernel, x, options);
    EXPECT_LT(few->features(), 60) << formula;
    const at::Tensor variance = kernel.diagonal(x), jitter = 1e-6 * variance.max();
    EXPECT_TRUE((few->residual(x) <= 1.01e-3 * variance + jitter).all().item<bool>()) << formula;
    options.explained = 0.0;
    EXPECT_GT(make_feature_map(kernel, x, options)->features(), few->features()) << formula;
  }
}

// A kernel that looks smooth at the start may turn out rough: the number of points is not the rank of the start.
TEST(Inducing, PivotedCholeskyLeavesRoomForWhatIsLearned) {
  const at::Tensor x = at::linspace(0.0, 10.0, 300, at::kDouble).unsqueeze(1);
  Kernel kernel = kernel_on("rbf(a, lengthscale=1000) * periodic(a, period=3, lengthscale=3)", x, {"a"});
  const auto map = make_feature_map(kernel, x, exact(64));
  EXPECT_EQ(map->features(), 64);
  kernel.parameters().set("term1.a.rbf.lengthscale", 1.0);
  kernel.parameters().set("term1.a.periodic.lengthscale", 1.0);
  EXPECT_LT(covariance_miss(*map, x), 0.02);
}

TEST(Inducing, TrainedPointsStartOverEachMembersOwnPeriod) {
  const at::Tensor x = at::linspace(0.0, 10.0, 100, at::kDouble).unsqueeze(1);
  Kernel kernel = kernel_on("periodic(a, lengthscale=1)", x, {"a"}, {}, {3, 0});
  kernel.parameters().set("term1.a.periodic.period", at::tensor({1.0, 3.0, 0.37}, at::kDouble).view({3, 1}));
  MapOptions options = exact(16);
  options.train_points = true;
  const auto map = make_feature_map(kernel, x, options);
  EXPECT_EQ(map->own_parameters()[0].sizes(), (std::vector<std::int64_t>{3, 16, 1}));
  EXPECT_LT(covariance_miss(*map, x), 1e-3);
}

TEST(Inducing, KernelThatIsZeroOnAllRowsGivesOneFeature) {
  const at::Tensor x = at::zeros({20, 1}, at::kDouble), y = column(at::tensor({0.0, 2.0}, at::kDouble));
  const Kernel kernel = kernel_on("linear(x)", x, {"x"});
  for (const Placement placement : {Placement::automatic, Placement::kmeans, Placement::pivoted_cholesky}) {
    for (const Path path : {Path::fused, Path::reference}) {
      MapOptions options = exact(8, placement);
      options.path = path;
      const auto map = make_feature_map(kernel, at::cat({x, x + 1e-200}), options);
      EXPECT_GE(map->features(), 1);
      EXPECT_LT(largest((*map)(y)), 1e-40);
      EXPECT_NEAR(map->residual(y)[0][1].item<double>(), 4.0, 1e-12);
    }
  }
}

TEST(Inducing, FewerDistinctRowsGiveFewerFeatures) {
  const at::Tensor five = feature_rows(5, 8);
  const at::Tensor x = five.repeat({10, 1});
  for (const Placement placement : {Placement::kmeans, Placement::pivoted_cholesky}) {
    const Kernel kernel = feature_kernel("matern12(x, t)");
    const auto map = make_feature_map(kernel, x, exact(16, placement));
    EXPECT_EQ(map->features(), 5);
    EXPECT_EQ((*map)(x).sizes().vec(), (std::vector<std::int64_t>{1, 50, 5}));
    EXPECT_LE(largest(gram((*map)(x)) - kernel.matrix(x, x).detach()), 5e-8);
  }
}

// Rows that differ only in columns the term does not read are alike to it.
TEST(Inducing, DistinctMeansDistinctToTheTerm) {
  at::Tensor x = feature_rows(30, 9);
  x.select(1, 0).copy_(at::arange(30, at::kDouble).remainder(3.0));
  x.select(1, 1).copy_(at::arange(30, at::kDouble).remainder(2.0));
  for (const Placement placement : {Placement::kmeans, Placement::pivoted_cholesky}) {
    EXPECT_EQ(place_points(feature_kernel("rbf(x, t)"), x, 64, placement, 0).z.size(0), 6) << placement_name(placement);
    EXPECT_EQ(place_points(feature_kernel("rbf(x, t)"), x, 16, placement, 0).z.size(0), 6) << placement_name(placement);
  }
}

TEST(Inducing, SameSeedSamePoints) {
  const at::Tensor x = feature_rows(200, 10);
  for (const Placement placement : {Placement::kmeans, Placement::pivoted_cholesky}) {
    const Kernel kernel = feature_kernel("rbf(x, t, u)");
    const at::Tensor one = place_points(kernel, x, 20, placement, 1).z,
                     again = place_points(kernel, x, 20, placement, 1).z;
    EXPECT_TRUE(at::equal(one, again));
    EXPECT_FALSE(at::equal(one, place_points(kernel, x, 20, placement, 2).z));
  }
}

TEST(Inducing, Refusals) {
  const at::Tensor x = feature_rows(20, 11);
  const auto usage = [&](const std::string& formula, std::int64_t count, Placement placement) {
    return message_of<UsageError>([&] { place_points(feature_kernel(formula), x, count, placement, 0); });
  };
  const std::string grid = "a grid of inducing points is for one column of numbers; use k-means or pivoted Cholesky";
  EXPECT_EQ(usage("rbf(x, t)", 8, Placement::grid), grid);
  EXPECT_EQ(usage("rbf(x) * rbf(t)", 8, Placement::grid), grid);
  EXPECT_EQ(usage("categorical(level)", 8, Placement::grid), grid);
  const std::string period =
      "inducing points over one period are for a periodic kernel alone on one column; use automatic";
  EXPECT_EQ(usage("constant() * categorical(level)", 8, Placement::grid),
            "a grid of inducing points is for one column of numbers; use k-means or pivoted Cholesky");
  EXPECT_EQ(usage("rbf(x)", 8, Placement::one_period), period);
  EXPECT_EQ(usage("periodic(x) * rbf(x)", 8, Placement::one_period), period);
  EXPECT_EQ(usage("rbf(x)", 0, Placement::automatic), "a feature map needs at least one inducing point");
  const Kernel kernel = feature_kernel("rbf(x)");
  EXPECT_EQ(message_of<DataError>([&] { make_feature_map(kernel, feature_rows(0, 1), exact(4)); }),
            "there are no rows to place inducing points by; give at least one training row");
  at::Tensor broken = x.clone();
  broken[3][0] = std::nan("");
  EXPECT_EQ(message_of<DataError>([&] { make_feature_map(kernel, broken, exact(4)); }),
            "row 4, input 1 is not finite; fill or drop missing values before a kernel reads them");
  EXPECT_EQ(message_of<UsageError>([&] { make_feature_map(kernel, x.narrow(1, 0, 2), exact(4)); }),
            "a feature map takes rows of 7 columns");
}

}  // namespace
}  // namespace ick
