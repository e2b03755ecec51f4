#include "ick/kernel/periodogram.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr std::size_t kMostRows =
    4096;  // a seeded draw of more: uneven places show frequencies beyond half their own density
constexpr std::size_t kMostSteps = 20000;  // of the frequency grid
constexpr double kStepsPerCycle = 5.0;     // grid steps within 1 / span, the width of a peak

// y less its least-squares line over x
void remove_line(const std::vector<double>& x, std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double x_mean = std::accumulate(x.begin(), x.end(), 0.0) / n,
               y_mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0.0, xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  for (std::size_t i = 0; i < x.size(); ++i) y[i] -= y_mean + xy / xx * (x[i] - x_mean);
}

// Half the sampling frequency, by the median gap between distinct x.
double highest_frequency(std::vector<double> x, double span) {
  std::sort(x.begin(), x.end());
  x.erase(std::unique(x.begin(), x.end()), x.end());
  std::vector<double> gaps;
  for (std::size_t i = 1; i < x.size(); ++i) gaps.push_back(x[i] - x[i - 1]);
  std::nth_element(gaps.begin(), gaps.begin() + std::ssize(gaps) / 2, gaps.end());
  return std::min(0.5 / gaps[gaps.size() / 2], static_cast<double>(kMostSteps) / (kStepsPerCycle * span));
}

// Share of the variance of y that a + b cos(2 pi f x) + c sin(2 pi f x) explains, on the grid f = step, 2 step, ...
// (generalised Lomb-Scargle, Zechmeister and Kuerster 2009).
std::vector<double> periodogram(const std::vector<double>& x, const std::vector<double>& y, double step,
                                std::size_t steps) {
  const std::size_t rows = x.size();
  const auto n = static_cast<double>(rows);
  std::vector<double> cosine(rows, 1.0), sine(rows, 0.0), turn_cosine(rows), turn_sine(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    turn_cosine[i] = std::cos(2.0 * std::numbers::pi * step * x[i]);
    turn_sine[i] = std::sin(2.0 * std::numbers::pi * step * x[i]);
  }
  const double yy = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
  std::vector<double> power(steps);
  for (std::size_t f = 0; f < steps; ++f) {
    double c = 0.0, s = 0.0, cc = 0.0, cs = 0.0, yc = 0.0, ys = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {  // one step further round the circle
      const double next = cosine[i] * turn_cosine[i] - sine[i] * turn_sine[i];
      sine[i] = sine[i] * turn_cosine[i] + cosine[i] * turn_sine[i];
      cosine[i] = next;
      c += cosine[i];
      s += sine[i];
      cc += cosine[i] * cosine[i];
      cs += cosine[i] * sine[i];
      yc += y[i] * cosine[i];
      ys += y[i] * sine[i];
    }
    const double ss = n - cc - s * s / n;  // sin^2 = 1 - cos^2, and less the means
    cc -= c * c / n;
    cs -= c * s / n;
    const double determinant = cc * ss - cs * cs;
    const bool flat = determinant < 1e-9 * n * n;  // the wave is constant on the rows
    power[f] = flat ? 0.0 : (yc * yc * ss + ys * ys * cc - 2.0 * yc * ys * cs) / (determinant * yy);
  }
  return power;
}

}  // namespace

std::vector<double> strongest_frequencies(std::span<const double> x, std::span<const double> y, int count) {
  if (x.size() != y.size()) throw UsageError("a spectrum needs as many values as places");
  std::vector<double> all;
  std::copy_if(x.begin(), x.end(), std::back_inserter(all), [](double each) { return std::isfinite(each); });
  std::vector<double> places, values;
  Random random(seed_for(0, "periodogram"));
  const double keep =
      std::min(1.0, static_cast<double>(kMostRows) / static_cast<double>(std::max<std::size_t>(1, x.size())));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || (keep < 1.0 && random.uniform() > keep)) continue;
    places.push_back(x[i]);
    values.push_back(y[i]);
  }
  if (places.size() < 4) return {};
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  const double origin = *low, span = *high - *low;
  if (!(span > 0.0)) return {};
  for (double& place : places) place -= origin;
  const double before = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  remove_line(places, values);
  if (std::inner_product(values.begin(), values.end(), values.begin(), 0.0) <= 1e-20 * before) return {};

  const double step = 1.0 / (kStepsPerCycle * span);
  const auto steps = static_cast<std::size_t>(highest_frequency(std::move(all), span) / step);
  if (steps < 3) return {};
  const std::vector<double> power = periodogram(places, values, step, steps);
  std::vector<std::size_t> peaks;
  for (std::size_t f = 1; f + 1 < steps; ++f) {
    if (power[f] > power[f - 1] && power[f] >= power[f + 1]) peaks.push_back(f);
  }
  std::sort(peaks.begin(), peaks.end(), [&](std::size_t a, std::size_t b) { return power[a] > power[b]; });
  // Noise explains more than this share at the best of independent frequencies in one case of fifty: each share is
  // about exponential with mean 2 / n.
  const double independent = static_cast<double>(steps) / kStepsPerCycle;
  const double noise = 2.0 * (std::log(independent) + 4.0) / static_cast<double>(places.size());
  std::vector<double> frequencies;
  for (const std::size_t f : peaks) {
    if (std::ssize(frequencies) >= count || power[f] < noise) break;
    // The top of the parabola through the peak and its neighbours.
    const double bend = power[f - 1] - 2.0 * power[f] + power[f + 1];
    const double shift = bend < 0.0 ? 0.5 * (power[f - 1] - power[f + 1]) / bend : 0.0;
    const double frequency = (static_cast<double>(f) + 1.0 + shift) * step;  // power[0] is the first step
    const bool apart = std::all_of(frequencies.begin(), frequencies.end(),
                                   [&](double other) { return std::abs(other - frequency) > 1.0 / span; });
    if (apart) frequencies.push_back(frequency);
  }
  return frequencies;
}

}  // namespace ick
