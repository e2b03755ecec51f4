#pragma once

#include <algorithm>
#include <cmath>

#include "ick/likelihood/likelihood.h"
#include "kernel/special.h"
#include "likelihood/special.h"

// Counts with mean exp f: Poisson's distribution, and the negative binomial one for those that vary more.
namespace ick {

namespace counts {

inline double poisson_log(double y, double mean) { return y * std::log(mean) - mean - std::lgamma(y + 1.0); }
inline double poisson_cdf(double y, double mean) {
  return y < 0.0 ? 0.0 : 1.0 - lower_gamma(std::floor(y) + 1.0, mean);
}

// r of a negative binomial distribution with these moments: variance = mean + mean^2 / r. Infinite: Poisson's.
inline double size_of(Moments m) {
  const double excess = m.sd * m.sd - m.mean;
  return excess > 1e-9 * m.mean ? m.mean * m.mean / excess : HUGE_VAL;
}

// Gamma(y + r) / (Gamma(r) y!) (r / (r + mean))^r (mean / (r + mean))^y
inline double log_density(double y, Moments m) {
  if (y < 0.0 || y != std::floor(y)) return -HUGE_VAL;
  const double r = size_of(m);
  if (!std::isfinite(r)) return poisson_log(y, m.mean);
  return std::lgamma(y + r) - std::lgamma(r) - std::lgamma(y + 1.0) - r * std::log1p(m.mean / r) +
         y * std::log(m.mean / (r + m.mean));
}

inline double cdf(double y, Moments m) {
  if (y < 0.0) return 0.0;
  const double r = size_of(m);
  return std::isfinite(r) ? lower_beta(r, std::floor(y) + 1.0, r / (r + m.mean)) : poisson_cdf(y, m.mean);
}

inline double quantile(double p, Moments m) {
  return least_count([&](double y) { return cdf(y, m); }, p, m.mean + 2.0 * m.sd);
}

// exp f - y f + log y!
inline double poisson_cost(const double* f, int, double y, double, double* slope, double*) {
  const double rate = std::exp(f[0]);
  slope[0] = rate - y;
  return rate - y * f[0] + std::lgamma(y + 1.0);
}

// With a = s^2 = 1 / r and m = exp f, variance m + a m^2:
//   -log Gamma(y + r) + log Gamma(r) + log y! + (r + y) log(1 + a m) - y log(a m)
//   d/df = (m - y) / (1 + a m),   d/d log a = r (psi(y + r) - psi(r) - log(1 + a m)) + d/df
inline double negative_binomial_cost(const double* f, int, double y, double log_scale, double* slope,
                                     double* d_log_scale) {
  const double a = std::exp(log_scale), r = 1.0 / a, m = std::exp(f[0]), spread = std::log1p(a * m);
  slope[0] = (m - y) / (1.0 + a * m);
  if (d_log_scale != nullptr) *d_log_scale = r * (digamma(y + r) - digamma(r) - spread) + slope[0];
  return std::lgamma(r) - std::lgamma(y + r) + std::lgamma(y + 1.0) + (r + y) * spread - y * (log_scale + f[0]);
}

inline Moments poisson_moments(double f, double) { return {std::exp(f), std::exp(0.5 * f)}; }
inline Moments negative_binomial_moments(double f, double log_scale) {
  const double m = std::exp(f);
  return {m, std::sqrt(m + std::exp(log_scale) * m * m)};
}

inline NoiseShape poisson_noise(double mean) { return {0.0, mean}; }
inline NoiseShape negative_binomial_noise(double mean) { return {mean, mean * mean}; }

inline Likelihood row(std::string_view name, std::string_view text) {
  Likelihood row{name, text, ""};
  row.target = TargetKind::count;
  row.link = Link::log;
  row.log_density = log_density;
  row.cdf = cdf;
  row.quantile = quantile;
  return row;
}

}  // namespace counts

// With a dispersion that is found afterwards: variance = dispersion * mean.
inline Likelihood poisson() {
  Likelihood row = counts::row("poisson", "counts; the variance is a multiple of the mean, found on rows not seen");
  row.cost = counts::poisson_cost;
  row.moments = counts::poisson_moments;
  row.noise = counts::poisson_noise;
  return row;
}

inline Likelihood negative_binomial() {
  Likelihood row = counts::row("negative_binomial", "counts that vary more than Poisson's: variance = mean + a mean^2");
  row.learns_scale = true;
  row.symmetric = false;
  row.cost = counts::negative_binomial_cost;
  row.moments = counts::negative_binomial_moments;
  row.noise = counts::negative_binomial_noise;
  return row;
}

}  // namespace ick
