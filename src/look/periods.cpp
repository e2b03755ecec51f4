#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "ick/base/seed.h"
#include "ick/kernel/periodogram.h"
#include "parts.h"

namespace ick::detail {
namespace {

constexpr std::size_t kMostRowsOfSpectrum = 8192;
constexpr std::size_t kMostSteps = 1 << 17;
constexpr double kSteps = 4.0;         // of frequency in 1 / span, the width of a peak
constexpr double kFewestCycles = 2.0;  // within the span
constexpr double kLeastShare = 0.01;   // of the variance; less is no news
constexpr std::size_t kMostPeriods = 3;

struct Series {
  std::vector<double> x, y;
};

Series draw_series(const Column& time, const Column& target, std::uint64_t seed) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < target.values.size(); ++row) {
    if (!std::isnan(time.values[row]) && !std::isnan(target.values[row])) rows.push_back(row);
  }
  if (rows.size() > kMostRowsOfSpectrum) {
    std::vector<std::size_t> some;
    for (const std::int64_t i : shuffled(std::ssize(rows), seed_for(seed, "look periods"))) {
      some.push_back(rows[static_cast<std::size_t>(i)]);
      if (some.size() == kMostRowsOfSpectrum) break;
    }
    rows = std::move(some);
  }
  Series series;
  for (const std::size_t row : rows) {
    series.x.push_back(time.values[row]);
    series.y.push_back(target.values[row]);
  }
  return series;
}

// y without its least-squares line over x, x from 0.
void straighten(Series& s) {
  const auto n = static_cast<double>(s.x.size());
  const double low = *std::min_element(s.x.begin(), s.x.end());
  double xm = 0.0, ym = 0.0, xx = 0.0, xy = 0.0;
  for (double& x : s.x) x -= low, xm += x / n;
  for (const double y : s.y) ym += y / n;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    xx += (s.x[i] - xm) * (s.x[i] - xm);
    xy += (s.x[i] - xm) * (s.y[i] - ym);
  }
  for (std::size_t i = 0; i < s.x.size(); ++i) s.y[i] -= ym + xy / xx * (s.x[i] - xm);
}

// The middle power around a frequency, from half of it to twice it, without the peak itself: weather that lasts has
// power everywhere, most at low frequencies, and no period.
double around(const std::vector<double>& power, std::size_t f) {
  constexpr std::size_t kPeak = 6, kLeast = 40, kMost = 2000;  // steps
  const std::size_t low = std::max((f + 1) / 2, f > kMost ? f - kMost : 0);
  const std::size_t high = std::min({std::max(2 * f + 2, kLeast), f + kMost, power.size()});
  std::vector<double> others;
  for (std::size_t i = low; i < high; ++i) {
    if (i + kPeak < f || i > f + kPeak) others.push_back(power[i]);
  }
  if (others.empty()) return 1.0;
  std::nth_element(others.begin(), others.begin() + std::ssize(others) / 2, others.end());
  return others[others.size() / 2];
}

void find_periods(const TimeLook& time, Series series, std::vector<PeriodLook>& found) {
  constexpr std::size_t kFewestInstants = 30;
  if (series.x.size() < kFewestInstants || !(time.step > 0.0)) return;
  straighten(series);
  const double span = *std::max_element(series.x.begin(), series.x.end());
  const double whole = std::inner_product(series.y.begin(), series.y.end(), series.y.begin(), 0.0);
  if (!(span > 0.0) || !(whole > 0.0)) return;
  const double step = 1.0 / (kSteps * span);
  // A wave is told from others up to half the sampling frequency.
  const auto steps = std::min(kMostSteps, static_cast<std::size_t>(0.5 / time.step / step));
  if (steps < static_cast<std::size_t>(kSteps * kFewestCycles) + 2) return;
  const std::vector<double> power = periodogram(series.x, series.y, step, steps);
  // Of noise, powers about a frequency are exponential: of `steps` of them one exceeds the median by this factor in one
  // table of sixteen thousand. Peaks of few cycles stand beside few others.
  const double enough = std::log2(static_cast<double>(steps)) + 14.0;
  std::vector<std::size_t> peaks;
  for (std::size_t f = static_cast<std::size_t>(kSteps * kFewestCycles) - 2; f + 1 < steps; ++f) {
    const bool peak = power[f] > power[f - 1] && power[f] >= power[f + 1];
    if (peak && power[f] >= kLeastShare && power[f] >= enough * around(power, f)) peaks.push_back(f);
  }
  std::sort(peaks.begin(), peaks.end(), [&](std::size_t a, std::size_t b) { return power[a] > power[b]; });
  std::vector<double> frequencies;
  for (const std::size_t f : peaks) {
    if (frequencies.size() == kMostPeriods) break;
    const double bend = power[f - 1] - 2.0 * power[f] + power[f + 1];
    const double shift = bend < 0.0 ? 0.5 * (power[f - 1] - power[f + 1]) / bend : 0.0;
    const double frequency = (static_cast<double>(f) + 1.0 + shift) * step;
    const bool new_one = std::all_of(frequencies.begin(), frequencies.end(), [&](double other) {
      // Twice, three times ... the frequency is the same period, less smooth; so is what stands beside a peak.
      const double multiple = std::max(1.0, std::round(frequency / other));
      return std::abs(frequency - multiple * other) > 1.0 / span * multiple;
    });
    if (!new_one) continue;
    frequencies.push_back(frequency);
    found.push_back({time.column, 1.0 / frequency, power[f]});
  }
}

}  // namespace

std::vector<PeriodLook> look_for_periods(const Table& table, const TableLook& page, std::uint64_t seed) {
  std::vector<PeriodLook> found;
  const Column& target = table.column(page.target);
  for (const TimeLook& time : page.times) {
    if (time.column != page.target) find_periods(time, draw_series(table.column(time.column), target, seed), found);
  }
  return found;
}

}  // namespace ick::detail
