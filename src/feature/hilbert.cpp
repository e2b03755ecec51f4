#include "feature/hilbert.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "feature/support.h"
#include "ick/base/error.h"
#include "kernel/spectrum.h"

namespace ick {

namespace {

// How far the box must reach beyond the data so that what comes back from its walls counts for little: k there and back
// is below 4e-6 (rbf, spectral mixture) or 3e-3 to 1e-4 (Matern 1/2 to 5/2) of k(0), at the longest lengthscale of the
// start. (D)
at::Tensor reach_of(const Factor& f, const at::Tensor& parameters) {
  const at::Tensor second = parameters.narrow(1, f.first_parameter + 1, f.parameter_count - 1);
  if (f.row->spectrum == Spectrum::gaussian_mixture) {  // one input: means, then scales; l = 1 / (2 pi scale)
    const std::int64_t q = f.structure.components;
    return 2.5 / (2.0 * std::numbers::pi * second.narrow(1, q, q).min()).view({1});
  }
  const double lengthscales = f.row->spectrum == Spectrum::gaussian ? 2.5 : 3.0;
  return (lengthscales * std::get<0>(second.max(0))).expand({f.structure.inputs});
}

}  // namespace

HilbertMap::HilbertMap(const Kernel& product, const MapOptions& options) : FeatureMap(options.dtype), kernel_(product) {
  if (!(options.boundary > 1.0))
    throw UsageError("the boundary of Hilbert features must be above 1: the box encloses the data");
  int inputs = 0;
  std::set<std::int64_t> seen;
  for (const Factor& f : kernel_.terms()[0]) {
    component_count(f, 1);  // refuses a kernel without a spectrum
    inputs += f.structure.inputs;
    for (const std::int64_t column : f.columns) {
      if (seen.insert(column).second) continue;
      throw UsageError("Hilbert features take each column once in a product, found input " +
                       std::to_string(column + 1) + " twice; use Nystrom or Fourier");
    }
    if (f.row->spectrum == Spectrum::gaussian_mixture && f.structure.inputs > 1) {
      throw UsageError("the waves of " + f.row->title() +
                       " on several columns run aslant to the box of Hilbert features; use Nystrom or Fourier");
    }
    if (f.row->spectrum == Spectrum::gamma_mixture) {
      throw UsageError(f.row->title() + " has no spectral density in closed form; use Nystrom or Fourier");
    }
  }
  if (inputs > 3) {
    throw UsageError("Hilbert features are for 1 to 3 inputs, found " + std::to_string(inputs) +
                     "; use Nystrom or Fourier");
  }
  const double per_input =
      std::floor(std::pow(static_cast<double>(options.features), 1.0 / std::max(1, inputs)) + 1e-9);
  per_input_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(per_input));
}

HilbertMap::HilbertMap(const Kernel& product, const at::Tensor& x, const MapOptions& options)
    : HilbertMap(product, options) {
  if (x.size(0) == 0) throw DataError("there are no rows to lay the box of Hilbert features around; give at least one");
  const at::Tensor parameters = kernel_.parameters().natural().detach();
  for (const Factor& f : kernel_.terms()[0]) {
    const at::Tensor inside = Kernel::embed(f, x);
    if (!has_density(f.row->spectrum)) {
      add_basis(f, inside.mean(0), at::empty({0}, at::kDouble));
      continue;
    }
    const at::Tensor low = std::get<0>(inside.min(0)), high = std::get<0>(inside.max(0)), half = 0.5 * (high - low);
    add_basis(f, 0.5 * (low + high), at::maximum(options.boundary * half, half + reach_of(f, parameters)));
  }
}

HilbertMap::HilbertMap(const Kernel& product, const StateReader& state, const MapOptions& options)
    : HilbertMap(product, options) {
  const std::vector<Factor>& factors = kernel_.terms()[0];
  std::vector<std::int64_t> inputs, walls;
  for (const Factor& f : factors) {
    inputs.push_back(f.structure.inputs);
    walls.push_back(has_density(f.row->spectrum) ? f.structure.inputs : 0);
  }
  const auto total = [](const auto& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); };
  const auto centres = state.numbers("centre", {total(inputs)}).split_with_sizes(inputs);
  const auto half_widths = state.numbers("half_width", {total(walls)}, kPositive).split_with_sizes(walls);
  for (std::size_t i = 0; i < factors.size(); ++i) add_basis(factors[i], centres[i], half_widths[i]);
}

