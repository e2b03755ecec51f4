#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/feature_case.h"
#include "support/gradient_check.h"

// The whole map's gradient against differences of the map itself, in float64.
namespace ick {
namespace {

struct GradientCase {
  std::string formula;
  MapKind kind = MapKind::nystrom;
  Path path = Path::fused;
  bool train_points = false;
  std::int64_t features = 8;
};

std::ostream& operator<<(std::ostream& out, const GradientCase& each) {
  return out << each.formula << (each.path == Path::fused ? "" : ", reference")
             << (each.train_points ? ", trained" : "");
}

std::unique_ptr<FeatureMap> map_of(const GradientCase& each, const Kernel& kernel) {
  MapOptions options;
  options.kind = each.kind;
  options.path = each.path;
  options.features = each.features;
  options.train_points = each.train_points;
  options.dtype = at::kDouble;
  return make_feature_map(kernel, feature_rows(40, 1, 3.0), options);
}

at::Tensor free_columns(const ParameterSet& parameters) {
  std::vector<std::int64_t> columns;
  for (const Parameter& each : parameters.parameters()) {
    for (std::int64_t i = 0; i < each.count && !each.fixed; ++i) columns.push_back(each.first + i);
  }
  return at::tensor(columns, at::kLong);
}

class MapGradient : public testing::TestWithParam<GradientCase> {};
class PointGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(MapGradient, IsTheDifferenceQuotient) {
  Kernel kernel = feature_kernel(GetParam().formula, 2, 5, 1.0);
  const auto map = map_of(GetParam(), kernel);
  const at::Tensor x = feature_rows(11, 2, 3.0), raw = kernel.parameters().raw().detach().clone();
  const at::Tensor upstream = random_like((*map)(x), 4), free = free_columns(kernel.parameters());
  const GradientCheck check = check_gradient(
      [&](const at::Tensor& value) {
        kernel.parameters().raw() = at::index_copy(raw, 1, free, value);
        return ((*map)(x)*upstream).sum();
      },
      raw.index_select(1, free));
  EXPECT_LT(check.error, 1e-6);
  EXPECT_GT(check.largest, 1e-2);
}

TEST_P(PointGradient, IsTheDifferenceQuotient) {
  const Kernel kernel = feature_kernel(GetParam().formula, 2, 5, 1.0);
  const auto map = map_of(GetParam(), kernel);
  ASSERT_EQ(map->own_parameters().size(), 1U);
  const at::Tensor x = feature_rows(11, 2, 3.0), points = map->own_parameters()[0], start = points.detach().clone();
  const at::Tensor upstream = random_like((*map)(x), 4);
  const GradientCheck check = check_gradient(
      [&](const at::Tensor& value) {
        points.detach().copy_(value.detach());
        const at::Tensor total = ((*map)(x)*upstream).sum();
        if (!at::GradMode::is_enabled()) return total;
        return (torch::autograd::grad({total}, {points})[0] * value).sum();  // has the map's gradient at `value`
      },
      start);
  EXPECT_LT(check.error, 1e-6);
  EXPECT_GT(check.largest, 1e-3);
}

const std::vector<GradientCase> kFixedPoints = {
    {"periodic(t)"},
    {"periodic(t)", MapKind::nystrom, Path::reference},
    {"rbf(x)"},
    {"rbf(x) * periodic(t)"},
    {"matern32(lat, lon, sphere)"},
    {"spectral_mixture(x)"},
    {"categorical(level)"},
    {"categorical(level) * rational_quadratic(x)"},
    {"polynomial(x, t, degree=3)"},
    {"linear(x, t, u)"},
    {"cosine(x, t)"},
    {"cosine(t) * linear(x) + cosine(x)"},
    {"rbf(x) * (periodic(t) + linear(u)) + cosine(v)"},
};
const std::vector<GradientCase> kTrainedPoints = {
    {"rbf(x)", MapKind::nystrom, Path::fused, true},
    {"rbf(x)", MapKind::nystrom, Path::reference, true},
    {"periodic(t)", MapKind::nystrom, Path::fused, true},
    {"rbf(x, t) * periodic(t)", MapKind::nystrom, Path::fused, true},
    {"matern32(lat, lon, sphere)", MapKind::nystrom, Path::fused, true},
    {"matern52(lat, lon, sphere) * matern32(x)", MapKind::nystrom, Path::reference, true},
    {"spectral_mixture(x, t, components=3)", MapKind::nystrom, Path::fused, true},
};

INSTANTIATE_TEST_SUITE_P(FixedPoints, MapGradient, testing::ValuesIn(kFixedPoints));
INSTANTIATE_TEST_SUITE_P(TrainedPoints, MapGradient, testing::ValuesIn(kTrainedPoints));
INSTANTIATE_TEST_SUITE_P(TrainedPoints, PointGradient, testing::ValuesIn(kTrainedPoints));

const std::vector<GradientCase> kSpectralCases = {
    {"rbf(x, t)", MapKind::fourier, Path::fused, false, 20},
    {"matern32(x)", MapKind::fourier, Path::fused, false, 20},
    {"rational_quadratic(x, t)", MapKind::fourier, Path::fused, false, 20},
    {"periodic(t)", MapKind::fourier, Path::fused, false, 12},
    {"spectral_mixture(x, t)", MapKind::fourier, Path::fused, false, 20},
    {"rational_quadratic(x) * periodic(t) + cosine(t)", MapKind::fourier, Path::fused, false, 40},
    {"rbf(lat, lon, sphere)", MapKind::fourier, Path::fused, false, 20},
    {"rbf(x)", MapKind::hilbert, Path::fused, false, 20},
    {"matern52(x, t)", MapKind::hilbert, Path::fused, false, 36},
    {"periodic(t) * matern32(x)", MapKind::hilbert, Path::fused, false, 36},
    {"spectral_mixture(x)", MapKind::hilbert, Path::fused, false, 20},
    {"cosine(t) * rbf(x) + constant()", MapKind::hilbert, Path::fused, false, 20},
};

INSTANTIATE_TEST_SUITE_P(Spectral, MapGradient, testing::ValuesIn(kSpectralCases));

}  // namespace
}  // namespace ick
