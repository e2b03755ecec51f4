#pragma once

#include <array>
#include <numbers>

#include "ick/kernel/formula.h"
#include "ick/kernel/start.h"

namespace ick {

// Wilson and Adams 2013: the spectrum is a sum of Gaussians around +-mean_q with sds scale_q, in cycles per
// unit.
struct SpectralMixture {
  static constexpr std::string_view name = "spectral_mixture";
  static constexpr std::string_view formula =
      "sum_q weight_q exp(-2 pi^2 sum_d (scale_qd t_d)^2) cos(2 pi sum_d mean_qd t_d), t = x - x'";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr Spectrum spectrum = Spectrum::gaussian_mixture;
  static constexpr std::array parameters = {
      ParameterDeclaration{"weight", Shape::per_component, Constraint::positive(), Unit::target_squared,
                           start::mixture_weight, "1 / components", start::mixture_weight_prior},
      ParameterDeclaration{"mean", Shape::per_component_input, Constraint::positive(), Unit::per_input,
                           start::mixture_mean, "peaks of the target's spectrum, else a draw"},
      ParameterDeclaration{"scale", Shape::per_component_input, Constraint::positive(), Unit::per_input,
                           start::mixture_scale, "half a cycle over the range"}};

  template <class At>
  static auto value(const At& at) {
    constexpr double two_pi_squared = 2.0 * std::numbers::pi * std::numbers::pi;
    const int inputs_count = at.structure().inputs;
    return sum(at.structure().components, [&](int q) {
      const auto width = sum(inputs_count, [&](int d) { return square(at.p(2, q, d) * (at.x(d) - at.y(d))); });
      const auto turns = sum(inputs_count, [&](int d) { return at.p(1, q, d) * (at.x(d) - at.y(d)); });
      return at.p(0, q) * (exp(-two_pi_squared * width) * cos_turns(turns));
    });
  }
};

}  // namespace ick
