#include "feature/hilbert.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "support/feature_case.h"

namespace ick {
namespace {

MapOptions hilbert(std::int64_t features, double boundary = 1.5) {
  MapOptions options;
  options.kind = MapKind::hilbert;
  options.features = features;
  options.boundary = boundary;
  options.dtype = at::kDouble;
  return options;
}

double hilbert_miss(const Kernel& kernel, const at::Tensor& x, const MapOptions& options) {
  const at::Tensor k = kernel.matrix(x, x).detach();
  return largest(gram((*make_feature_map(kernel, x, options))(x)) - k) / largest(k);
}

struct HilbertCase {
  const char* formula;
  std::int64_t features;
  double boundary, tolerance;
};

// On [-1, 1] with boundary c the sine basis adds images of the rows at a distance of 2 (c - 1) or more, and leaves out
// frequencies above pi J / (2 c). An rbf of lengthscale 0.5, c = 3: images e^-32, frequencies beyond 25 weigh e^-78.
// Matern tails fall as a power, so it is J that counts: with nu = 5/2 the sum beyond it is of order (J / c)^-5.
const HilbertCase kCases[] = {
    {"rbf(x, lengthscale=0.5)", 48, 3.0, 1e-9},
    {"rbf(x, lengthscale=0.2)", 64, 2.0, 1e-9},
    {"matern52(x, lengthscale=0.5)", 200, 4.0, 1e-5},
    {"matern32(x, lengthscale=0.5)", 400, 4.0, 1e-4},
    {"spectral_mixture(x, mean=1, scale=0.3)", 60, 3.0, 1e-9},
    {"periodic(t, period=0.7, lengthscale=1)", 25, 1.5, 1e-12},
    {"cosine(t, period=0.7)", 2, 1.5, 1e-12},
    {"constant()", 1, 1.5, 1e-12},
    {"rbf(x, t, lengthscale=0.8)", 900, 4.0, 1e-8},
    {"matern52(x, t, lengthscale=1)", 3600, 5.0, 1e-3},
    {"rbf(x, t, u, lengthscale=1)", 4096, 4.5, 1e-6},
    {"rbf(x, lengthscale=0.5) * periodic(t, period=0.7, lengthscale=1)", 1600, 3.0, 1e-9},
    {"rbf(x, lengthscale=0.8) * rbf(t, lengthscale=0.8)", 900, 4.0, 1e-8},
    {"rbf(x, lengthscale=1) * cosine(t) * spectral_mixture(u, mean=0.2, scale=0.15)", 5832, 4.0, 1e-5},
};

TEST(Hilbert, AgreesWithTheKernel) {
  const at::Tensor x = feature_rows(25, 1, 1.0);
  for (const HilbertCase& each : kCases) {
    const Kernel kernel = kernel_on(each.formula, x, kFeatureColumns, kFeatureLevels, {2, 0});
    const double off = hilbert_miss(kernel, x, hilbert(each.features, each.boundary));
    RecordProperty(std::string("miss of ") + each.formula, std::to_string(std::log10(off)));
    EXPECT_LT(off, each.tolerance) << each.formula;
  }
}

TEST(Hilbert, AgreesWithNystrom) {
  const at::Tensor x = feature_rows(25, 2, 1.0);
  for (const HilbertCase& each : kCases) {
    const Kernel kernel = kernel_on(each.formula, x, kFeatureColumns, kFeatureLevels, {2, 0});
    MapOptions nystrom;
    nystrom.features = 25;
    nystrom.placement = Placement::pivoted_cholesky;
    nystrom.dtype = at::kDouble;
    const at::Tensor a = gram((*make_feature_map(kernel, x, nystrom))(x));
    const at::Tensor b = gram((*make_feature_map(kernel, x, hilbert(each.features, each.boundary)))(x));
    EXPECT_LT(largest(a - b) / largest(a), each.tolerance + 3e-8) << each.formula;
  }
}

// At the edge the first image stands 2 (L - 1) away, and k(x, x) comes out short by k of that distance. The box reaches
// 2.5 lengthscales beyond the data, or further where the boundary says so.
TEST(Hilbert, MissesByTheImageAtTheEdge) {
  const at::Tensor x = at::linspace(-1.0, 1.0, 21, at::kDouble).unsqueeze(1);
  const Kernel kernel = kernel_on("rbf(x, lengthscale=0.4)", x, {"x"});
  for (const double boundary : {1.2, 1.5, 2.1, 2.2}) {
    const auto map = make_feature_map(kernel, x, hilbert(64, boundary));
    const double image = std::exp(-0.5 * std::pow(2.0 * (std::max(boundary, 2.0) - 1.0) / 0.4, 2.0));
    EXPECT_NEAR(map->residual(x)[0][20].item<double>(), image, 1e-9) << boundary;
  }
}

TEST(Hilbert, ErrorFallsWithFeatures) {
  const at::Tensor x = feature_rows(40, 3, 1.0);
  const Kernel kernel = kernel_on("matern32(x, lengthscale=0.3)", x, kFeatureColumns, kFeatureLevels);
  double before = 1.0;
  for (const std::int64_t features : {8, 16, 32, 64, 128}) {
    const double off = hilbert_miss(kernel, x, hilbert(features, 3.0));
    EXPECT_LT(off, 0.6 * before) << features;
    before = off;
  }
}

TEST(Hilbert, FollowsTheParametersOverTheSameBasis) {
  const at::Tensor x = feature_rows(30, 4, 1.0);
  Kernel kernel = kernel_on("rbf(x) * periodic(t)", x, kFeatureColumns, kFeatureLevels, {2, 0});
  const auto map = make_feature_map(kernel, x, hilbert(40 * 40, 4.0));
  EXPECT_EQ(map->report().name, "Hilbert (1560 features)");  // 40 sines times 20 cosines and 19 sines
  EXPECT_EQ(map->features(), 1560);
  for (const double l : {0.3, 0.5, 1.0}) {
    kernel.parameters().set("term1.x.rbf.lengthscale", l);
    kernel.parameters().set("term1.t.periodic.lengthscale", 2.0 * l);
    kernel.parameters().set("term1.t.periodic.period", l);
    EXPECT_LT(largest(gram((*map)(x)) - kernel.matrix(x, x).detach()), 1e-4) << l;
  }
}

TEST(Hilbert, OneRowAndConstantColumnsHaveABox) {
  const at::Tensor x = at::full({3, 1}, 7.0, at::kDouble);
  const Kernel kernel = kernel_on("rbf(x, lengthscale=0.2)", x, {"x"});
  const auto map = make_feature_map(kernel, x, hilbert(64));
  // Images stand 5 lengthscales away on both sides.
  EXPECT_NEAR(largest(gram((*map)(x)) - 1.0), 2.0 * std::exp(-12.5), 1e-9);
}

TEST(Hilbert, DefaultsServeTheKernelsOwnStart) {
  const at::Tensor x = feature_rows(60, 8, 1.0);
  struct Case {
    const char* formula;
    std::int64_t features;
    double bound;
  };
  for (const Case& each : {Case{"rbf(x)", 32, 1e-4}, Case{"rbf(x, t)", 400, 1e-3}, Case{"rbf(x, t, u)", 8000, 5e-3},
                           Case{"matern52(x)", 64, 1e-3}, Case{"spectral_mixture(x)", 64, 1e-3}}) {
    const Kernel kernel = kernel_on(each.formula, x, kFeatureColumns, kFeatureLevels);
    MapOptions options;
    options.kind = MapKind::hilbert;
    options.features = each.features;
    options.dtype = at::kDouble;
    EXPECT_LT(hilbert_miss(kernel, x, options), each.bound) << each.formula;
  }
}

TEST(Hilbert, Refusals) {
  const at::Tensor x = feature_rows(20, 5);
  const auto refusal = [&](const std::string& formula, double boundary) {
    return message_of<UsageError>([&] { make_feature_map(feature_kernel(formula), x, hilbert(64, boundary)); });
  };
  EXPECT_EQ(refusal("rbf(x, t, u, v)", 1.5), "Hilbert features are for 1 to 3 inputs, found 4; use Nystrom or Fourier");
  EXPECT_EQ(refusal("rbf(lat, lon, sphere) * rbf(x)", 1.5),
            "Hilbert features are for 1 to 3 inputs, found 4; use Nystrom or Fourier");
  EXPECT_EQ(refusal("rbf(x, t) * periodic(t)", 1.5),
            "Hilbert features take each column once in a product, found input 2 twice; use Nystrom or Fourier");
  EXPECT_EQ(refusal("rational_quadratic(x)", 1.5),
            "rational_quadratic has no spectral density in closed form; use Nystrom or Fourier");
  EXPECT_EQ(
      refusal("spectral_mixture(x, t)", 1.5),
      "the waves of spectral_mixture on several columns run aslant to the box of Hilbert features; use Nystrom or "
      "Fourier");
  EXPECT_EQ(refusal("linear(x)", 1.5), "linear has no spectrum, so it has no Fourier or Hilbert features; use Nystrom");
  EXPECT_EQ(refusal("rbf(x)", 1.0), "the boundary of Hilbert features must be above 1: the box encloses the data");
  EXPECT_EQ(refusal("rbf(x)", std::nan("")),
            "the boundary of Hilbert features must be above 1: the box encloses the data");
  EXPECT_EQ(message_of<DataError>([&] { make_feature_map(feature_kernel("rbf(x)"), feature_rows(0, 1), hilbert(8)); }),
            "there are no rows to lay the box of Hilbert features around; give at least one");
}

}  // namespace
}  // namespace ick
