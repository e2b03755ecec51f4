#pragma once

#include <cstdint>

#include "ick/kernel/formula.h"
#include "ick/kernel/table.h"

// A kernel's declaration as a row of the table.
namespace ick {

namespace detail {

// A formula's view of one pair of rows in plain doubles.
template <class K>
struct PlainView {
  const Structure& s;
  const double* parameters;
  const double* first;
  const double* second;

  const Structure& structure() const { return s; }
  double x(int d) const { return first[d]; }
  double y(int d) const { return second[d]; }
  double p(int k, int i = 0, int j = 0) const {
    int offset = place_of(K::parameters[k].shape, s, i, j);
    for (int before = 0; before < k; ++before) offset += size_of(K::parameters[before].shape, s);
    return parameters[offset];
  }
  double lookup(int k, double level, int j) const { return p(k, static_cast<int>(level), j); }
  double sin_between(int d) const { return sin_turns(K::frequency(*this, d) * (x(d) - y(d))); }
};

template <class K>
double plain_value(const Structure& structure, const double* parameters, const double* x, const double* y) {
  return K::value(PlainView<K>{structure, parameters, x, y});
}

template <class K>
constexpr double smoothness_of() {
  if constexpr (requires { K::smoothness; }) return K::smoothness;
  return 0.0;
}

template <class K>
constexpr bool is_centred() {
  if constexpr (requires { K::centred; }) return K::centred;
  return false;
}

template <class K>
constexpr auto rank_function() -> std::int64_t (*)(const Structure&) {
  if constexpr (requires(const Structure& s) { K::rank(s); }) return K::rank;
  return nullptr;
}

}  // namespace detail

template <class K>
KernelRow kernel_row(int index) {
  static_assert(K::parameters.size() <= kMostParameters);
  return {index,
          K::name,
          K::formula,
          K::inputs,
          K::spectrum,
          detail::smoothness_of<K>(),
          K::parameters,
          detail::plain_value<K>,
          detail::is_centred<K>(),
          detail::rank_function<K>()};
}

}  // namespace ick
