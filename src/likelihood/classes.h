#pragma once

#include <algorithm>
#include <cmath>

#include "ick/likelihood/likelihood.h"
#include "likelihood/special.h"

// One of several classes; y is its number, from 0.
namespace ick {

namespace classes {

// log(1 + exp(-s f)), s = +-1
inline double logistic_cost(const double* f, int, double y, double, double* slope, double*) {
  const double sign = 2.0 * y - 1.0, z = -sign * f[0];
  const double size = std::exp(-std::abs(z)), p = (z > 0.0 ? 1.0 : size) / (1.0 + size);
  slope[0] = -sign * p;
  return std::max(z, 0.0) + std::log1p(size);
}

// -log Phi(s f);   d/df = -s phi(f) / Phi(s f)
inline double probit_cost(const double* f, int, double y, double, double* slope, double*) {
  const double sign = 2.0 * y - 1.0, log_p = log_normal_cdf(sign * f[0]);
  slope[0] = -sign * std::exp(-0.5 * f[0] * f[0] - kHalfLogTwoPi - log_p);
  return -log_p;
}

// log sum_c exp f_c - f_y
inline double softmax_cost(const double* f, int outputs, double y, double, double* slope, double*) {
  const double top = *std::max_element(f, f + outputs);
  double sum = 0.0;
  for (int c = 0; c < outputs; ++c) sum += slope[c] = std::exp(f[c] - top);
  for (int c = 0; c < outputs; ++c) slope[c] /= sum;
  const int seen = static_cast<int>(y);
  slope[seen] -= 1.0;
  return std::log(sum) + top - f[seen];
}

inline Likelihood row(std::string_view name, std::string_view text, Link link, decltype(Likelihood::cost) cost) {
  Likelihood row{name, text, ""};
  row.target = TargetKind::classes;
  row.link = link;
  row.cost = cost;
  return row;
}

}  // namespace classes

inline Likelihood bernoulli() {
  return classes::row("bernoulli", "two classes, logistic regression", Link::logit, classes::logistic_cost);
}
inline Likelihood probit() { return classes::row("probit", "two classes, probit", Link::probit, classes::probit_cost); }
inline Likelihood categorical() {
  return classes::row("categorical", "any number of classes, softmax", Link::softmax, classes::softmax_cost);
}

}  // namespace ick
