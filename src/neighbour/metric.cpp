#include "neighbour/metric.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ick {

namespace {

// A parameter of a factor by its name: its numbers, or null.
struct FactorNumbers {
  const double* at = nullptr;
  int count = 0;

  double operator()(int i) const { return count == 1 ? at[0] : at[i]; }
};

FactorNumbers parameter(const Factor& f, const double* theta, std::string_view name) {
  const double* at = theta + f.first_parameter;
  for (const ParameterDeclaration& each : f.row->parameters) {
    const int count = size_of(each.shape, f.structure);
    if (each.name == name) return {at, count};
    at += count;
  }
  return {};
}

using Columns = std::vector<std::vector<double>>;

std::vector<double> column(const at::Tensor& inputs, int d) {
  const at::Tensor values = inputs.select(1, d).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

void add_scaled(Columns& to, std::vector<double> values, double by) {
  for (double& each : values) each *= by;
  to.push_back(std::move(values));
}

// Points of a circle of radius 1 / l: |a - b|^2 = (2 sin(pi (x - x') / p) / l)^2
void add_circle(Columns& to, const std::vector<double>& values, double frequency, double radius) {
  std::vector<double> cosine, sine;
  for (const double each : values) {
    const double turns = frequency * each;
    const double angle = 2.0 * std::numbers::pi * (turns - std::floor(turns));
    cosine.push_back(radius * std::cos(angle)), sine.push_back(radius * std::sin(angle));
  }
  to.push_back(std::move(cosine)), to.push_back(std::move(sine));
}

// B = W W' + diag(v). Rows of (W, sqrt(v)) over their lengths are unit vectors whose products are the correlations; the
// own parts of levels are one coordinate each, or, where there are many, differ by the level's number.
void add_levels(Columns& to, const Factor& f, const double* theta, const std::vector<double>& codes) {
  constexpr double kApart = 3.0;  // how far levels that have nothing in common are, as for lengthscales of one
  constexpr int kFew = 16;
  const FactorNumbers loading = parameter(f, theta, "loading"), variance = parameter(f, theta, "variance");
  const int levels = f.structure.levels, rank = f.structure.rank;
  const auto size = [&](int level) {
    double sum = variance(level);
    for (int r = 0; r < rank; ++r) sum += loading.at[level * rank + r] * loading.at[level * rank + r];
    return std::sqrt(sum);
  };
  for (int r = 0; r < rank; ++r) {
    std::vector<double> values;
    for (const double code : codes) {
      const int level = static_cast<int>(code);
      values.push_back(kApart * loading.at[level * rank + r] / size(level));
    }
    to.push_back(std::move(values));
  }
  const auto own = [&](int level) { return kApart * std::sqrt(variance(level)) / size(level); };
  for (int own_level = 0; own_level < levels && levels <= kFew; ++own_level) {
    std::vector<double> values;
    for (const double code : codes) values.push_back(static_cast<int>(code) == own_level ? own(own_level) : 0.0);
    to.push_back(std::move(values));
  }
  if (levels <= kFew) return;
  std::vector<double> values;
  for (const double code : codes) values.push_back(code * own(static_cast<int>(code)));
  to.push_back(std::move(values));
}

void add_factor(Columns& to, const Factor& f, const double* theta, const at::Tensor& x) {
  const at::Tensor inputs = Kernel::embed(f, x).contiguous();
  const int count = f.structure.inputs;
  const FactorNumbers lengthscale = parameter(f, theta, "lengthscale");
  switch (f.row->spectrum) {
    case Spectrum::gaussian:
    case Spectrum::student:
    case Spectrum::gamma_mixture:
      for (int d = 0; d < count; ++d) add_scaled(to, column(inputs, d), 1.0 / lengthscale(d));
      return;
    case Spectrum::series:
      for (int d = 0; d < count; ++d) {
        add_circle(to, column(inputs, d), 1.0 / parameter(f, theta, "period")(d), 1.0 / lengthscale(d));
      }
      return;
    case Spectrum::line:
      for (int d = 0; d < count; ++d) add_circle(to, column(inputs, d), 1.0 / parameter(f, theta, "period")(d), 1.0);
      return;
    case Spectrum::gaussian_mixture: {  // by how fast it falls at first
      const FactorNumbers weight = parameter(f, theta, "weight"), mean = parameter(f, theta, "mean"),
                          scale = parameter(f, theta, "scale");
      for (int d = 0; d < count; ++d) {
        double sum = 0.0, curvature = 0.0;
        for (int c = 0; c < f.structure.components; ++c) {
          const double m = mean.at[c * count + d], s = scale.at[c * count + d];
          sum += weight(c), curvature += weight(c) * (m * m + s * s);
        }
        add_scaled(to, column(inputs, d), 2.0 * std::numbers::pi * std::sqrt(curvature / sum));
      }
      return;
    }
    case Spectrum::origin:
    case Spectrum::none:
      break;
  }
  if (f.row->inputs == Inputs::level) add_levels(to, f, theta, column(inputs, 0));
}

}  // namespace

Coordinates coordinates_of(const std::vector<Factor>& product, const double* theta, const at::Tensor& x) {
  Columns columns;
  for (const Factor& f : product) add_factor(columns, f, theta, x);
  Coordinates found;
  found.size = static_cast<int>(columns.size());
  found.at.resize(columns.size() * static_cast<std::size_t>(x.size(0)));
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    for (std::size_t d = 0; d < columns.size(); ++d) found.at[i * found.size + d] = columns[d][i];
  }
  return found;
}

}  // namespace ick
