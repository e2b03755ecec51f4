#pragma once

#include <algorithm>
#include <cmath>

#include "ick/likelihood/likelihood.h"
#include "likelihood/special.h"

// Proportions with mean m = 1 / (1 + exp(-f)) and precision q = 1 / s^2: Beta(q m, q (1 - m)), variance
// m (1 - m) / (1 + q).
namespace ick {

namespace beta {

// -log Gamma(q) + log Gamma(a) + log Gamma(b) - (a - 1) log y - (b - 1) log(1 - y),   a = q m, b = q (1 - m)
inline double cost_at(double mean, double y, double q, double* slope, double* d_log_scale) {
  const double a = q * mean, b = q * (1.0 - mean), log_y = std::log(y), log_rest = std::log1p(-y);
  if (slope != nullptr) {
    const double psi_a = digamma(a), psi_b = digamma(b);
    *slope = q * mean * (1.0 - mean) * (psi_a - psi_b - log_y + log_rest);
    if (d_log_scale != nullptr) {
      *d_log_scale = q * digamma(q) - a * (psi_a - log_y) - b * (psi_b - log_rest);
    }
  }
  return std::lgamma(a) + std::lgamma(b) - std::lgamma(q) - (a - 1.0) * log_y - (b - 1.0) * log_rest;
}

// Away from the ends, where a or b would vanish.
inline double mean_at(double f) { return std::clamp(1.0 / (1.0 + std::exp(-f)), 1e-12, 1.0 - 1e-12); }

inline double cost(const double* f, int, double y, double log_scale, double* slope, double* d_log_scale) {
  return cost_at(mean_at(f[0]), y, std::exp(-log_scale), slope, d_log_scale);
}

inline Moments moments(double f, double log_scale) {
  const double m = mean_at(f);
  return {m, std::sqrt(m * (1.0 - m) / (1.0 + std::exp(-log_scale)))};
}
inline NoiseShape noise(double mean) { return {0.0, mean * (1.0 - mean)}; }

// No distribution on (0, 1) has a variance of m (1 - m) or more.
inline double precision_of(Moments m) { return std::max(1e-3, m.mean * (1.0 - m.mean) / (m.sd * m.sd) - 1.0); }
inline double log_density(double y, Moments m) {
  return y > 0.0 && y < 1.0 ? -cost_at(m.mean, y, precision_of(m), nullptr, nullptr) : -HUGE_VAL;
}
inline double cdf(double y, Moments m) {
  const double q = precision_of(m);
  return lower_beta(q * m.mean, q * (1.0 - m.mean), y);
}
inline double quantile(double p, Moments m) {
  return solve_increasing([&](double y) { return cdf(y, m); }, p, 0.0, 1.0);
}
}  // namespace beta

inline Likelihood beta_row() {
  Likelihood row{"beta", "proportions between zero and one", ""};
  row.target = TargetKind::proportion;
  row.link = Link::logit;
  row.learns_scale = true;
  row.symmetric = false;
  row.cost = beta::cost;
  row.moments = beta::moments;
  row.noise = beta::noise;
  row.log_density = beta::log_density;
  row.cdf = beta::cdf;
  row.quantile = beta::quantile;
  return row;
}

}  // namespace ick
