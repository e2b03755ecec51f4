#pragma once

#include <cmath>

// Special functions that distributions need and the standard library lacks.
namespace ick {

inline constexpr double kHalfLogTwoPi = 0.91893853320467274178;

double digamma(double x);                         // d log Gamma(x) / dx, x > 0
double normal_cdf(double z);                      // Phi
double log_normal_cdf(double z);                  // log Phi, also where Phi underflows
double lower_beta(double a, double b, double x);  // I_x(a, b), the regularised incomplete beta function

// x between low and high with f(x) = wanted, for an increasing f: bisection to the last bits.
template <class Increasing>
double solve_increasing(const Increasing& f, double wanted, double low, double high) {
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (f(middle) < wanted ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// The least whole number k >= 0 with f(k) >= wanted, for an increasing f; `guess` is where to look first.
template <class Increasing>
double least_count(const Increasing& f, double wanted, double guess) {
  double high = std::fmax(1.0, std::floor(guess)), low = -1.0;  // f(low) < wanted <= f(high)
  while (f(high) < wanted && high < 1e15) low = high, high *= 2.0;
  while (high - low > 1.0) {
    const double middle = std::floor(0.5 * (low + high));
    (f(middle) < wanted ? low : high) = middle;
  }
  return high;
}

}  // namespace ick
