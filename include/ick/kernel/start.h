#pragma once

#include <algorithm>
#include <cmath>
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

}  // namespace ick::start
