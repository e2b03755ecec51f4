#include "ick/examine/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ick/base/seed.h"
#include "kernel/special.h"

namespace ick {

namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

double mean_of_values(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> less_mean(std::span<const double> values) {
  std::vector<double> centred(values.begin(), values.end());
  const double mean = values.empty() ? 0.0 : mean_of_values(values);
  for (double& each : centred) each -= mean;
  return centred;
}

// Rows by series and time.
std::vector<std::size_t> order_of(const SeriesRows& rows) {
  std::vector<std::size_t> order(rows.time.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(rows.series[a], rows.time[a]) < std::pair(rows.series[b], rows.time[b]);
  });
  return order;
}

}  // namespace

double chi_squared_tail(double x, double degrees) {
  return x <= 0.0 ? 1.0 : std::max(0.0, 1.0 - lower_gamma(0.5 * degrees, 0.5 * x));
}

Autocorrelation autocorrelation_of(const SeriesRows& rows, double step, std::int64_t lags, std::int64_t tested) {
  Autocorrelation found;
  found.step = step, found.rows = std::ssize(rows.value);
  const std::vector<double> v = less_mean(rows.value);
  const auto n = static_cast<double>(v.size());
  double variance = 0.0;
  for (const double each : v) variance += each * each / n;
  const std::vector<std::size_t> order = order_of(rows);
  std::vector<double> sums(static_cast<std::size_t>(lags), 0.0);
  found.pairs.assign(static_cast<std::size_t>(lags), 0);
  for (std::size_t a = 0; a < order.size(); ++a) {
    for (std::size_t b = a + 1; b < order.size() && rows.series[order[a]] == rows.series[order[b]]; ++b) {
      const double apart = (rows.time[order[b]] - rows.time[order[a]]) / step;
      const auto lag = static_cast<std::int64_t>(std::floor(apart + 0.5));
      if (lag > lags) break;
      if (lag < 1) continue;
      sums[static_cast<std::size_t>(lag - 1)] += v[order[a]] * v[order[b]];
      ++found.pairs[static_cast<std::size_t>(lag - 1)];
    }
  }
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const auto pairs = static_cast<double>(found.pairs[k]);
    found.value.push_back(pairs > 0.0 && variance > 0.0 ? sums[k] / pairs / variance : kNoNumber);
    if (static_cast<std::int64_t>(k) >= tested || !std::isfinite(found.value[k])) continue;
    found.q += (n + 2.0) / n * pairs * found.value[k] * found.value[k];
    ++found.tested;
  }
  found.p = found.tested > 0 ? chi_squared_tail(found.q, static_cast<double>(found.tested)) : 1.0;
  return found;
}

BinnedMeans binned_means(std::span<const double> x, std::span<const double> y, std::int64_t bins) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  BinnedMeans found;
  const auto n = static_cast<std::int64_t>(order.size());
  for (std::int64_t b = 0; b < bins; ++b) {
    const auto first = static_cast<std::size_t>(b * n / bins), last = static_cast<std::size_t>((b + 1) * n / bins);
    if (first == last) continue;
    const auto count = static_cast<double>(last - first);
    double mx = 0.0, my = 0.0, square = 0.0;
    for (std::size_t i = first; i < last; ++i) mx += x[order[i]] / count, my += y[order[i]] / count;
    for (std::size_t i = first; i < last; ++i) square += (y[order[i]] - my) * (y[order[i]] - my);
    found.x.push_back(mx), found.y.push_back(my), found.rows.push_back(static_cast<std::int64_t>(last - first));
    found.error.push_back(count > 1.0 ? std::sqrt(square / (count - 1.0) / count) : kNoNumber);
  }
  return found;
}

double quantile_of(std::vector<double> values, double p) {
  if (values.empty()) return kNoNumber;
  std::sort(values.begin(), values.end());
  const double place = p * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

std::vector<std::int64_t> some_rows_of(std::int64_t rows, std::int64_t most, std::uint64_t seed) {
  std::vector<std::int64_t> some(static_cast<std::size_t>(rows));
  std::iota(some.begin(), some.end(), std::int64_t{0});
  if (rows <= most) return some;
  some = shuffled(rows, seed);
  some.resize(static_cast<std::size_t>(most));
  std::sort(some.begin(), some.end());
  return some;
}

std::vector<std::int64_t> outline_of(std::span<const double> values, std::int64_t most) {
  const std::int64_t n = std::ssize(values);
  std::vector<std::int64_t> kept;
  if (n <= most) {
    kept.resize(static_cast<std::size_t>(n));
    std::iota(kept.begin(), kept.end(), std::int64_t{0});
    return kept;
  }
  const std::int64_t runs = std::max<std::int64_t>(1, most / 2);
  for (std::int64_t r = 0; r < runs; ++r) {
    const auto first = values.begin() + r * n / runs, last = values.begin() + (r + 1) * n / runs;
    const auto [low, high] = std::minmax_element(first, last);
    const std::int64_t a = std::min(low, high) - values.begin(), b = std::max(low, high) - values.begin();
    kept.push_back(a);
    if (b != a) kept.push_back(b);
  }
  return kept;
}

}  // namespace ick
