#pragma once

#include <cmath>
#include <cstdint>

// Four doubles that are computed together. GCC's vector types lower to whatever the target has (two SSE2 registers, one
// of AVX2, NEON); the functions below have an absolute or relative error of a few units in the last place
// (tests/kernel/lanes_test.cpp).
namespace ick {

// Calls would pass the lanes through memory and cost more than the work.
#define ICK_INLINE [[gnu::always_inline]] inline

struct Lanes {
  static constexpr int kWidth = 4;
  typedef double Vector __attribute__((vector_size(8 * kWidth)));
  typedef std::int64_t Bits __attribute__((vector_size(8 * kWidth)));

  Vector v;

  Lanes() = default;
  Lanes(Vector vector) : v(vector) {}
  Lanes(double a) : v{a, a, a, a} {}

  static Lanes load(const double* from) {
    Lanes lanes;
    __builtin_memcpy(&lanes.v, from, sizeof(Vector));
    return lanes;
  }
  void store(double* to) const { __builtin_memcpy(to, &v, sizeof(Vector)); }
  double total() const { return (v[0] + v[1]) + (v[2] + v[3]); }
};

ICK_INLINE Lanes operator+(Lanes a, Lanes b) { return a.v + b.v; }
ICK_INLINE Lanes operator-(Lanes a, Lanes b) { return a.v - b.v; }
ICK_INLINE Lanes operator*(Lanes a, Lanes b) { return a.v * b.v; }
ICK_INLINE Lanes operator-(Lanes a) { return -a.v; }

ICK_INLINE Lanes square(Lanes a) { return a.v * a.v; }
ICK_INLINE Lanes inverse(Lanes a) { return 1.0 / a.v; }
ICK_INLINE Lanes equal(Lanes a, Lanes b) { return a.v == b.v ? Lanes(1.0).v : Lanes(0.0).v; }
ICK_INLINE Lanes select(Lanes::Bits condition, Lanes yes, Lanes no) { return condition ? yes.v : no.v; }

ICK_INLINE Lanes root(Lanes a) {
  Lanes r;
  for (int i = 0; i < Lanes::kWidth; ++i) r.v[i] = __builtin_sqrt(a.v[i]);
  return r;
}

// Adding and taking off 1.5 * 2^52 rounds to the nearest integer, |a| < 2^51; the low bits of the sum hold the integer.
inline constexpr double kRounder = 0x1.8p52;

ICK_INLINE Lanes::Bits bits_of(Lanes a) { return reinterpret_cast<Lanes::Bits>(a.v); }
ICK_INLINE Lanes from_bits(Lanes::Bits b) { return reinterpret_cast<Lanes::Vector>(b); }

// c_0 + c_1 x + ... + c_(n-1) x^(n-1), as four interleaved chains in x^4: one long chain would wait for itself.
template <int n>
ICK_INLINE Lanes polynomial(const double (&c)[n], Lanes x) {
  static_assert(n >= 4);
  const Lanes x2 = square(x), x4 = square(x2);
  Lanes chain[4];
  for (int k = 0; k < 4; ++k) {
    int i = (n - 1 - k) / 4 * 4 + k;
    chain[k] = c[i];
    for (i -= 4; i >= 0; i -= 4) chain[k] = chain[k] * x4 + c[i];
  }
  return (chain[0] + chain[1] * x) + (chain[2] + chain[3] * x) * x2;
}

// e^a = 2^k e^r, |r| <= ln 2 / 2, e^r by its Taylor polynomial (next term below 2e-16). Zero below -708, where doubles
// lose digits; a at most 709.
ICK_INLINE Lanes exp(Lanes a) {
  const Lanes::Bits tiny = a.v < -708.0;
  const Lanes clamped = select(tiny, -708.0, a);
  const Lanes shifted = clamped * 1.4426950408889634074 + kRounder;
  const Lanes k = shifted - kRounder;
  const Lanes r = (clamped - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
  constexpr double kTaylor[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,      1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
  const Lanes p = polynomial(kTaylor, r);
  const Lanes::Bits exponent = (bits_of(shifted) - bits_of(Lanes(kRounder))) << 52;
  return select(tiny, 0.0, from_bits(bits_of(p) + exponent));
}

// log(2^k m) = k ln 2 + 2 artanh((m - 1) / (m + 1)), sqrt(1/2) <= m < sqrt(2); a a normal positive number.
ICK_INLINE Lanes log(Lanes a) {
  const Lanes::Bits exponent =
      (bits_of(a) - bits_of(Lanes(0.70710678118654752440))) >> 52;  // shifts the sign in: floor
  const Lanes m = from_bits(bits_of(a) - (exponent << 52));
  const Lanes k = from_bits(exponent + bits_of(Lanes(kRounder))) - kRounder;
  const Lanes s = (m - 1.0) * inverse(m + 1.0);
  const Lanes s2 = square(s);
  constexpr double kSeries[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                                1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const Lanes p = polynomial(kSeries, s2);
  const Lanes log_m = 2.0 * s + (2.0 * s) * (s2 * p);
  const Lanes result = k * 0.69314718055994530942 + log_m;
  return select(a.v < HUGE_VAL, result, a);
}

// log(1 + a), a >= 0: what rounding took from 1 + a is put back to first order.
ICK_INLINE Lanes log1p(Lanes a) {
  const Lanes w = 1.0 + a;
  const Lanes lost = a - (w - 1.0);
  return select(w.v < HUGE_VAL, log(w) + lost * inverse(w), a);
}

// a less its whole turns, in [-1/2, 1/2]; a double beyond 2^51 is a whole number of half turns and counts as none.
ICK_INLINE Lanes part_turn(Lanes a) {
  const Lanes near = select((a.v < 0x1p51) & (a.v > -0x1p51), a, a - a);
  return near - ((near + kRounder) - kRounder);
}

// sin(2 pi t), |t| <= 3/4: folded to a quarter turn, then the Taylor polynomial of sin (next term below 2e-18).
ICK_INLINE Lanes sin_of_part(Lanes t) {
  const Lanes folded = select(t.v > 0.25, 0.5 - t, select(t.v < -0.25, -0.5 - t, t));
  const Lanes u = 6.2831853071795864769 * folded;
  constexpr double kTaylor[] = {-1.0 / 6,
                                1.0 / 120,
                                -1.0 / 5040,
                                1.0 / 362880,
                                -1.0 / 39916800,
                                1.0 / 6227020800,
                                -1.0 / 1307674368000,
                                1.0 / 355687428096000,
                                -1.0 / 121645100408832000,
                                1.0 / 51090942171709440000.0};
  const Lanes u2 = square(u);
  return u + (u * u2) * polynomial(kTaylor, u2);
}

ICK_INLINE Lanes sin_turns(Lanes a) { return sin_of_part(part_turn(a)); }         // sin(2 pi a)
ICK_INLINE Lanes cos_turns(Lanes a) { return sin_of_part(part_turn(a) + 0.25); }  // cos(2 pi a)

}  // namespace ick
