#pragma once

#include <array>

#include "kernel/radial.h"

// Kernels that return: turns are counted, not radians, so that whole turns are taken off exactly however far apart x
// and x' are.
namespace ick {

inline constexpr ParameterDeclaration kPeriod = {
    "period",    Shape::per_input, Constraint::positive(),
    Unit::input, start::period,    "the strongest frequency's, else a third of the range"};

// Exponential sine squared. GPyTorch divides by l where this divides by l^2, GPJax by 2 l^2.
struct Periodic {
  static constexpr std::string_view name = "periodic";
  static constexpr std::string_view formula =
      "variance exp(-2 sum_d sin^2(pi (x_d - x'_d) / period_d) / lengthscale_d^2)";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr Spectrum spectrum = Spectrum::series;
  static constexpr std::array parameters = {
      kVariance, kPeriod,
      ParameterDeclaration{"lengthscale", Shape::per_input, Constraint::positive(), Unit::none,
                           start::periodic_lengthscale, "1", start::periodic_lengthscale_prior}};

  static constexpr bool waves = true;  // reads at.sin_between
  template <class At>
  static auto frequency(const At& at, int d) {  // sin(pi x / period) turns once in two periods
    return 0.5 * inverse(at.p(1, d));
  }

  template <class At>
  static auto value(const At& at) {
    return at.p(0) * exp(-2.0 * sum(at.structure().inputs,
                                    [&](int d) { return square(at.sin_between(d) * inverse(at.p(2, d))); }));
  }
};

// One plane wave. The cosine of a Euclidean distance, as other libraries have it, is not positive definite in more than
// one dimension.
struct Cosine {
  static constexpr std::string_view name = "cosine";
  static constexpr std::string_view formula = "variance cos(2 pi sum_d (x_d - x'_d) / period_d)";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr Spectrum spectrum = Spectrum::line;
  static constexpr std::array parameters = {kVariance, kPeriod};

  static constexpr std::int64_t rank(const Structure&) { return 2; }  // cosine and sine of the phase

  template <class At>
  static auto value(const At& at) {
    return at.p(0) *
           cos_turns(sum(at.structure().inputs, [&](int d) { return (at.x(d) - at.y(d)) * inverse(at.p(1, d)); }));
  }
};

}  // namespace ick
