#include "dataset/rhythm.h"

#include <algorithm>
#include <cmath>

#include "ick/base/text.h"

namespace ick {

namespace {

constexpr double kWeek = 7.0, kYear = 365.2425;  // days

bool is_near(double a, double b) { return std::abs(a - b) <= 0.01 * b; }

}  // namespace

Rhythm rhythm_of(std::vector<double> times, double day, const std::vector<double>& stated, double turns) {
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  Rhythm rhythm;
  rhythm.day = day;
  if (times.size() < 2) return rhythm;
  rhythm.span = times.back() - times.front();
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  std::nth_element(steps.begin(), steps.begin() + std::ssize(steps) / 2, steps.end());
  rhythm.step = steps[steps.size() / 2];

  constexpr double kSlack = 1e-6;  // of the steps: times are not exact
  const auto add = [&](double period) {
    const bool known =
        std::any_of(rhythm.periods.begin(), rhythm.periods.end(), [&](double each) { return is_near(each, period); });
    const bool seen = rhythm.span + rhythm.step * (1.0 + kSlack) >= turns * period;  // the last step counts
    if (period > 0.0 && !known && seen && 2.0 * rhythm.step <= period * (1.0 + kSlack))
      rhythm.periods.push_back(period);
  };
  for (const double period : {1.0, kWeek, kYear}) add(period * rhythm.day);
  for (const double period : stated) add(period);
  std::sort(rhythm.periods.begin(), rhythm.periods.end());
  return rhythm;
}

std::string period_text(double period, double day) {
  if (day > 0.0) {
    if (is_near(period, day)) return "day";
    if (is_near(period, kWeek * day)) return "week";
    if (is_near(period, kYear * day)) return "year";
    return number_text(std::round(1e3 * period / day) / 1e3) + " d";
  }
  return number_text(period);
}

}  // namespace ick
