#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ick/base/seed.h"
#include "ick/kernel/constraint.h"

// The words a kernel is declared in. A kernel is a struct with a name, a formula for people, its parameters, and one
// template `value` for machines; src/kernel/list.h is the table of all of them.
namespace ick {

// What a kernel reads: any number of numbers; the code of a level (0, 1, ..., levels - 1); latitude and longitude in
// degrees, which reach the formula as a point of three coordinates in km.
enum class Inputs { numbers, level, place };

// How many numbers a parameter has.
enum class Shape { scalar, per_input, per_component, per_component_input, per_level, per_level_rank };

// Sizes fixed before training. Options of a call set them: spectral_mixture(t, components=4).
struct Structure {
  int inputs = 1;      // D as the formula sees it (3 for a place)
  int components = 2;  // spectral_mixture
  int degree = 2;      // polynomial
  int levels = 1;      // categorical
  int rank = 2;        // categorical
};

// The distribution of the frequencies omega with k(x, x') = sum_c w_c E[cos(omega . (x - x'))]: what makes a kernel
// usable with random Fourier and Hilbert-space features. spectrum.cpp draws from each.
enum class Spectrum {
  none,              // not stationary, or not known
  origin,            // omega = 0: a constant
  line,              // one frequency
  series,            // harmonics of a period with known weights
  gaussian,          // normal / l
  student,           // normal / l, divided by the root of a gamma variable: Matern
  gamma_mixture,     // normal / l, multiplied by the root of a gamma variable: rational quadratic
  gaussian_mixture,  // several normals, each around a mean
};

// In which unit a parameter is shown.
enum class Unit { none, target_squared, input, per_input, kilometre };

// What is known about an input column before training; initial values are stated in its units.
struct InputSummary {
  std::string name;
  double low = 0.0, high = 1.0;   // range of the training rows
  double centre = 0.0;            // their mean: where the dot products of linear and polynomial have their origin
  double root_mean_square = 1.0;  // sqrt(mean (x - centre)^2)
  std::int64_t rows = 0;
  int levels = 0;                   // 0 for a number, else the count of levels
  std::string unit;                 // "d" for a time, "" for a plain number
  std::vector<double> frequencies;  // cycles per unit, strongest first, when the target's spectrum is known

  double span() const { return high > low ? high - low : 1.0; }
};

// Where an initial value is asked for: the inputs of the kernel, which of them, which component, and a generator seeded
// by the parameter's path and the member.
struct StartContext {
  std::span<const InputSummary> inputs;
  int input = 0, component = 0;
  Structure structure;
  Random& random;
};

// Between these a positive parameter lies with 98% probability before any row is seen.
struct PriorRange {
  double low = 0.0, high = 0.0;
};

struct ParameterDeclaration {
  std::string_view name;
  Shape shape = Shape::scalar;
  Constraint constraint = Constraint::positive();
  Unit unit = Unit::none;
  double (*start)(const StartContext&) = nullptr;
  std::string_view start_text;
  // About the start, which is the prior's mode; null: a factor of a thousand either way, for raw numbers as much.
  PriorRange (*prior)(const StartContext&) = nullptr;
};

constexpr int kMostParameters = 3;  // per kernel; a parameter may have many numbers

// Numbers of one parameter.
constexpr int size_of(Shape shape, const Structure& s) {
  switch (shape) {
    case Shape::scalar:
      return 1;
    case Shape::per_input:
      return s.inputs;
    case Shape::per_component:
      return s.components;
    case Shape::per_component_input:
      return s.components * s.inputs;
    case Shape::per_level:
      return s.levels;
    case Shape::per_level_rank:
      return s.levels * s.rank;
  }
  return 0;
}

// Place of number (i, j) within a parameter: i counts inputs, components or levels, j the inputs of a component or the
// columns of a level. A scalar stands for every i.
constexpr int place_of(Shape shape, const Structure& s, int i, int j) {
  switch (shape) {
    case Shape::scalar:
      return 0;
    case Shape::per_input:
    case Shape::per_component:
    case Shape::per_level:
      return i;
    case Shape::per_component_input:
      return i * s.inputs + j;
    case Shape::per_level_rank:
      return i * s.rank + j;
  }
  return 0;
}

}  // namespace ick
