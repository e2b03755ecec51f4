#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "ick/kernel/declaration.h"
#include "kernel/dual.h"

// What the two jobs of the fast path have in common: points against rows (fused.cpp) and the rows of small groups
// (fused_groups.cpp). Only for files compiled with its flags.
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

// Parameters of a kernel of a distance s: each but the lengthscales varies, one number each, and s varies in their place.
template <class K>
std::vector<Known<Dual<static_cast<int>(K::parameters.size())>>> parameters_beside_distance(const Structure& structure,
                                                                                            const double* theta) {
  constexpr int n = static_cast<int>(K::parameters.size());
  const std::array<int, kMostParameters> places = first_places<K>(structure);
  std::vector<Known<Dual<n>>> parameters;
  for (int i = 0; i < parameter_count<K>(structure); ++i) {
    Dual<n> parameter = Lanes(theta[i]);
    for (int q = 0; q < n; ++q) {
      if (q != K::distance && i == places[q]) parameter.d[q] = 1.0;
    }
    parameters.push_back(parameter);
  }
  return parameters;
}

// How a formula sees its parameters; a view of rows adds x(d) and y(d).
//   Parameter: Lanes, or Dual when the parameters vary
template <class K, class Parameter>
class ParameterView {
 public:
  ParameterView(const Structure& structure, const std::vector<Known<Parameter>>& parameters)
      : structure_(structure), first_(first_places<K>(structure)), parameters_(parameters.data()) {}

  const Structure& structure() const { return structure_; }
  // Which of all numbers is number (i, j) of the k-th parameter, and what it is.
  int place(int k, int i = 0, int j = 0) const {
    return first_[k] + place_of(K::parameters[k].shape, structure_, i, j);
  }
  const Known<Parameter>& p(int k, int i = 0, int j = 0) const { return parameters_[place(k, i, j)]; }
  Parameter lookup(int k, const Lanes& level, int j) const {
    Parameter result = p(k, static_cast<int>(level.v[0]), j);
    for (int lane = 1; lane < Lanes::kWidth; ++lane) copy_lane(p(k, static_cast<int>(level.v[lane]), j), lane, result);
    return result;
  }

 private:
  static void copy_lane(const Lanes& from, int lane, Lanes& to) { to.v[lane] = from.v[lane]; }
  template <int n>
  static void copy_lane(const Dual<n>& from, int lane, Dual<n>& to) {
    copy_lane(from.v, lane, to.v);
    for (int i = 0; i < n; ++i) copy_lane(from.d[i], lane, to.d[i]);
  }

  const Structure& structure_;
  const std::array<int, kMostParameters> first_;
  const Known<Parameter>* parameters_;
};

// Sine and cosine of 2 pi turns
struct Wave {
  Lanes sin, cos;
};

ICK_INLINE Wave wave_of(Lanes turns) {
  const Lanes turn = part_turn(turns);
  return {sin_of_part(turn), sin_of_part(turn + 0.25)};
}

// sin(a - b) = sin a cos b - cos a sin b, where `turns` is by how much a is ahead of b, with its derivatives.
template <class Number>
ICK_INLINE auto sin_between(const Wave& a, const Wave& b, const Number& turns) {
  const Lanes sine = a.sin * b.cos - a.cos * b.sin, cosine = a.cos * b.cos + a.sin * b.sin;
  return with_slope(turns, sine, 6.2831853071795864769 * cosine);
}

// All `count` parameters; n of them vary, from `first` on.
template <int n>
std::vector<Known<Dual<n>>> varied_parameters(const double* theta, int count, int first) {
  std::vector<Known<Dual<n>>> parameters;
  parameters.reserve(count);
  for (int i = 0; i < count; ++i) {
    Dual<n> parameter = Lanes(theta[i]);
    if (i >= first && i < first + n) parameter.d[i - first] = 1.0;
    parameters.push_back(parameter);
  }
  return parameters;
}

// Calls pass<n>(first) for n parameters from `first` on until all had their turn.
template <class Pass>
void for_varied_parameters(int count, Pass pass) {
  for (int first = 0; first < count; first += kMostDerivatives) {
    switch (std::min(kMostDerivatives, count - first)) {
      case 1:
        pass.template operator()<1>(first);
        break;
      case 2:
        pass.template operator()<2>(first);
        break;
      case 3:
        pass.template operator()<3>(first);
        break;
      default:
        pass.template operator()<kMostDerivatives>(first);
    }
  }
}

// k = k_1 ... k_M of `size` numbers; values(f, to) writes k_f.
template <class Values>
void product_of_factors(std::size_t factors, std::size_t size, double* k, Values values) {
  static thread_local std::vector<double> other;  // nothing is allocated step by step
  if (factors > 1) other.resize(std::max(other.size(), size));
  for (std::size_t f = 0; f < factors; ++f) {
    values(f, f == 0 ? k : other.data());
    if (f == 0) continue;
    const double* by = other.data();
    for (std::size_t i = 0; i < size; ++i) k[i] *= by[i];
  }
}

// Calls gradient(f, g dk/dk_f) for each factor: d(k_1 ... k_M) / dk_f is the product of the others.
template <class Values, class Gradient>
void gradients_of_factors(std::size_t factors, std::size_t size, const double* g, Values values, Gradient gradient) {
  if (factors == 1) return gradient(0, g);
  static thread_local std::vector<double> all, weighted;  // (factors, size), (size)
  all.resize(std::max(all.size(), factors * size));
  weighted.resize(std::max(weighted.size(), size));
  for (std::size_t f = 0; f < factors; ++f) values(f, all.data() + f * size);
  for (std::size_t f = 0; f < factors; ++f) {
    std::copy(g, g + size, weighted.begin());
    for (std::size_t other = 0; other < factors; ++other) {
      if (other == f) continue;
      const double* by = all.data() + other * size;
      double* const to = weighted.data();
      for (std::size_t i = 0; i < size; ++i) to[i] *= by[i];
    }
    gradient(f, weighted.data());
  }
}

}  // namespace ick
