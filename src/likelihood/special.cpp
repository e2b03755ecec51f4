#include "likelihood/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace ick {

// psi(x) = psi(x + 1) - 1 / x up to x = 10, where the asymptotic series has fifteen digits.
double digamma(double x) {
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum -= 1.0 / x;
  const double u = 1.0 / (x * x);
  const double series =
      u * (1.0 / 12.0 -
           u * (1.0 / 120.0 - u * (1.0 / 252.0 - u * (1.0 / 240.0 - u * (1.0 / 132.0 - u * 691.0 / 32760.0)))));
  return sum + std::log(x) - 0.5 / x - series;
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// Below -35 by phi(z) / -z (1 - 1/z^2 + 3/z^4 - 15/z^6).
double log_normal_cdf(double z) {
  if (z > -35.0) return std::log(normal_cdf(z));
  const double u = 1.0 / (z * z);
  return -0.5 * z * z - kHalfLogTwoPi - std::log(-z) + std::log1p(-u * (1.0 - u * (3.0 - 15.0 * u)));
}

namespace {

// The continued fraction of I_x(a, b) x^-a (1 - x)^-b a B(a, b), by Lentz's method; quick for x < (a + 1) / (a + b +
// 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = std::numeric_limits<double>::min();
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1.0, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), h = d;
  for (int m = 1; m < 10'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1.0) < kEpsilon) break;
  }
  return h;
}

}  // namespace

double lower_beta(double a, double b, double x) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

}  // namespace ick
