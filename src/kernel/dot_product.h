#pragma once

#include <array>

#include "kernel/radial.h"

// Kernels of products of inputs, not stationary: they know where zero is. Zero is the mean of the training rows: the
// formulas below see x - centre.
namespace ick {

struct Constant {
  static constexpr std::string_view name = "constant";
  static constexpr std::string_view formula = "variance";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr Spectrum spectrum = Spectrum::origin;
  static constexpr std::array parameters = {kVariance};

  static constexpr std::int64_t rank(const Structure&) { return 1; }

  template <class At>
  static auto value(const At& at) {
    return at.p(0);
  }
};

struct Linear {
  static constexpr std::string_view name = "linear";
  static constexpr std::string_view formula =
      "sum_d variance_d (x_d - c_d) (x'_d - c_d), c the mean of the training rows";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr bool centred = true;
  static constexpr Spectrum spectrum = Spectrum::none;
  static constexpr std::array parameters = {
      ParameterDeclaration{"variance", Shape::per_input, Constraint::positive(), Unit::none, start::linear_variance,
                           "1 / (D variance of x_d)", start::linear_variance_prior}};

  static constexpr std::int64_t rank(const Structure& s) { return s.inputs; }

  template <class At>
  static auto value(const At& at) {
    return sum(at.structure().inputs, [&](int d) { return at.p(0, d) * (at.x(d) * at.y(d)); });
  }
};

struct Polynomial {
  static constexpr std::string_view name = "polynomial";
  static constexpr std::string_view formula =
      "variance (offset + sum_d (x_d - c_d) (x'_d - c_d) / lengthscale_d^2)^degree, c the mean of the training rows";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr bool centred = true;
  static constexpr Spectrum spectrum = Spectrum::none;
  static constexpr std::array parameters = {
      ParameterDeclaration{"variance", Shape::scalar, Constraint::positive(), Unit::target_squared,
                           start::polynomial_variance, "2^-degree", start::polynomial_variance_prior},
      ParameterDeclaration{"offset", Shape::scalar, Constraint::positive(), Unit::none, start::one, "1"},
      ParameterDeclaration{"lengthscale", Shape::per_input, Constraint::positive(), Unit::input, start::dot_lengthscale,
                           "standard deviation of x_d, times sqrt(D)"}};

  // Monomials of degree q or less in D inputs: binomial(D + q, q). Counting ends where no map has as many features.
  static constexpr std::int64_t rank(const Structure& s) {
    std::int64_t count = 1;
    for (int i = 1; i <= s.degree && count < 1'000'000'000; ++i) count = count * (s.inputs + i) / i;
    return count;
  }

  template <class At>
  static auto value(const At& at) {
    const auto base =
        at.p(1) + sum(at.structure().inputs, [&](int d) { return (at.x(d) * at.y(d)) * square(inverse(at.p(2, d))); });
    auto power = base;
    for (int i = 1; i < at.structure().degree; ++i) power = power * base;
    return at.p(0) * power;
  }
};

}  // namespace ick
