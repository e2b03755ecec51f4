#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "ick/base/seed.h"
#include "ick/kernel/periodogram.h"
#include "parts.h"

namespace ick::detail {
namespace {

constexpr std::size_t kMostRowsOfSpectrum = 8192;
constexpr std::size_t kMostSteps = 1 << 17;
constexpr double kSteps = 4.0;         // of frequency in 1 / span, the width of a peak
constexpr double kFewestCycles = 5.0;  // within the span; of a year, a week or a day:
constexpr double kFewestCalendarCycles = 1.75;
constexpr double kLeastShare = 0.01;  // of the variance; less is no news
constexpr std::size_t kMostPeriods = 3;

struct Series {
  std::vector<double> x, y;
};

// Rows of times and the target; with logarithms where the target could have them in a formula, and less the mean of each
// series.
Series draw_series(const Table& table, const TimeLook& time, const ColumnLook& target, std::uint64_t seed) {
  const Numbers &times = table.column(time.column).values, &targets = table.column(target.name).values;
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (!std::isnan(times[row]) && !std::isnan(targets[row])) rows.push_back(row);
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
  const bool logarithm = could_be_log(target);
  for (const std::size_t row : rows) {
    series.x.push_back(times[row]);
    series.y.push_back(logarithm ? std::log(targets[row]) : targets[row]);
  }
  if (time.series.size() != 1 || table.column(time.series[0]).info.type != ColumnType::category) return series;
  const Numbers& levels = table.column(time.series[0]).values;
  std::map<double, std::pair<double, double>> sums;  // of a level: sum, rows
  const auto sum_of = [&](std::size_t i) -> auto& {
    return sums[std::isnan(levels[rows[i]]) ? -1.0 : levels[rows[i]]];
  };
  for (std::size_t i = 0; i < rows.size(); ++i) sum_of(i).first += series.y[i], sum_of(i).second += 1.0;
  for (std::size_t i = 0; i < rows.size(); ++i) series.y[i] -= sum_of(i).first / sum_of(i).second;
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

// y with its ends faded out, as 1 - cos (Hann 1903): a strong wave then has no power but at its own frequency, where it
// would have some all over.
std::vector<double> faded(const Series& s, double span) {
  std::vector<double> y;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    y.push_back(s.y[i] * (1.0 - std::cos(2.0 * std::numbers::pi * s.x[i] / span)));
  }
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  for (double& each : y) each -= mean;
  return y;
}

// The power to be expected at a frequency without a period: weather that lasts has power everywhere, most at low
// frequencies, about as c f^-b. From the logarithms of powers beside the peak, from a quarter of the frequency to eight
// times it; b no less than 0.
double around(const std::vector<double>& power, std::size_t f) {
  constexpr std::size_t kPeak = 10, kFirst = 5, kLeast = 120, kMost = 4000;  // steps
  const std::size_t low = std::max({f / 4, kFirst, f > kMost ? f - kMost : 0});
  const std::size_t high = std::min({std::max(8 * f, kLeast), f + kMost, power.size()});
  const auto log_frequency = [&](std::size_t i) {
    return std::log(static_cast<double>(i + 1) / static_cast<double>(f + 1));
  };
  double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  for (std::size_t i = low; i < high; ++i) {
    if ((i + kPeak >= f && i <= f + kPeak) || !(power[i] > 0.0)) continue;
    const double x = log_frequency(i), y = std::log(power[i]);
    n += 1.0, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  if (n < 8.0) return 1.0;
  const double slope = std::min(0.0, (sxy - sx * sy / n) / (sxx - sx * sx / n));
  return std::exp((sy - slope * sx) / n);
}

// The year, the week or the day where a frequency is that, within three quarters of a cycle over the span.
const CalendarPeriod* calendar_period(double frequency, double span) {
  const auto found = std::find_if(std::begin(kCalendarPeriods), std::end(kCalendarPeriods), [&](const auto& period) {
    return std::abs(frequency - 1.0 / period.days) * span < 0.75;
  });
  return found == std::end(kCalendarPeriods) ? nullptr : found;
}

// As in a formula, three digits.
std::string period_text(double days) {
  if (days >= 2.0) return fmt::format("{:.3g}d", days);
  if (days * 24.0 >= 2.0) return fmt::format("{:.3g}h", days * 24.0);
  return days * 1440.0 >= 2.0 ? fmt::format("{:.3g}min", days * 1440.0) : fmt::format("{:.3g}s", days * 86400.0);
}

// One up to twelve times another frequency, or what stands about such a peak: a season whose shape is no sine, or changes.
bool is_part_of(double frequency, double other, double span) {
  for (int multiple = 1; multiple <= 12; ++multiple) {
    if (std::abs(frequency - multiple * other) < std::max(1.0 / span, 0.02 * other)) return true;
  }
  return false;
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
  if (steps < static_cast<std::size_t>(kSteps * kFewestCalendarCycles) + 2) return;
  const std::vector<double> power = periodogram(series.x, faded(series, span), step, steps);
  std::vector<std::size_t> peaks;
  for (std::size_t f = static_cast<std::size_t>(kSteps * kFewestCalendarCycles) - 1; f + 1 < steps; ++f) {
    if (power[f] > power[f - 1] && power[f] >= power[f + 1]) peaks.push_back(f);
  }
  std::sort(peaks.begin(), peaks.end(), [&](std::size_t a, std::size_t b) { return power[a] > power[b]; });
  // Of noise, powers about a frequency are exponential: one is k times the geometric mean in one of 1.7^k cases.
  const double surely = std::log2(static_cast<double>(steps)) + 14.0, at_one_period = 10.0;
  std::vector<double> frequencies;
  for (const std::size_t f : peaks) {
    if (frequencies.size() == kMostPeriods || power[f] < 0.1 * kLeastShare) break;
    const double bend = power[f - 1] - 2.0 * power[f] + power[f + 1];
    const double shift = bend < 0.0 ? 0.5 * (power[f - 1] - power[f + 1]) / bend : 0.0;
    const double frequency = (static_cast<double>(f) + 1.0 + shift) * step;
    const bool told = std::any_of(frequencies.begin(), frequencies.end(),
                                  [&](double other) { return is_part_of(frequency, other, span); });
    const CalendarPeriod* const calendar = calendar_period(frequency, span);
    if (told || (calendar == nullptr && frequency * span < kFewestCycles)) continue;
    if (power[f] < (calendar != nullptr ? at_one_period : surely) * around(power, f)) continue;
    const double share = periodogram(series.x, series.y, frequency, 1).front();
    if (share < kLeastShare) continue;
    frequencies.push_back(frequency);
    const double days = calendar != nullptr ? calendar->days : 1.0 / frequency;
    found.push_back({time.column, days, calendar != nullptr ? calendar->text : period_text(days), share});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
}

}  // namespace

std::vector<PeriodLook> look_for_periods(const Table& table, const TableLook& page, std::uint64_t seed) {
  std::vector<PeriodLook> found;
  const ColumnLook& target = *std::find_if(page.columns.begin(), page.columns.end(),
                                           [&](const ColumnLook& column) { return column.name == page.target; });
  for (const TimeLook& time : page.times) {
    if (time.column != page.target) find_periods(time, draw_series(table, time, target, seed), found);
  }
  return found;
}

}  // namespace ick::detail
