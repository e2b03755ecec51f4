#pragma once

#include <array>
#include <numbers>

#include "ick/kernel/declaration.h"
#include "ick/kernel/formula.h"
#include "ick/kernel/start.h"

// Kernels of the scaled distance r,  r^2 = sum_d ((x_d - x'_d) / l_d)^2.  On the sphere the x are points in km in three
// dimensions, so r is the chord, and what is positive definite in space stays so: a Matern of the great-circle distance
// is not.
namespace ick {

inline constexpr ParameterDeclaration kVariance = {
    "variance", Shape::scalar, Constraint::positive(), Unit::target_squared, start::one, "1", start::variance_prior};

template <Inputs kInputs>
inline constexpr ParameterDeclaration kLengthscale =
    kInputs == Inputs::place ? ParameterDeclaration{"lengthscale",
                                                    Shape::scalar,
                                                    Constraint::positive(),
                                                    Unit::kilometre,
                                                    start::lengthscale_km,
                                                    "a quarter of the extent",
                                                    start::lengthscale_km_prior}
                             : ParameterDeclaration{"lengthscale",           Shape::per_input,
                                                    Constraint::positive(),  Unit::input,
                                                    start::lengthscale,      "a quarter of the range, times sqrt(D)",
                                                    start::lengthscale_prior};

template <Inputs kInputs>
inline constexpr std::array kRadialParameters = {kVariance, kLengthscale<kInputs>};

// Of their second parameter such formulas read squared_distance and nothing else, which the fast path makes use of.
struct OfDistance {
  static constexpr int distance = 1;
};

// r^2 with the lengthscales of parameter `block`
template <class At>
auto squared_distance(const At& at, int block) {
  if constexpr (requires { at.squared_distance(block); }) {
    return at.squared_distance(block);
  } else {
    return sum(at.structure().inputs, [&](int d) { return square((at.x(d) - at.y(d)) * inverse(at.p(block, d))); });
  }
}

template <Inputs kInputs>
struct Rbf : OfDistance {
  static constexpr std::string_view name = "rbf";
  static constexpr std::string_view formula = "variance exp(-r^2 / 2)";
  static constexpr Inputs inputs = kInputs;
  static constexpr Spectrum spectrum = Spectrum::gaussian;
  static constexpr auto& parameters = kRadialParameters<kInputs>;

  template <class At>
  static auto value(const At& at) {
    return at.p(0) * exp(-0.5 * squared_distance(at, 1));
  }
};

template <Inputs kInputs>
struct Matern12 : OfDistance {
  static constexpr std::string_view name = "matern12";
  static constexpr std::string_view formula = "variance exp(-r)";
  static constexpr Inputs inputs = kInputs;
  static constexpr Spectrum spectrum = Spectrum::student;
  static constexpr double smoothness = 0.5;  // nu
  static constexpr auto& parameters = kRadialParameters<kInputs>;

  template <class At>
  static auto value(const At& at) {
    return at.p(0) * exp(-root(squared_distance(at, 1)));
  }
};

template <Inputs kInputs>
struct Matern32 : OfDistance {
  static constexpr std::string_view name = "matern32";
  static constexpr std::string_view formula = "variance (1 + s) exp(-s), s = sqrt(3) r";
  static constexpr Inputs inputs = kInputs;
  static constexpr Spectrum spectrum = Spectrum::student;
  static constexpr double smoothness = 1.5;  // nu
  static constexpr auto& parameters = kRadialParameters<kInputs>;

  template <class At>
  static auto value(const At& at) {
    const auto s = std::numbers::sqrt3 * root(squared_distance(at, 1));
    return at.p(0) * ((1.0 + s) * exp(-s));
  }
};

template <Inputs kInputs>
struct Matern52 : OfDistance {
  static constexpr std::string_view name = "matern52";
  static constexpr std::string_view formula = "variance (1 + s + s^2 / 3) exp(-s), s = sqrt(5) r";
  static constexpr Inputs inputs = kInputs;
  static constexpr Spectrum spectrum = Spectrum::student;
  static constexpr double smoothness = 2.5;  // nu
  static constexpr auto& parameters = kRadialParameters<kInputs>;

  template <class At>
  static auto value(const At& at) {
    const auto s = 2.2360679774997896964 * root(squared_distance(at, 1));
    return at.p(0) * ((1.0 + s + square(s) * (1.0 / 3.0)) * exp(-s));
  }
};

struct RationalQuadratic : OfDistance {
  static constexpr std::string_view name = "rational_quadratic";
  static constexpr std::string_view formula = "variance (1 + r^2 / (2 alpha))^-alpha";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr Spectrum spectrum = Spectrum::gamma_mixture;
  static constexpr std::array parameters = {kVariance, kLengthscale<Inputs::numbers>,
                                            ParameterDeclaration{"alpha", Shape::scalar, Constraint::positive(),
                                                                 Unit::none, start::one, "1", start::alpha_prior}};

  template <class At>
  static auto value(const At& at) {
    const auto alpha = at.p(2);
    return at.p(0) * exp(-(alpha * log1p(squared_distance(at, 1) * (0.5 * inverse(alpha)))));
  }
};

}  // namespace ick
