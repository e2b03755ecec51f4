#pragma once

#include <cmath>
#include <numbers>

#include "ick/likelihood/likelihood.h"
#include "likelihood/special.h"

// y = f + s t, t of Student's distribution with four degrees of freedom: outliers pull less.
namespace ick {

namespace student {

constexpr double kDegrees = 4.0;  // heavy tails with a variance, 2 s^2

// -log c + log s + (nu + 1) / 2 log(1 + (r / s)^2 / nu),   c = Gamma((nu + 1) / 2) / (Gamma(nu / 2) sqrt(nu pi))
inline double cost(const double* f, int, double y, double log_scale, double* slope, double* d_log_scale) {
  constexpr double nu = kDegrees;
  static const double log_c =
      std::lgamma(0.5 * (nu + 1.0)) - std::lgamma(0.5 * nu) - 0.5 * std::log(nu * std::numbers::pi);
  const double r = f[0] - y;
  const double relative = r * r * std::exp(-log_scale) / nu;
  const double weight = 0.5 * (nu + 1.0) / (1.0 + relative);
  slope[0] = weight * 2.0 * r * std::exp(-log_scale) / nu;
  if (d_log_scale != nullptr) *d_log_scale = 0.5 - weight * relative;
  return 0.5 * log_scale - log_c + 0.5 * (nu + 1.0) * std::log1p(relative);
}

inline Moments moments(double f, double log_scale) {
  return {f, std::exp(0.5 * log_scale) * std::sqrt(kDegrees / (kDegrees - 2.0))};
}
inline NoiseShape noise(double) { return {0.0, 1.0}; }

inline double scale_of(Moments m) { return m.sd * std::sqrt((kDegrees - 2.0) / kDegrees); }

inline double log_density(double y, Moments m) {
  const double f = m.mean;
  double slope = 0.0;
  return -cost(&f, 1, y, 2.0 * std::log(scale_of(m)), &slope, nullptr);
}

// For four degrees: 1/2 + u (3 - u^2) / 4 with u = t / sqrt(4 + t^2); by 2 + u, 1 - u without cancelling below.
inline double cdf(double y, Moments m) {
  const double t = (y - m.mean) / scale_of(m), root = std::sqrt(4.0 + t * t);
  const double rest = 4.0 / (root * (root + std::abs(t)));  // 1 - |u|
  const double tail = 0.25 * rest * rest * (3.0 - rest);    // P(T > |t|)
  return t < 0.0 ? tail : 1.0 - tail;
}

// Shaw 2006: with a = 4 p (1 - p), t = 2 sign(p - 1/2) sqrt(cos(arccos(sqrt a) / 3) / sqrt a - 1)
inline double quantile(double p, Moments m) {
  const double root = std::sqrt(4.0 * p * (1.0 - p));
  const double t = 2.0 * std::sqrt(std::fmax(0.0, std::cos(std::acos(std::fmin(1.0, root)) / 3.0) / root - 1.0));
  return m.mean + scale_of(m) * (p < 0.5 ? -t : t);
}

}  // namespace student

inline Likelihood student_row() {
  Likelihood row{"student", "numbers with outliers: Student's t distribution with four degrees of freedom", ""};
  row.learns_scale = true;
  row.cost = student::cost;
  row.moments = student::moments;
  row.noise = student::noise;
  row.log_density = student::log_density;
  row.cdf = student::cdf;
  row.quantile = student::quantile;
  return row;
}

}  // namespace ick
