#include "feature/random_fourier.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "support/feature_case.h"

namespace ick {
namespace {

MapOptions fourier(std::int64_t features, Draws draws, std::uint64_t seed) {
  MapOptions options;
  options.kind = MapKind::fourier;
  options.features = features;
  options.draws = draws;
  options.seed = seed;
  options.dtype = at::kDouble;
  return options;
}

at::Tensor fourier_gram(const Kernel& kernel, const at::Tensor& x, std::int64_t features, Draws draws,
                        std::uint64_t seed) {
  const at::NoGradGuard no_gradient;
  return gram((*make_feature_map(kernel, x, fourier(features, draws, seed)))(x));
}

double root_mean_square(const at::Tensor& t) { return t.square().mean().sqrt().item<double>(); }

std::vector<std::string> formulas_with_a_spectrum() {
  std::vector<std::string> formulas;
  for (const KernelRow& row : kernel_table()) {
    if (row.spectrum == Spectrum::none) continue;
    formulas.push_back(call_text(row));
    if (row.spectrum != Spectrum::series && row.inputs == Inputs::numbers) formulas.push_back(call_text(row, 3));
  }
  for (const char* product :
       {"rbf(x) * matern32(t)", "rbf(t) * periodic(t)", "spectral_mixture(x) * periodic(t)", "periodic(x) * cosine(x)",
        "periodic(x) * periodic(t)", "rbf(x) + matern52(t)", "rational_quadratic(x) * rbf(lat, lon, sphere)",
        "rbf(x) * (periodic(t) + constant())", "spectral_mixture(x) * spectral_mixture(x) * cosine(x)"}) {
    formulas.emplace_back(product);
  }
  return formulas;
}

// Twelve independent maps of 5,000 features: the mean of z . z' lies within five of its standard errors of k, entry by
// entry, and no single map is off by more than 5 (p / 2)^-1/2 k(0). 4e-4 allows for the harmonics beyond the longest
// series kept.
// With few features most harmonics are left out, and those drawn stand for the others.
TEST(RandomFourier, FewFeaturesAreRightOnAverage) {
  const at::Tensor x = feature_rows(5, 3, 1.5);
  for (const std::string formula : {"rbf(x) * periodic(t, lengthscale=0.3) * periodic(u, lengthscale=0.5)",
                                    "rbf(x) * periodic(t, lengthscale=0.1)"}) {
    const Kernel kernel = kernel_on(formula, x, kFeatureColumns, kFeatureLevels);
    constexpr int kSeeds = 600;
    std::vector<at::Tensor> all;
    for (int seed = 0; seed < kSeeds; ++seed) {
      all.push_back(fourier_gram(kernel, x, 16, Draws::orthogonal, static_cast<std::uint64_t>(seed))[0]);
    }
    const at::Tensor grams = at::stack(all), error = grams.std(0) / std::sqrt(static_cast<double>(kSeeds));
    const at::Tensor off = (grams.mean(0) - kernel.matrix(x, x)[0].detach()).abs();
    EXPECT_LT((off / (error + 2e-3)).max().item<double>(), 5.0) << formula;
  }
}

TEST(RandomFourier, TendsToTheKernel) {
  constexpr int kSeeds = 12;
  const at::Tensor x = feature_rows(8, 3, 1.5);
  double most = 0.0;
  for (const std::string& formula : formulas_with_a_spectrum()) {
    const Kernel kernel = feature_kernel(formula, 2, 1, 1.0);
    const at::Tensor k = kernel.matrix(x, x).detach();
    const double scale = largest(k);
    const bool is_drawn =
        make_feature_map(kernel, x, fourier(40, Draws::independent, 0))->report().name.find("random") !=
        std::string::npos;
    for (const Draws draws : {Draws::independent, Draws::orthogonal}) {
      std::vector<at::Tensor> maps;
      for (std::uint64_t seed = 0; seed < (is_drawn ? kSeeds : 2); ++seed) {
        maps.push_back(fourier_gram(kernel, x, 5000, draws, seed));
      }
      const at::Tensor all = at::stack(maps), off = (all.mean(0) - k).abs();
      const at::Tensor standard_error = all.std(0, true) / std::sqrt(static_cast<double>(kSeeds));
      // a tenth of the mean standard error more, because twelve draws estimate each with an sd of a fifth
      const at::Tensor allowed = 5.0 * (standard_error + 0.1 * standard_error.mean()) + 4e-4 * scale;
      EXPECT_LT((off / allowed).max().item<double>(), 1.0) << formula;
      EXPECT_LT(largest(all - k), (5.0 / std::sqrt(2500.0)) * scale) << formula;
      most = std::max(most, (off / allowed).max().item<double>());
    }
  }
  RecordProperty("largest_share_of_what_is_allowed", std::to_string(most));
}

TEST(RandomFourier, ErrorOfIndependentDrawsFallsLikeTheRoot) {
  const at::Tensor x = feature_rows(30, 4, 2.0);
  for (const char* formula : {"rbf(x, t)", "matern32(x)", "rational_quadratic(x)", "spectral_mixture(x)"}) {
    const Kernel kernel = feature_kernel(formula);
    const at::Tensor k = kernel.matrix(x, x).detach();
    double sum_a = 0.0, sum_b = 0.0, sum_aa = 0.0, sum_ab = 0.0;
    int count = 0;
    for (std::int64_t p = 32; p <= 2048; p *= 2, ++count) {
      double error = 0.0;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        error += root_mean_square(fourier_gram(kernel, x, p, Draws::independent, seed) - k) / 20.0;
      }
      const double a = std::log(static_cast<double>(p)), b = std::log(error);
      sum_a += a, sum_b += b, sum_aa += a * a, sum_ab += a * b;
    }
    const double slope = (count * sum_ab - sum_a * sum_b) / (count * sum_aa - sum_a * sum_a);
    RecordProperty("slope_" + std::string(formula, std::string(formula).find('(')), std::to_string(slope));
    EXPECT_GT(slope, -0.65) << formula;
    EXPECT_LT(slope, -0.35) << formula;
  }
}

TEST(RandomFourier, OrthogonalDrawsBeatIndependentOnes) {
  for (const int dimensions : {1, 2, 4, 8}) {
    std::string columns;
    std::vector<std::string> names;
    for (int d = 0; d < dimensions; ++d) {
      names.push_back("x" + std::to_string(d));
      columns += (d > 0 ? ", " : "") + names.back();
    }
    // rows about one lengthscale apart in every number of dimensions
    const at::Tensor x = standard_normal_rows(40, dimensions, 5) / std::sqrt(dimensions);
    for (const std::string name : {"rbf", "matern52"}) {
      const Kernel kernel = kernel_on(name + "(" + columns + ", lengthscale=1)", x, names);
      const at::Tensor k = kernel.matrix(x, x).detach();
      double orthogonal = 0.0, independent = 0.0;
      for (std::uint64_t seed = 0; seed < 30; ++seed) {
        orthogonal += root_mean_square(fourier_gram(kernel, x, 64, Draws::orthogonal, seed) - k);
        independent += root_mean_square(fourier_gram(kernel, x, 64, Draws::independent, seed) - k);
      }
      RecordProperty(name + "_" + std::to_string(dimensions), std::to_string(orthogonal / independent));
      EXPECT_LT(orthogonal, 0.9 * independent) << name << " in " << dimensions;
    }
  }
}

TEST(RandomFourier, PeriodicIsItsSeries) {
  const at::Tensor x = feature_rows(40, 6, 30.0);
  const Kernel kernel =
      kernel_on("periodic(t, period=7, lengthscale=1, variance=2)", x, kFeatureColumns, kFeatureLevels);
  const at::Tensor k = kernel.matrix(x, x).detach();
  EXPECT_LT(largest(fourier_gram(kernel, x, 24, Draws::orthogonal, 0) - k), 1e-6);
  EXPECT_GT(largest(fourier_gram(kernel, x, 6, Draws::orthogonal, 0) - k), 1e-2) << "three harmonics are not enough";
  EXPECT_TRUE(
      at::equal(fourier_gram(kernel, x, 24, Draws::independent, 1), fourier_gram(kernel, x, 24, Draws::orthogonal, 2)))
      << "nothing is drawn";
  EXPECT_EQ(make_feature_map(kernel, x, fourier(24, Draws::orthogonal, 0))->report().name,
            "Fourier series (12 frequencies)");
}

// cos(a) cos(b) = (cos(a + b) + cos(a - b)) / 2: two frequencies are all there is.
TEST(RandomFourier, ProductsOfKnownFrequenciesAreExact) {
  const at::Tensor x = feature_rows(40, 7, 3.0);
  for (const char* formula :
       {"cosine(x) * cosine(x)", "cosine(x) * cosine(t) * cosine(u)", "constant() * cosine(x, t)"}) {
    const Kernel kernel = feature_kernel(formula, 2);
    const at::Tensor k = kernel.matrix(x, x).detach();
    EXPECT_LT(largest(fourier_gram(kernel, x, 8, Draws::orthogonal, 0) - k), 1e-12 * largest(k)) << formula;
  }
  // period = lengthscale = 1: harmonics of the product beyond those kept weigh less than 1e-6
  const Kernel periodic =
      kernel_on("periodic(x, period=2, lengthscale=1) * periodic(t, period=3, lengthscale=1) * cosine(x)", x,
                kFeatureColumns, kFeatureLevels);
  EXPECT_LT(largest(fourier_gram(periodic, x, 1000, Draws::orthogonal, 0) - periodic.matrix(x, x).detach()), 1e-5);
}

TEST(RandomFourier, FollowsTheParameters) {
  const at::Tensor x = feature_rows(20, 8, 2.0);
  Kernel kernel = kernel_on("rational_quadratic(x)", x, kFeatureColumns, kFeatureLevels);
  const auto map = make_feature_map(kernel, x, fourier(4000, Draws::orthogonal, 0));
  for (const double alpha : {0.3, 1.0, 20.0}) {
    kernel.parameters().set("term1.x.rational_quadratic.alpha", alpha);
    kernel.parameters().set("term1.x.rational_quadratic.lengthscale", 2.0 / alpha);
    EXPECT_LT(largest(gram((*map)(x)) - kernel.matrix(x, x).detach()), 4.0 / std::sqrt(2000.0)) << alpha;
  }
}

TEST(RandomFourier, GradientsReachEveryParameter) {
  const at::Tensor x = feature_rows(30, 9, 2.0);
  for (const std::string& formula : formulas_with_a_spectrum()) {
    const Kernel kernel = feature_kernel(formula, 2, 1, 1.0);
    const auto map = make_feature_map(kernel, x, fourier(200, Draws::orthogonal, 0));
    const at::Tensor z = (*map)(x), gradient = map_gradients(*map, z, random_like(z, 1))[0];
    for (const Parameter& each : kernel.parameters().parameters()) {
      if (each.fixed) {
        EXPECT_EQ(largest(gradient.narrow(1, each.first, each.count)), 0.0) << formula << " " << each.path;
      } else {
        EXPECT_GT(gradient.narrow(1, each.first, each.count).abs().min().item<double>(), 1e-8)
            << formula << " " << each.path;
      }
    }
  }
}

TEST(RandomFourier, StandardNormalsAreWhatTheySay) {
  for (const std::int64_t inputs : {1, 3, 8}) {
    for (const Draws draws : {Draws::orthogonal, Draws::independent}) {
      Random random(3);
      const at::Tensor w = standard_normals(24000, inputs, draws, random);
      ASSERT_EQ(w.sizes().vec(), (std::vector<std::int64_t>{24000, inputs}));
      const double standard_error = 1.0 / std::sqrt(24000.0);
      EXPECT_LT(largest(w.mean(0)), 5.0 * standard_error);
      const at::Tensor second = w.t().matmul(w) / 24000.0 - at::eye(inputs, at::kDouble);
      EXPECT_LT(largest(second), 5.0 * std::sqrt(2.0) * standard_error);
      EXPECT_NEAR(w.pow(4).mean().item<double>(), 3.0, 5.0 * std::sqrt(96.0) * standard_error);  // E x^8 - 9 = 96
    }
  }
  Random random(4);
  const at::Tensor w = standard_normals(8, 4, Draws::orthogonal, random);
  for (const std::int64_t first : {0, 4}) {
    const at::Tensor block = w.narrow(0, first, 4), products = block.matmul(block.t());
    EXPECT_LT(largest(products - at::diag(products.diagonal())), 1e-12) << "rows of a block at right angles";
  }
}

TEST(RandomFourier, Refusals) {
  const at::Tensor x = feature_rows(20, 11);
  const auto refusal = [&](const std::string& formula, std::int64_t features) {
    return message_of<UsageError>(
        [&] { make_feature_map(feature_kernel(formula), x, fourier(features, Draws::orthogonal, 0)); });
  };
  for (const std::string name : {"linear", "polynomial"}) {
    EXPECT_EQ(refusal(name + "(x)", 8),
              name + " has no spectrum, so it has no Fourier or Hilbert features; use Nystrom");
  }
  EXPECT_EQ(refusal("rbf(x) * categorical(level)", 8),
            "categorical has no spectrum, so it has no Fourier or Hilbert features; use Nystrom");
  EXPECT_EQ(refusal("periodic(x, t)", 8),
            "the Fourier series of a periodic kernel is for one column, found 2; use Nystrom features, or one periodic "
            "kernel for each column");
  EXPECT_EQ(refusal("rbf(x)", 1), "Fourier features come in pairs of cosine and sine; ask for at least 2");
  EXPECT_EQ(refusal("spectral_mixture(x, components=9)", 16),
            "the product has 9 spectral components; ask for at least twice as many Fourier features");
  EXPECT_EQ(refusal("spectral_mixture(x, components=100) * spectral_mixture(t, components=100)", 16),
            "the product has too many spectral components for Fourier features; use Nystrom");
}

}  // namespace
}  // namespace ick
