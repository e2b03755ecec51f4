#include "ick/model/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "likelihood/special.h"

namespace ick {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kLevels[] = {0.5, 0.8, 0.9, 0.95, 0.99};
constexpr std::size_t kPitBins = 10;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double correlation(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean_of(a), mean_b = mean_of(b);
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0.0 && bb > 0.0 ? ab / std::sqrt(aa * bb) : kNotANumber;
}

// 1 for the smallest; equal values share the mean of their places.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) rank[order[i]] = 0.5 * static_cast<double>(first + 1 + last);
  }
  return rank;
}

void check_lengths(const char* what, std::size_t expected, std::size_t found) {
  if (expected != found)
    throw UsageError(
        fmt::format("scores: {} values of the {} for {} targets (expected as many)", found, what, expected));
}

void check(std::span<const double> y, std::span<const double> location, std::span<const double> scale,
           std::span<const double> weights) {
  if (y.empty()) throw UsageError("scores: there are no rows (expected at least one)");
  check_lengths("location", y.size(), location.size());
  check_lengths("scale", y.size(), scale.size());
  if (!weights.empty()) check_lengths("weight", y.size(), weights.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto refuse = [&](const char* what, double value, const char* expected) {
      throw UsageError(fmt::format("scores: row {}: the {} is {} (expected a {} number)", i + 1, what,
                                   number_text(value), expected));
    };
    const auto is_positive = [](double value) { return std::isfinite(value) && value > 0.0; };
    if (!std::isfinite(y[i])) refuse("target", y[i], "finite");
    if (!std::isfinite(location[i])) refuse("location", location[i], "finite");
    if (!is_positive(scale[i])) refuse("scale", scale[i], "positive finite");
    if (!weights.empty() && !is_positive(weights[i])) refuse("weight", weights[i], "positive finite");
  }
}

}  // namespace

double spearman(std::span<const double> a, std::span<const double> b) {
  check_lengths("other", a.size(), b.size());
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::any_of(a.begin(), a.end(), is_nan) || std::any_of(b.begin(), b.end(), is_nan)) return kNotANumber;
  return correlation(ranks(a), ranks(b));
}

Scores score(const Predictive& predictive, std::span<const double> y, std::span<const double> location,
             std::span<const double> scale, Moments training, const std::function<double(double)>& half_width,
             std::span<const double> weights) {
  check(y, location, scale, weights);
  const double total =
      weights.empty() ? static_cast<double>(y.size()) : std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto mean_over_rows = [&](const auto& value) {
    double sum = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += (weights.empty() ? 1.0 : weights[i]) * value(i);
    return sum / total;
  };
  std::vector<double> mean(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) mean[i] = predictive.moments(location[i], scale[i]).mean;
  const double mean_y = mean_over_rows([&](std::size_t i) { return y[i]; });
  const double squares = mean_over_rows([&](std::size_t i) { return (y[i] - mean[i]) * (y[i] - mean[i]); });
  const double variance = mean_over_rows([&](std::size_t i) { return (y[i] - mean_y) * (y[i] - mean_y); });
  const auto [smallest, largest] = std::minmax_element(y.begin(), y.end());
  const bool constant = *smallest == *largest;  // rounding of the mean may leave the variance above zero

  Scores scores;
  scores.rows = std::ssize(y);
  scores.rmse = std::sqrt(squares);
  scores.mae = mean_over_rows([&](std::size_t i) { return std::abs(y[i] - mean[i]); });
  scores.r2 = constant ? kNotANumber : 1.0 - squares / variance;
  scores.spearman = spearman(y, mean);
  scores.nlpd =
      mean_over_rows([&](std::size_t i) { return predictive.negative_log_density(y[i], location[i], scale[i]); });
  scores.msll = kNotANumber;
  if (training.sd > 0.0) {
    scores.msll = scores.nlpd - mean_over_rows([&](std::size_t i) {
                    return predictive.negative_log_density(y[i], training.mean, training.sd);
                  });
  }
  scores.crps = mean_over_rows([&](std::size_t i) { return predictive.crps(y[i], location[i], scale[i]); });
  for (const double level : kLevels) {
    const double h = half_width ? half_width(level) : normal_quantile(0.5 + 0.5 * level);
    const std::string name = number_text(level);
    scores.coverage[name] = mean_over_rows(
        [&](std::size_t i) { return predictive.conformity(y[i], location[i], scale[i]) <= h ? 1.0 : 0.0; });
    scores.width[name] = mean_over_rows([&](std::size_t i) {
      return predictive.bound(h, location[i], scale[i]) - predictive.bound(-h, location[i], scale[i]);
    });
  }
  scores.pit.resize(kPitBins);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double p = normal_cdf(predictive.normal_score(y[i], location[i], scale[i]));
    const auto bin = static_cast<std::size_t>(static_cast<double>(kPitBins) * p);
    scores.pit[std::min(bin, kPitBins - 1)] += weights.empty() ? 1.0 : weights[i];
  }
  for (double& share : scores.pit) share /= total;
  return scores;
}

}  // namespace ick
