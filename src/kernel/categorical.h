#pragma once

#include <array>

#include "ick/kernel/formula.h"
#include "ick/kernel/start.h"

namespace ick {

// Index kernel: levels share `rank` hidden traits (loadings), and each has a variance of its own.
struct Categorical {
  static constexpr std::string_view name = "categorical";
  static constexpr std::string_view formula = "sum_r loading_ar loading_br + [a = b] variance_a, for levels a and b";
  static constexpr Inputs inputs = Inputs::level;
  static constexpr Spectrum spectrum = Spectrum::none;
  static constexpr std::array parameters = {
      ParameterDeclaration{"loading", Shape::per_level_rank, Constraint::real(), Unit::none, start::loading,
                           "a draw of variance 1 / (2 rank)"},
      ParameterDeclaration{"variance", Shape::per_level, Constraint::positive(), Unit::target_squared, start::half,
                           "1/2", start::half_prior}};

  static constexpr std::int64_t rank(const Structure& s) { return s.levels; }

  template <class At>
  static auto value(const At& at) {
    const auto a = at.x(0), b = at.y(0);
    return sum(at.structure().rank, [&](int r) { return at.lookup(0, a, r) * at.lookup(0, b, r); }) +
           at.lookup(1, a, 0) * equal(a, b);
  }
};

}  // namespace ick
