#pragma once

#include <string>
#include <vector>

#include "ick/kernel/table.h"

// How the program says what the table holds.
namespace ick {

inline std::string inputs_text(Inputs inputs) {
  return inputs == Inputs::place ? "latitude, longitude" : inputs == Inputs::level ? "one column of levels" : "numbers";
}

inline std::string shape_text(Shape shape) {
  switch (shape) {
    case Shape::scalar:
      return "one";
    case Shape::per_input:
      return "one per input";
    case Shape::per_component:
      return "one per component";
    case Shape::per_component_input:
      return "one per component and input";
    case Shape::per_level:
      return "one per level";
    case Shape::per_level_rank:
      return "rank per level";
  }
  return "";
}

inline std::string unit_text(Unit unit) {
  switch (unit) {
    case Unit::none:
      return "";
    case Unit::target_squared:
      return "target squared";
    case Unit::input:
      return "unit of the input";
    case Unit::per_input:
      return "cycles per unit of the input";
    case Unit::kilometre:
      return "km";
  }
  return "";
}

// What the letters of the formulas stand for.
inline constexpr const char* kLetters =
    "r^2 = sum_d ((x_d - x'_d) / lengthscale_d)^2; on the sphere r is the chord through the Earth over the lengthscale";

// Kinds of features a kernel has.
inline std::vector<std::string> features_of(const KernelRow& row) {
  std::vector<std::string> kinds = {"nystrom"};
  if (row.spectrum != Spectrum::none) kinds.emplace_back("fourier");
  if (row.spectrum != Spectrum::none && row.spectrum != Spectrum::gamma_mixture) kinds.emplace_back("hilbert");
  return kinds;
}

}  // namespace ick
