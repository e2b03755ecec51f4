#include "ick/likelihood/predictive.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "ick/base/seed.h"
#include "likelihood/gaussian.h"

namespace ick {

namespace {

// Probabilities that a normal score can be told from: below, and one less the smallest difference from one.
constexpr double kLeastTail = 1e-300, kMost = 1.0 - 0x1p-53;

double score_of(double p) { return normal_quantile(std::clamp(p, kLeastTail, kMost)); }

// sd (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)), z = (y - mean) / sd (Gneiting and Raftery 2007, 4.2);
// 2 Phi(z) - 1 = erf(z / sqrt 2).
double gaussian_crps(double z, double sd) {
  return sd * (z * std::erf(z / std::numbers::sqrt2) +
               std::numbers::inv_sqrtpi * (std::numbers::sqrt2 * std::exp(-0.5 * z * z) - 1.0));
}

// CRPS of exp N(location, scale^2), z = (log y - location) / scale: y (2 Phi(z) - 1) - 2 mean (Phi(z - scale) +
// Phi(scale / sqrt 2) - 1) (Baran and Lerch 2015); 1 - Phi(a) = Phi(-a).
double log_normal_crps(double y, double mean, double z, double scale) {
  return y * std::erf(z / std::numbers::sqrt2) -
         2.0 * mean * (normal_cdf(z - scale) - normal_cdf(-scale / std::numbers::sqrt2));
}

// Gauss and Legendre's rule with 16 points between low and high.
template <class Function>
double integral(const Function& f, double low, double high) {
  constexpr std::array kAt = {0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863,
                              0.6178762444026437484, 0.7554044083550030339, 0.8656312023878317439,
                              0.9445750230732325761, 0.9894009349916499326};
  constexpr std::array kWeight = {0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382,
                                  0.1495959888165767321, 0.1246289712555338721, 0.0951585116824927848,
                                  0.0622535239386478929, 0.0271524594117540949};
  double total = 0.0;
  const double half = 0.5 * (high - low), middle = 0.5 * (high + low);
  for (std::size_t i = 0; i < kAt.size(); ++i) {
    total += half * kWeight[i] * (f(middle - half * kAt[i]) + f(middle + half * kAt[i]));
  }
  return total;
}

const Likelihood& normal_likelihood() {
  static const Likelihood row = gaussian();
  return row;
}

bool is_normal(const Likelihood& of) { return of.cdf == normal::cdf; }

}  // namespace

Predictive::Predictive(const Likelihood& likelihood, const Transform& transform)
    : of_(transform.name.empty() ? &likelihood : &normal_likelihood()), transform_(&transform) {}

Moments Predictive::moments(double location, double scale) const {
  Moments m{location, scale};
  transform_->moments(m.mean, m.sd);
  return m;
}

double Predictive::cdf(double y, double location, double scale) const {
  if (!transform_->admits(y)) return y < transform_->inverse(location) ? 0.0 : 1.0;
  return of_->cdf(transform_->forward(y), {location, scale});
}

double Predictive::quantile(double p, double location, double scale) const {
  return transform_->inverse(of_->quantile(p, {location, scale}));
}

double Predictive::draw(double uniform, double location, double scale) const {
  return quantile(uniform, location, scale);
}

double Predictive::negative_log_density(double y, double location, double scale) const {
  const double z = transform_->forward(y), slope = transform_->log_slope(y);
  if (std::isinf(slope)) return -std::log(std::max(kLeastTail, of_->cdf(z, {location, scale})));
  return -of_->log_density(z, {location, scale}) - slope;
}

double Predictive::normal_score(double y, double location, double scale) const {
  const double z = transform_->forward(y);
  if (is_normal(*of_)) return (z - location) / scale;
  if (!of_->is_discrete()) return score_of(of_->cdf(z, {location, scale}));
  return score_of(0.5 * (of_->cdf(z, {location, scale}) + of_->cdf(z - 1.0, {location, scale})));
}

double Predictive::conformity(double y, double location, double scale) const {
  const double z = transform_->forward(y);
  if (of_->symmetric) return std::abs(z - location) / scale;
  const double above = score_of(of_->cdf(of_->is_discrete() ? z - 1.0 : z, {location, scale}));
  return std::max({0.0, above, -score_of(of_->cdf(z, {location, scale}))});
}

double Predictive::bound(double h, double location, double scale) const {
  if (!of_->symmetric) return quantile(std::clamp(normal_cdf(h), kLeastTail, kMost), location, scale);
  const double end = transform_->inverse(location + h * scale);
  return of_->target == TargetKind::count ? std::max(0.0, end) : end;
}

double Predictive::crps(double y, double location, double scale) const {
  const double z = (transform_->forward(y) - location) / scale;
  if (is_normal(*of_) && transform_->name.empty()) return gaussian_crps(z, scale);
  if (is_normal(*of_) && transform_->name == "log") {
    return log_normal_crps(y, moments(location, scale).mean, z, scale);
  }
  const auto below = [&](double t) { return std::pow(cdf(t, location, scale), 2.0); };
  const auto above = [&](double t) { return std::pow(1.0 - cdf(t, location, scale), 2.0); };
  // Panels between quantiles, so that heavy tails are followed, and y.
  constexpr std::array kTails = {1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.5};
  std::vector<double> ends = {y};
  for (const double p : kTails) {
    ends.push_back(quantile(p, location, scale));
    ends.push_back(quantile(1.0 - p, location, scale));
  }
  std::sort(ends.begin(), ends.end());
  const double low = ends.front(), high = ends.back();
  if (!of_->is_discrete() || high - low > 10'000.0) {
    double sum = 0.0;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      if (ends[i + 1] == ends[i]) continue;
      sum += ends[i + 1] <= y ? integral(below, ends[i], ends[i + 1]) : integral(above, ends[i], ends[i + 1]);
    }
    return sum;
  }
  double sum = 0.0;  // F is constant from one count to the next
  for (double t = low; t < high; t += 1.0) sum += t < y ? below(t) : above(t);
  return sum;
}

}  // namespace ick