void HilbertMap::add_basis(const Factor& f, const at::Tensor& centre, const at::Tensor& half_width) {
  Basis basis;
  basis.centre = centre;
  basis.half_width = half_width;
  if (has_density(f.row->spectrum)) {
    const std::vector<at::Tensor> axes(f.structure.inputs, at::arange(1, per_input_ + 1, at::kDouble));
    std::vector<at::Tensor> grid;
    for (const at::Tensor& axis : at::meshgrid(axes, "ij")) grid.push_back(axis.reshape(-1));
    basis.frequencies = at::stack(grid, 1) * (std::numbers::pi / 2.0) / half_width;
    features_ *= basis.frequencies.size(0);
  } else {
    basis.harmonics = f.row->spectrum == Spectrum::series ? static_cast<int>((per_input_ + 1) / 2) : 1;
    features_ *= f.row->spectrum == Spectrum::series ? 2 * basis.harmonics - 1
                 : f.row->spectrum == Spectrum::line ? 2
                                                     : 1;
  }
  bases_.push_back(std::move(basis));
}

at::Tensor HilbertMap::sine_features(const Factor& f, const Basis& basis, const at::Tensor& parameters,
                                     const at::Tensor& x) const {
  const at::Tensor shifted = (x - basis.centre + basis.half_width).unsqueeze(1);           // (n, 1, D)
  const at::Tensor waves = (shifted * basis.frequencies).sin() / basis.half_width.sqrt();  // (n, J, D)
  const at::Tensor density = spectral_density(f, parameters, basis.frequencies);           // (E, J)
  // A density can underflow to zero, where the root has no slope.
  return waves.prod(-1).unsqueeze(0) * density.clamp_min(1e-300).sqrt().unsqueeze(1);  // (E, n, J)
}

// sqrt(w_c) cos(omega_c x), sqrt(w_c) sin(omega_c x); the harmonic zero has no sine
at::Tensor HilbertMap::series_features(const Factor& f, const Basis& basis, const at::Tensor& parameters,
                                       const at::Tensor& x) const {
  const at::Tensor amplitude = component_weights(f, parameters, basis.harmonics).clamp_min(1e-300).sqrt();  // (E, C)
  const SpectralDraws one{at::zeros({1, f.structure.inputs}, at::kDouble), {}, {}};
  std::vector<at::Tensor> parts;
  for (int c = 0; c < basis.harmonics; ++c) {
    const at::Tensor omega = component_frequencies(f, parameters, c, one);      // (E, 1, D)
    const at::Tensor phase = (x - basis.centre).matmul(omega.transpose(1, 2));  // (E, n, 1)
    const at::Tensor scale = amplitude.select(1, c).view({-1, 1, 1});
    parts.push_back(scale * phase.cos());
    const bool at_zero = f.row->spectrum == Spectrum::origin || (f.row->spectrum == Spectrum::series && c == 0);
    if (!at_zero) parts.push_back(scale * phase.sin());
  }
  return at::cat(parts, 2);
}

at::Tensor HilbertMap::evaluate(const at::Tensor& x, at::ScalarType dtype) const {
  const at::Tensor rows = checked_rows(x, kernel_);
  const at::Tensor parameters = kernel_.parameters().natural();
  const std::vector<Factor>& factors = kernel_.terms()[0];
  at::Tensor z;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const Factor& f = factors[i];
    const at::Tensor of_factor = parameters.narrow(1, f.first_parameter, f.parameter_count);
    const at::Tensor inputs = Kernel::embed(f, rows);
    const at::Tensor part = bases_[i].harmonics > 0 ? series_features(f, bases_[i], of_factor, inputs)
                                                    : sine_features(f, bases_[i], of_factor, inputs);
    // The features of a product are all products of features: (E, n, J, 1) (E, n, 1, J') -> (E, n, J J')
    z = z.defined() ? (z.unsqueeze(3) * part.unsqueeze(2)).flatten(2) : part;
  }
  return checked_features(z.to(dtype));
}

MapReport HilbertMap::report() const { return {"Hilbert (" + std::to_string(features_) + " features)", 0, 0.0}; }

MapState HilbertMap::state() const {
  std::vector<at::Tensor> centres, half_widths;
  for (const Basis& basis : bases_) {
    centres.push_back(basis.centre);
    half_widths.push_back(basis.half_width);
  }
  MapState state;
  put(state, "centre", at::cat(centres));
  put(state, "half_width", at::cat(half_widths));
  return state;
}

}  // namespace ick
