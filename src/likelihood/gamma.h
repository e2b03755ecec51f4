#pragma once

#include <cmath>

#include "ick/likelihood/likelihood.h"
#include "kernel/special.h"
#include "likelihood/special.h"

// Positive numbers with mean exp f and a relative standard deviation s: shape k = 1 / s^2.
namespace ick {

namespace gamma {

// log Gamma(k) - k log k + k f - (k - 1) log y + k y exp(-f);   d/df = k (1 - y exp(-f))
inline double cost(const double* f, int, double y, double log_scale, double* slope, double* d_log_scale) {
  const double k = std::exp(-log_scale), relative = y * std::exp(-f[0]), log_relative = std::log(y) - f[0];
  slope[0] = k * (1.0 - relative);
  if (d_log_scale != nullptr) *d_log_scale = k * (1.0 - digamma(k) - log_scale + log_relative - relative);
  return std::lgamma(k) + k * log_scale - k * log_relative + std::log(y) + k * relative;
}

inline Moments moments(double f, double log_scale) { return {std::exp(f), std::exp(f + 0.5 * log_scale)}; }
inline NoiseShape noise(double mean) { return {0.0, mean * mean}; }

inline double shape_of(Moments m) { return m.mean * m.mean / (m.sd * m.sd); }

inline double log_density(double y, Moments m) {
  if (!(y > 0.0)) return -HUGE_VAL;
  const double f = std::log(m.mean);
  double slope = 0.0;
  return -cost(&f, 1, y, -std::log(shape_of(m)), &slope, nullptr);
}
inline double cdf(double y, Moments m) {
  const double k = shape_of(m);
  return y <= 0.0 ? 0.0 : lower_gamma(k, k * y / m.mean);
}
inline double quantile(double p, Moments m) { return m.mean * unit_gamma_quantile(p, shape_of(m)); }
}  // namespace gamma

inline Likelihood gamma_row() {
  Likelihood row{"gamma", "positive numbers whose standard deviation grows with the mean", ""};
  row.target = TargetKind::positive;
  row.link = Link::log;
  row.learns_scale = true;
  row.symmetric = false;
  row.cost = gamma::cost;
  row.moments = gamma::moments;
  row.noise = gamma::noise;
  row.log_density = gamma::log_density;
  row.cdf = gamma::cdf;
  row.quantile = gamma::quantile;
  return row;
}

}  // namespace ick
