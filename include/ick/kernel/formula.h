#pragma once

#include <cmath>
#include <numbers>

// The small language kernel formulas are written in. A formula is a template over a view `At` of one pair of rows:
//   at.x(d), at.y(d)     input d of the first and of the second row
//   at.p(k, i, j)        number (i, j) of the kernel's k-th parameter, in natural units
//   at.lookup(k, a, j)   number (a, j) of the k-th parameter, where the level a is an input
//   at.sin_between(d)    sin(2 pi f (x_d - y_d)), where the kernel says f = frequency(at, d), in turns per unit;
//                        the fast path gets it from one sine and cosine per row
//   at.structure()       sizes
// Its numbers are plain doubles (here), tensors (tensor_number.h) or SIMD lanes with derivatives (lanes.h, dual.h);
// each kind defines + - * and the functions below.
namespace ick {

template <class F>
auto sum(int count, F term) {
  auto total = term(0);
  for (int i = 1; i < count; ++i) total = total + term(i);
  return total;
}

inline double square(double a) { return a * a; }
inline double inverse(double a) { return 1.0 / a; }
inline double exp(double a) { return std::exp(a); }
inline double log1p(double a) { return std::log1p(a); }  // for a >= 0
inline double root(double a) { return std::sqrt(a); }    // derivative 0 at 0, where sqrt has none
inline double sin_turns(double a) { return std::sin(2.0 * std::numbers::pi * (a - std::nearbyint(a))); }
inline double cos_turns(double a) { return std::cos(2.0 * std::numbers::pi * (a - std::nearbyint(a))); }
inline double equal(double a, double b) { return a == b ? 1.0 : 0.0; }

}  // namespace ick
