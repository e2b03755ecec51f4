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

namespace ick {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kLevels[] = {0.5, 0.8, 0.9, 0.95, 0.99};
constexpr std::size_t kPitBins = 10;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// -log N(y; mean, sd^2)
double surprise(double y, double mean, double sd) {
  const double z = (y - mean) / sd;
  return 0.5 * z * z + std::log(sd) + 0.5 * std::log(2.0 * std::numbers::pi);
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// Integral of (F(x) - [x >= y])^2 dx for N(mean, sd^2): sd (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)), where
// z = (y - mean) / sd (Gneiting and Raftery 2007, 4.2). 2 Phi(z) - 1 = erf(z / sqrt 2).
double gaussian_crps(double z, double sd) {
  return sd * (z * std::erf(z / std::numbers::sqrt2) +
               std::numbers::inv_sqrtpi * (std::numbers::sqrt2 * std::exp(-0.5 * z * z) - 1.0));
}

// The same for exp N(location, scale^2), z = (log y - location) / scale: y (2 Phi(z) - 1) - 2 mean (Phi(z - scale) +
// Phi(scale / sqrt 2) - 1) (Baran and Lerch 2015); 1 - Phi(a) = Phi(-a).
double log_normal_crps(double y, double mean, double z, double scale) {
  return y * std::erf(z / std::numbers::sqrt2) -
         2.0 * mean * (normal_cdf(z - scale) - normal_cdf(-scale / std::numbers::sqrt2));
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

void check(const char* centre, const char* width, std::span<const double> y, std::span<const double> centres,
           std::span<const double> widths) {
  if (y.empty()) throw UsageError("scores: there are no rows (expected at least one)");
  check_lengths(centre, y.size(), centres.size());
  check_lengths(width, y.size(), widths.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto refuse = [&](const char* what, double value, const char* expected) {
      throw UsageError(fmt::format("scores: row {}: the {} is {} (expected a {} number)", i + 1, what,
                                   number_text(value), expected));
    };
    if (!std::isfinite(y[i])) refuse("target", y[i], "finite");
    if (!std::isfinite(centres[i])) refuse(centre, centres[i], "finite");
    if (!std::isfinite(widths[i]) || widths[i] <= 0.0) refuse(width, widths[i], "positive finite");
  }
}

// One row as every law tells it: z = (y - location) / scale is its standard normal residual (of log y, where the law is
// log-normal), surprise -log density of y.
struct Row {
  double y, mean, location, scale, z, surprise, training_surprise, crps;
};

// `width`: of a row's interval, in the target's units; h is its half width in units of the row's scale.
Scores summary(const std::vector<Row>& rows, bool training_targets_vary,
               const std::function<double(double)>& half_width, double (*width)(const Row& row, double h)) {
  const auto column = [&](double Row::*member) {
    std::vector<double> values;
    for (const Row& row : rows) values.push_back(row.*member);
    return values;
  };
  const auto mean_over_rows = [&](auto value) {
    double sum = 0.0;
    for (const Row& row : rows) sum += value(row);
    return sum / static_cast<double>(rows.size());
  };
  const std::vector<double> y = column(&Row::y);
  const double mean_y = mean_of(y);
  const double squares = mean_over_rows([](const Row& row) { return (row.y - row.mean) * (row.y - row.mean); });
  const double variance = mean_over_rows([&](const Row& row) { return (row.y - mean_y) * (row.y - mean_y); });
  const auto [smallest, largest] = std::minmax_element(y.begin(), y.end());
  const bool constant = *smallest == *largest;  // rounding of the mean may leave the variance above zero

  Scores scores;
  scores.rows = std::ssize(rows);
  scores.rmse = std::sqrt(squares);
  scores.mae = mean_over_rows([](const Row& row) { return std::abs(row.y - row.mean); });
  scores.r2 = constant ? kNotANumber : 1.0 - squares / variance;
  scores.spearman = spearman(y, column(&Row::mean));
  scores.nlpd = mean_of(column(&Row::surprise));
  scores.msll = training_targets_vary ? scores.nlpd - mean_of(column(&Row::training_surprise)) : kNotANumber;
  scores.crps = mean_of(column(&Row::crps));
  for (const double level : kLevels) {
    const double h = half_width ? half_width(level) : normal_quantile(0.5 + 0.5 * level);
    const std::string name = number_text(level);
    scores.coverage[name] = mean_over_rows([&](const Row& row) { return std::abs(row.z) <= h ? 1.0 : 0.0; });
    scores.width[name] = mean_over_rows([&](const Row& row) { return width(row, h); });
  }
  scores.pit.resize(kPitBins);
  for (const Row& row : rows) {
    const auto bin = static_cast<std::size_t>(static_cast<double>(kPitBins) * normal_cdf(row.z));
    scores.pit[std::min(bin, kPitBins - 1)] += 1.0;
  }
  for (double& share : scores.pit) share /= static_cast<double>(rows.size());
  return scores;
}

}  // namespace

double spearman(std::span<const double> a, std::span<const double> b) {
  check_lengths("other", a.size(), b.size());
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::any_of(a.begin(), a.end(), is_nan) || std::any_of(b.begin(), b.end(), is_nan)) return kNotANumber;
  return correlation(ranks(a), ranks(b));
}

Scores score(std::span<const double> y, std::span<const double> mean, std::span<const double> sd, double training_mean,
             double training_sd, const std::function<double(double)>& half_width) {
  check("mean", "standard deviation", y, mean, sd);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double z = (y[i] - mean[i]) / sd[i];
    rows.push_back({y[i], mean[i], mean[i], sd[i], z, surprise(y[i], mean[i], sd[i]),
                    surprise(y[i], training_mean, training_sd), gaussian_crps(z, sd[i])});
  }
  return summary(rows, training_sd > 0.0, half_width, [](const Row& row, double h) { return 2.0 * h * row.scale; });
}

// The density of y = exp(log_y) is that of log_y over y; exp(a + b) - exp(a - b) = 2 exp(a) sinh(b).
Scores score_log(std::span<const double> log_y, std::span<const double> location, std::span<const double> scale,
                 double training_location, double training_scale, const std::function<double(double)>& half_width) {
  check("location", "scale", log_y, location, scale);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < log_y.size(); ++i) {
    const double y = std::exp(log_y[i]), mean = std::exp(location[i] + 0.5 * scale[i] * scale[i]);
    const double z = (log_y[i] - location[i]) / scale[i];
    rows.push_back({y, mean, location[i], scale[i], z, surprise(log_y[i], location[i], scale[i]) + log_y[i],
                    surprise(log_y[i], training_location, training_scale) + log_y[i],
                    log_normal_crps(y, mean, z, scale[i])});
  }
  return summary(rows, training_scale > 0.0, half_width,
                 [](const Row& row, double h) { return 2.0 * std::exp(row.location) * std::sinh(h * row.scale); });
}

}  // namespace ick
