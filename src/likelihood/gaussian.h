#pragma once

#include <algorithm>
#include <cmath>

#include "ick/base/seed.h"
#include "ick/likelihood/likelihood.h"
#include "likelihood/special.h"

// Gaussian noise of one size, y ~ N(f, s^2), and two losses that are robust to outliers.
namespace ick {

namespace normal {

inline Moments moments(double f, double log_scale) { return {f, std::exp(0.5 * log_scale)}; }
inline NoiseShape noise(double) { return {0.0, 1.0}; }
inline double log_density(double y, Moments m) {
  const double z = (y - m.mean) / m.sd;
  return -0.5 * z * z - std::log(m.sd) - kHalfLogTwoPi;
}
inline double cdf(double y, Moments m) { return normal_cdf((y - m.mean) / m.sd); }
inline double quantile(double p, Moments m) { return m.mean + m.sd * normal_quantile(p); }

}  // namespace normal

// (f - y)^2: the Gaussian likelihood whatever s is, which is found afterwards.
inline double square_cost(const double* f, int, double y, double, double* slope, double*) {
  const double r = f[0] - y;
  slope[0] = 2.0 * r;
  return r * r;
}

// -log N(y | f, s^2)
inline double gaussian_cost(const double* f, int, double y, double log_scale, double* slope, double* d_log_scale) {
  const double r = f[0] - y, precision = std::exp(-log_scale);
  slope[0] = r * precision;
  if (d_log_scale != nullptr) *d_log_scale = 0.5 - 0.5 * r * r * precision;
  return kHalfLogTwoPi + 0.5 * log_scale + 0.5 * r * r * precision;
}

inline double absolute_cost(const double* f, int, double y, double, double* slope, double*) {
  const double r = f[0] - y;
  slope[0] = r > 0.0 ? 1.0 : r < 0.0 ? -1.0 : 0.0;
  return std::abs(r);
}

// Quadratic within one standard deviation of the target, linear beyond.
inline double huber_cost(const double* f, int, double y, double, double* slope, double*) {
  const double r = f[0] - y;
  slope[0] = std::clamp(r, -1.0, 1.0);
  return std::abs(r) < 1.0 ? 0.5 * r * r : std::abs(r) - 0.5;
}

inline Likelihood normal_row(std::string_view name, std::string_view text) {
  Likelihood row{name, text, ""};
  row.moments = normal::moments;
  row.noise = normal::noise;
  row.log_density = normal::log_density;
  row.cdf = normal::cdf;
  row.quantile = normal::quantile;
  return row;
}

inline Likelihood gaussian() {
  Likelihood row =
      normal_row("gaussian", "numbers with Gaussian noise; squared error, the noise found on rows not seen");
  row.alias = "mse";
  row.conjugate = true;
  row.cost = square_cost;
  row.density = false;
  return row;
}

inline Likelihood gaussian_nll() {
  Likelihood row = normal_row("gaussian_nll", "the same, the noise learned together with the function");
  row.conjugate = true;
  row.learns_scale = true;
  row.cost = gaussian_cost;
  return row;
}

inline Likelihood mae() {
  Likelihood row = normal_row("mae", "numbers; absolute error");
  row.density = false;
  row.cost = absolute_cost;
  return row;
}

inline Likelihood huber() {
  Likelihood row = normal_row("huber", "numbers; squared error, absolute beyond one standard deviation of the target");
  row.density = false;
  row.cost = huber_cost;
  return row;
}

}  // namespace ick
