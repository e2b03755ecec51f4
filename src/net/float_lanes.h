#pragma once

#include <cstdint>

// Eight floats that are computed together; GCC's vector types lower to whatever the target has. Errors of the functions
// are a few units in the last place (tests/net/float_lanes_test.cpp).
namespace ick {

struct Floats {
  static constexpr int kWidth = 8;
  typedef float Vector __attribute__((vector_size(4 * kWidth)));
  typedef std::int32_t Bits __attribute__((vector_size(4 * kWidth)));

  Vector v;

  Floats() = default;
  Floats(Vector vector) : v(vector) {}
  Floats(float a) : v{a, a, a, a, a, a, a, a} {}

  static Floats load(const float* from) {
    Floats lanes;
    __builtin_memcpy(&lanes.v, from, sizeof(Vector));
    return lanes;
  }
  void store(float* to) const { __builtin_memcpy(to, &v, sizeof(Vector)); }
};

#define ICK_FLOATS [[gnu::always_inline]] inline

ICK_FLOATS Floats operator+(Floats a, Floats b) { return a.v + b.v; }
ICK_FLOATS Floats operator-(Floats a, Floats b) { return a.v - b.v; }
ICK_FLOATS Floats operator*(Floats a, Floats b) { return a.v * b.v; }
ICK_FLOATS Floats operator/(Floats a, Floats b) { return a.v / b.v; }
ICK_FLOATS Floats operator-(Floats a) { return -a.v; }
ICK_FLOATS Floats select(Floats::Bits condition, Floats yes, Floats no) { return condition ? yes.v : no.v; }
ICK_FLOATS float total(Floats a) {
  return ((a.v[0] + a.v[1]) + (a.v[2] + a.v[3])) + ((a.v[4] + a.v[5]) + (a.v[6] + a.v[7]));
}
// to[0 .. 3] = total(a), total(b), total(c), total(d)
ICK_FLOATS void totals(Floats a, Floats b, Floats c, Floats d, float* to) {
  const auto ab = __builtin_shufflevector(a.v, b.v, 0, 8, 1, 9, 4, 12, 5, 13) +
                  __builtin_shufflevector(a.v, b.v, 2, 10, 3, 11, 6, 14, 7, 15);
  const auto cd = __builtin_shufflevector(c.v, d.v, 0, 8, 1, 9, 4, 12, 5, 13) +
                  __builtin_shufflevector(c.v, d.v, 2, 10, 3, 11, 6, 14, 7, 15);
  const auto each = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                    __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  const auto sums = __builtin_shufflevector(each, each, 0, 1, 2, 3) + __builtin_shufflevector(each, each, 4, 5, 6, 7);
  __builtin_memcpy(to, &sums, sizeof(sums));
}
ICK_FLOATS Floats magnitude(Floats a) { return select(a.v < 0.0F, -a, a); }

// c_0 + c_1 x + ... + c_(n-1) x^(n-1)
template <int n>
ICK_FLOATS Floats polynomial(const float (&c)[n], Floats x) {
  Floats sum = c[n - 1];
  for (int k = n - 2; k >= 0; --k) sum = sum * x + c[k];
  return sum;
}

// e^a = 2^k e^r, |r| <= ln 2 / 2, e^r by its Taylor polynomial (next term below 2e-8). Within [-87, 88].
ICK_FLOATS Floats exp(Floats a) {
  constexpr float kRounder = 0x1.8p23F;  // adding and taking it off rounds to the nearest whole number
  Floats x = select(a.v < -87.0F, -87.0F, a);
  x = select(x.v > 88.0F, 88.0F, x);
  const Floats shifted = x * 1.44269504F + kRounder;
  const Floats k = shifted - kRounder;
  const Floats r = (x - k * 0x1.62e4p-1F) - k * 0x1.7f7d1cp-20F;
  constexpr float kTaylor[] = {1.0F, 1.0F, 1.0F / 2, 1.0F / 6, 1.0F / 24, 1.0F / 120, 1.0F / 720};
  const Floats p = polynomial(kTaylor, r);
  const Floats::Bits whole =
      reinterpret_cast<Floats::Bits>(shifted.v) - reinterpret_cast<Floats::Bits>(Floats(kRounder).v);
  return reinterpret_cast<Floats::Vector>(reinterpret_cast<Floats::Bits>(p.v) + (whole << 23));
}

// Q(a) = 1 - Phi(a) for a >= 0, given e^(-a^2 / 2): that times t P(t), t = 1 / (1 + 0.28 a). P is the polynomial of
// least relative error, 6e-8 before rounding, fitted to erfcx(a / sqrt 2) / 2 on [0, 15].
ICK_FLOATS Floats normal_tail(Floats a, Floats density) {
  constexpr float kP[] = {0.111690968F,  0.111932397F,  0.101371393F,   0.0903724357F, 0.0572231635F,
                          0.0151675474F, 0.0746895373F, -0.0857182071F, 0.0232708007F};
  const Floats t = Floats(1.0F) / (0.28F * a + 1.0F);
  return density * (t * polynomial(kP, t));
}

}  // namespace ick
