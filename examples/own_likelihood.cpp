// A likelihood of one's own: Laplace's distribution, p(y | f, s) = exp(-|y - f| / s) / (2 s).
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "ick/base/seed.h"
#include "ick/extend.h"
#include "ick/ick.h"

namespace {

// -log p, with log s^2 as the scale: d/df = sign(f - y) / s, d/d log s^2 = (1 - |f - y| / s) / 2
double cost(const double* f, int, double y, double log_scale, double* slope, double* d_log_scale) {
  const double r = f[0] - y, s = std::exp(0.5 * log_scale);
  slope[0] = r > 0.0 ? 1.0 / s : r < 0.0 ? -1.0 / s : 0.0;
  if (d_log_scale != nullptr) *d_log_scale = 0.5 - 0.5 * std::abs(r) / s;
  return std::abs(r) / s + std::log(2.0 * s);
}

double scale_of(ick::Moments m) { return m.sd / std::numbers::sqrt2; }  // the variance is 2 s^2

double cdf(double y, ick::Moments m) {
  const double z = (y - m.mean) / scale_of(m);
  return z < 0.0 ? 0.5 * std::exp(z) : 1.0 - 0.5 * std::exp(-z);
}

ick::Likelihood laplace_likelihood() {
  ick::Likelihood row;
  row.name = "double_exponential";
  row.text = "numbers with Laplace's distribution";
  row.learns_scale = true;
  row.cost = cost;
  row.moments = [](double f, double log_scale) {
    return ick::Moments{f, std::numbers::sqrt2 * std::exp(0.5 * log_scale)};
  };
  row.noise = [](double) { return ick::NoiseShape{0.0, 1.0}; };
  row.log_density = [](double y, ick::Moments m) {
    return -std::abs(y - m.mean) / scale_of(m) - std::log(2.0 * scale_of(m));
  };
  row.cdf = cdf;
  row.quantile = [](double p, ick::Moments m) {
    return m.mean + scale_of(m) * (p < 0.5 ? std::log(2.0 * p) : -std::log(2.0 * (1.0 - p)));
  };
  return row;
}

}  // namespace

int main() {
  const ick::Likelihood laplace = laplace_likelihood();
  ick::add_likelihood(laplace);
  ick::Random random(1);
  std::vector<double> x, y;
  for (int i = 0; i < 400; ++i) {
    x.push_back(random.normal());
    y.push_back(laplace.quantile(random.uniform(), {std::sin(x.back()), 0.3}));
  }
  const ick::Table table = ick::Table::from({ick::Column::numbers("x", x), ick::Column::numbers("y", y)});
  ick::FitOptions options;
  options.likelihood = "double_exponential";
  options.members = 2;
  options.holdout = ick::parse_split("random=30%");
  const ick::Fitted fitted = ick::fit(table, "y ~ mlp(x)", options);
  const ick::Scores& scores = *fitted.report().holdout;
  std::printf("nlpd %.3f, 90%% interval covers %.1f%%\n", scores.nlpd, 100.0 * scores.coverage.at("0.9"));
  return scores.rmse < 0.4 && std::abs(scores.coverage.at("0.9") - 0.9) < 0.1 ? 0 : 1;
}
