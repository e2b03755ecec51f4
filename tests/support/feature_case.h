#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "ick/feature/feature_map.h"
#include "ick/formula/expression.h"
#include "ick/kernel/kernel.h"
#include "support/message.h"

// What the tests of feature maps share: one table of rows that every kernel finds its columns in, and the plain
// arithmetic that features are compared with.
namespace ick {

inline const std::vector<std::string> kFeatureColumns = {"x", "t", "u", "v", "level", "lat", "lon"};
inline const std::vector<int> kFeatureLevels = {0, 0, 0, 0, 4, 0, 0};

// A map in float64.
inline MapOptions exact(std::int64_t features, Placement placement = Placement::automatic, std::uint64_t seed = 0) {
  MapOptions options;
  options.features = features;
  options.placement = placement;
  options.dtype = at::kDouble;
  options.seed = seed;
  return options;
}

// Numbers between -range and range, levels 0 to 3, places between 70 degrees south and north. (n, 7)
inline at::Tensor feature_rows(std::int64_t n, std::uint64_t seed, double range = 10.0) {
  Random random(seed_for(seed, "feature rows"));
  const at::Tensor x = at::empty({n, 7}, at::kDouble);
  for (std::int64_t i = 0; i < n; ++i) {
    double* row = x.data_ptr<double>() + 7 * i;
    for (int d = 0; d < 4; ++d) row[d] = range * (2.0 * random.uniform() - 1.0);
    row[4] = static_cast<double>(random.below(4));
    row[5] = 140.0 * random.uniform() - 70.0;
    row[6] = 360.0 * random.uniform() - 180.0;
  }
  return x;
}

inline at::Tensor standard_normal_rows(std::int64_t n, std::int64_t columns, std::uint64_t seed) {
  Random random(seed_for(seed, "normal rows"));
  const at::Tensor x = at::empty({n, columns}, at::kDouble);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<double>()[i] = random.normal();
  return x;
}

inline Kernel kernel_on(const std::string& formula, const at::Tensor& x, const std::vector<std::string>& names,
                        const std::vector<int>& levels = {}, const KernelOptions& options = {}) {
  return {make_kernel_sum(parse_expression(formula)), summarise(x, names, levels), options};
}

// Natural values around one (1500 for km, 0.3 for frequencies), different for every member and number. On
// feature_rows() a few dozen inducing points are then apart enough for K(Z, Z) to be well conditioned; for that a
// periodic kernel, whose points share one period, takes a lengthscale of 0.3.
inline void scatter_parameters(Kernel& kernel, std::uint64_t seed, double periodic_lengthscale = 0.3) {
  Random random(seed_for(seed, "scattered parameters"));
  for (const Parameter& each : kernel.parameters().parameters()) {
    if (each.fixed) continue;
    const at::Tensor values = at::empty({kernel.members(), each.count}, at::kDouble);
    double centre = each.unit == Unit::kilometre ? 1500.0 : each.unit == Unit::per_input ? 0.3 : 1.0;
    if (each.path.ends_with("periodic.lengthscale")) centre = periodic_lengthscale;
    const bool is_real = each.constraint.kind == Constraint::Kind::real;
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const double draw = random.normal();
      values.data_ptr<double>()[i] = is_real ? 0.3 + draw : centre * std::exp(0.2 * draw);
    }
    kernel.parameters().set(each.path, values);
  }
}

// A kernel on feature_rows() with scattered parameters.
inline Kernel feature_kernel(const std::string& formula, std::int64_t members = 1, std::uint64_t seed = 1,
                             double periodic_lengthscale = 0.3) {
  Kernel kernel = kernel_on(formula, feature_rows(64, seed), kFeatureColumns, kFeatureLevels, {members, seed});
  scatter_parameters(kernel, seed, periodic_lengthscale);
  return kernel;
}

// A call of every kernel of the table, on as many columns as it can take up to `columns`.
inline std::string call_text(const KernelRow& row, int columns = 1) {
  if (row.inputs == Inputs::place) return std::string(row.name) + "(lat, lon, sphere)";
  if (row.inputs == Inputs::level) return std::string(row.name) + "(level)";
  std::string text = std::string(row.name) + "(";
  for (int d = 0; d < columns; ++d) text += (d > 0 ? ", " : "") + kFeatureColumns[static_cast<std::size_t>(d)];
  return text + ")";
}

inline at::Tensor gram(const at::Tensor& z) {  // (E, n, p) -> (E, n, n): z . z'
  const at::Tensor exact = z.detach().to(at::kDouble);
  return exact.matmul(exact.transpose(1, 2));
}

inline double largest(const at::Tensor& t) { return t.numel() == 0 ? 0.0 : t.detach().abs().max().item<double>(); }

// Largest |a - b| over the largest |b|; infinite when a is not finite or the shapes differ.
inline double miss(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || !a.isfinite().all().item<bool>()) return HUGE_VAL;
  const double size = largest(b), off = largest(a.to(at::kDouble) - b.to(at::kDouble));
  return off == 0.0 ? 0.0 : off / size;
}

// Frobenius norm of the difference over that of k, for matrices of one member.
inline double frobenius_miss(const at::Tensor& approximation, const at::Tensor& k) {
  return ((approximation - k).norm() / k.norm()).item<double>();
}

// How far z . z' is from the kernel on rows x.
inline double covariance_miss(const FeatureMap& map, const at::Tensor& x) {
  const at::NoGradGuard no_gradient;
  return frobenius_miss(gram(map(x)), map.kernel().matrix(x, x));
}

inline at::Tensor random_like(const at::Tensor& t, std::uint64_t seed) {
  Random random(seed_for(seed, "upstream gradient"));
  const at::Tensor r = at::empty(t.sizes(), at::kDouble);
  for (std::int64_t i = 0; i < r.numel(); ++i) r.data_ptr<double>()[i] = random.normal();
  return r.to(t.scalar_type());
}

// Gradients of sum(upstream z) for the kernel's raw parameters and the map's own, zeros where the graph has none.
inline std::vector<at::Tensor> map_gradients(const FeatureMap& map, const at::Tensor& z, const at::Tensor& upstream) {
  std::vector<at::Tensor> leaves = {map.kernel().parameters().raw()};
  for (const at::Tensor& own : map.own_parameters()) leaves.push_back(own);
  std::vector<at::Tensor> gradients = torch::autograd::grad({z}, leaves, {upstream}, false, false, true);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(leaves[i]);
  }
  return gradients;
}

}  // namespace ick
