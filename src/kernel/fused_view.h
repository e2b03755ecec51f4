#pragma once

#include <array>

#include "ick/kernel/declaration.h"
#include "kernel/dual.h"

// What the views have in common through which formulas see their rows and parameters on the fast path. Only for files
// compiled with its flags.
namespace ick {

inline constexpr int kMostDerivatives = 4;  // carried at once; more take further passes

// Offset of each parameter of kernel K.
template <class K>
std::array<int, kMostParameters> first_places(const Structure& s) {
  std::array<int, kMostParameters> first{};
  int next = 0;
  for (std::size_t k = 0; k < K::parameters.size(); ++k) {
    first[k] = next;
    next += size_of(K::parameters[k].shape, s);
  }
  return first;
}

template <class K>
int parameter_count(const Structure& s) {
  int count = 0;
  for (const ParameterDeclaration& each : K::parameters) count += size_of(each.shape, s);
  return count;
}

// A parameter and its reciprocal, which formulas divide by once per pair of rows.
template <class Number>
struct Known : Number {
  Number reciprocal;
  Known(double value) : Known(Number(Lanes(value))) {}
  Known(const Number& number) : Number(number), reciprocal(inverse(number)) {}
};

template <class Number>
ICK_INLINE Number inverse(const Known<Number>& parameter) {
  return parameter.reciprocal;
}

ICK_INLINE Lanes value_of(const Lanes& number) { return number; }
template <int n>
ICK_INLINE Lanes value_of(const Dual<n>& number) {
  return number.v;
}

inline Lanes derivative(const Lanes&, int) { return 0.0; }  // a value that does not depend on what varies
template <int n>
Lanes derivative(const Dual<n>& number, int i) {
  return number.d[i];
}

// f(u) from its value and its slope, which a plain number does not need.
ICK_INLINE Lanes with_slope(const Lanes&, Lanes value, Lanes) { return value; }
template <int n>
ICK_INLINE Dual<n> with_slope(const Dual<n>& u, Lanes value, Lanes slope) {
  return u.chain(value, slope);
}

}  // namespace ick
