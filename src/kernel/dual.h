#pragma once

#include "kernel/lanes.h"

// Lanes that carry kCount derivatives along: the formula, evaluated once with duals, gives its value and its gradient
// in one pass. f(v + d e) = f(v) + f'(v) d e.
namespace ick {

template <int kCount>
struct Dual {
  Lanes v;
  Lanes d[kCount];

  Dual() = default;
  Dual(Lanes value) : v(value) {
    for (Lanes& each : d) each = 0.0;
  }

  // f(this), from f(v) and f'(v)
  [[gnu::always_inline]] Dual chain(Lanes value, Lanes slope) const {
    Dual r;
    r.v = value;
    for (int i = 0; i < kCount; ++i) r.d[i] = slope * d[i];
    return r;
  }
};

template <int n>
ICK_INLINE Dual<n> operator+(const Dual<n>& a, const Dual<n>& b) {
  Dual<n> r;
  r.v = a.v + b.v;
  for (int i = 0; i < n; ++i) r.d[i] = a.d[i] + b.d[i];
  return r;
}
template <int n>
ICK_INLINE Dual<n> operator-(const Dual<n>& a, const Dual<n>& b) {
  Dual<n> r;
  r.v = a.v - b.v;
  for (int i = 0; i < n; ++i) r.d[i] = a.d[i] - b.d[i];
  return r;
}
template <int n>
ICK_INLINE Dual<n> operator*(const Dual<n>& a, const Dual<n>& b) {
  Dual<n> r;
  r.v = a.v * b.v;
  for (int i = 0; i < n; ++i) r.d[i] = a.v * b.d[i] + b.v * a.d[i];
  return r;
}

// With a number that has no derivative: inputs while parameters vary, parameters while inputs vary, constants.
template <int n>
ICK_INLINE Dual<n> operator+(const Dual<n>& a, Lanes b) {
  Dual<n> r = a;
  r.v = a.v + b;
  return r;
}
template <int n>
ICK_INLINE Dual<n> operator+(Lanes a, const Dual<n>& b) {
  return b + a;
}
template <int n>
ICK_INLINE Dual<n> operator-(const Dual<n>& a, Lanes b) {
  Dual<n> r = a;
  r.v = a.v - b;
  return r;
}
template <int n>
ICK_INLINE Dual<n> operator*(const Dual<n>& a, Lanes b) {
  return a.chain(a.v * b, b);
}
template <int n>
ICK_INLINE Dual<n> operator*(Lanes a, const Dual<n>& b) {
  return b * a;
}
template <int n>
ICK_INLINE Dual<n> operator+(double a, const Dual<n>& b) {
  return b + Lanes(a);
}
template <int n>
ICK_INLINE Dual<n> operator*(const Dual<n>& a, double b) {
  return a * Lanes(b);
}
template <int n>
ICK_INLINE Dual<n> operator*(double a, const Dual<n>& b) {
  return b * Lanes(a);
}
template <int n>
ICK_INLINE Dual<n> operator-(const Dual<n>& a) {
  return a.chain(-a.v, -1.0);
}

template <int n>
ICK_INLINE Dual<n> square(const Dual<n>& a) {
  return a.chain(square(a.v), 2.0 * a.v);
}
template <int n>
ICK_INLINE Dual<n> inverse(const Dual<n>& a) {
  const Lanes r = inverse(a.v);
  return a.chain(r, -square(r));
}
template <int n>
ICK_INLINE Dual<n> exp(const Dual<n>& a) {
  const Lanes r = exp(a.v);
  return a.chain(r, r);
}
template <int n>
ICK_INLINE Dual<n> log1p(const Dual<n>& a) {
  return a.chain(log1p(a.v), inverse(1.0 + a.v));
}
template <int n>
ICK_INLINE Dual<n> root(const Dual<n>& a) {
  const Lanes r = root(a.v);
  return a.chain(r, select(a.v.v > 0.0, 0.5 * inverse(r), 0.0));
}
template <int n>
ICK_INLINE Dual<n> sin_turns(const Dual<n>& a) {
  const Lanes t = part_turn(a.v);
  return a.chain(sin_of_part(t), 6.2831853071795864769 * sin_of_part(t + 0.25));
}
template <int n>
ICK_INLINE Dual<n> cos_turns(const Dual<n>& a) {
  const Lanes t = part_turn(a.v);
  return a.chain(sin_of_part(t + 0.25), -6.2831853071795864769 * sin_of_part(t));
}

}  // namespace ick
