#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "ick/kernel/declaration.h"

// Initial values, in the units of the data and such that the prior variance of a kernel starts at one. Members of an
// ensemble start apart by a seeded factor.
namespace ick::start {

inline double spread(const StartContext& at) { return std::exp(0.1 * at.random.normal()); }

inline double one(const StartContext&) { return 1.0; }

// A quarter of the range: several humps fit. Distances grow with the root of the number of inputs, and so does this.
inline double lengthscale(const StartContext& at) {
  const auto inputs = static_cast<double>(at.inputs.size());
  return 0.25 * at.inputs[at.input].span() * std::sqrt(inputs) * spread(at);
}

// A quarter of the extent in km; a degree of latitude is 111.2 km.
inline double lengthscale_km(const StartContext& at) {
  const double degrees = std::hypot(at.inputs[0].high - at.inputs[0].low, at.inputs[1].high - at.inputs[1].low);
  return 0.25 * 111.2 * (degrees > 0.0 ? degrees : 1.0) * spread(at);
}

// Relative to the variation of sin, which needs no unit.
inline double periodic_lengthscale(const StartContext& at) { return spread(at); }

// The strongest known frequency, else a third of the range.
inline double period(const StartContext& at) {
  const InputSummary& input = at.inputs[at.input];
  return input.frequencies.empty() ? input.span() / 3.0 * spread(at) : 1.0 / input.frequencies.front();
}

inline double mixture_weight(const StartContext& at) { return 1.0 / at.structure.components; }

// The component's peak of the spectrum, else a seeded draw, even in the logarithm, of 1/2 to 8 cycles over the range.
// Never zero, where the gradient vanishes and a mean would stay for ever.
inline double mixture_mean(const StartContext& at) {
  const InputSummary& input = at.inputs[at.input];
  if (at.component < std::ssize(input.frequencies)) return input.frequencies[at.component];
  return 0.5 * std::pow(16.0, at.random.uniform()) / input.span();
}

inline double mixture_scale(const StartContext& at) { return 0.5 / at.inputs[at.input].span() * spread(at); }

// Standard deviation of the input, so that sum_d (x_d - c_d)^2 / l_d^2 is about one.
inline double dot_lengthscale(const StartContext& at) {
  const double size = at.inputs[at.input].root_mean_square;
  return (size > 0.0 ? size : 1.0) * std::sqrt(static_cast<double>(at.inputs.size()));
}

inline double linear_variance(const StartContext& at) { return std::pow(dot_lengthscale(at), -2.0); }

// (1 + 1)^-degree
inline double polynomial_variance(const StartContext& at) { return std::pow(2.0, -at.structure.degree); }

inline double half(const StartContext&) { return 0.5; }

// Seeded: at zero the gradient vanishes. Together with a level's own variance of one half the prior variance is one on
// average.
inline double loading(const StartContext& at) { return std::sqrt(0.5 / at.structure.rank) * at.random.normal(); }

// Priors: weak, in the units of the data. --------------------------------------------------------------------------

// Hardly below the distance of neighbouring rows, hardly above ten times the range.
inline PriorRange lengthscale_range(double span, double inputs, std::int64_t rows, double start) {
  const double count = static_cast<double>(std::max<std::int64_t>(rows, 2));
  const double spacing = span * std::pow(count, -1.0 / inputs);
  constexpr double kLeast = 0.1;  // of the start, where spaces of many inputs leave rows far apart
  return {std::min(spacing, kLeast * start), 10.0 * span * std::sqrt(inputs)};
}
inline PriorRange lengthscale_prior(const StartContext& at) {
  const auto inputs = static_cast<double>(at.inputs.size());
  const InputSummary& input = at.inputs[at.input];
  return lengthscale_range(input.span(), inputs, input.rows, 0.25 * input.span() * std::sqrt(inputs));
}
inline PriorRange lengthscale_km_prior(const StartContext& at) {
  const double degrees = std::hypot(at.inputs[0].high - at.inputs[0].low, at.inputs[1].high - at.inputs[1].low);
  const double extent = 111.2 * (degrees > 0.0 ? degrees : 1.0);
  return lengthscale_range(extent, 2.0, at.inputs[0].rows, 0.25 * extent);
}
// Of a sine: below, it is rougher than any season; above, it is a constant.
inline PriorRange periodic_lengthscale_prior(const StartContext&) { return {0.03, 10.0}; }

// A term may explain next to nothing; a hundred times the target's variance it hardly has.
inline PriorRange variance_range(double start) { return {1e-4 * start, 100.0 * start}; }
inline PriorRange variance_prior(const StartContext&) { return variance_range(1.0); }
inline PriorRange linear_variance_prior(const StartContext& at) { return variance_range(linear_variance(at)); }
inline PriorRange polynomial_variance_prior(const StartContext& at) { return variance_range(polynomial_variance(at)); }
inline PriorRange mixture_weight_prior(const StartContext& at) { return variance_range(mixture_weight(at)); }
inline PriorRange half_prior(const StartContext&) { return variance_range(0.5); }
inline PriorRange alpha_prior(const StartContext&) { return {0.05, 100.0}; }

}  // namespace ick::start
