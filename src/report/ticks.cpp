#include "report/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace ick::detail {
namespace {

constexpr double kExact = 1e-9;  // of a step: a tick at an end is not lost to rounding

// The least of 1, 2, 5 times a power of ten that is no less than `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= least * (1.0 - kExact)) return digit * power;
  }
  return 10.0 * power;
}

std::vector<Tick> linear_ticks(double low, double high, int most) {
  const double largest = std::max(std::abs(low), std::abs(high));
  const double least = (high / most - low / most);
  if (!(least > 0.0) || !(least > 1e-14 * largest) || least < 1e-305) return {{low, tick_text(low, 0.0, largest), ""}};
  const double step = round_step(least);
  std::vector<Tick> ticks;
  for (double k = std::ceil(low / step - kExact); k <= high / step + kExact; k += 1.0) {
    ticks.push_back({k * step, tick_text(k * step, step, largest), ""});
  }
  return ticks;
}

std::string power_text(double value) {
  const double exponent = std::round(std::log10(value));
  if (exponent >= -4.0 && exponent <= 6.0) return tick_text(value, value, value);
  return fmt::format("1e{:.0f}", exponent);
}

// Powers of ten; 2 and 5 of each where there is room; over less than a power of ten as on a linear axis.
std::vector<Tick> logarithmic_ticks(double low, double high, int most) {
  const double first = std::log10(low), last = std::log10(high), decades = last - first;
  if (decades < 1.0) {
    std::vector<Tick> ticks = linear_ticks(low, high, most);
    std::erase_if(ticks, [](const Tick& tick) { return tick.at <= 0.0; });
    return ticks;
  }
  std::vector<Tick> ticks;
  const double stride = std::max(1.0, std::ceil(decades / most));
  for (double k = std::ceil(first / stride - kExact) * stride; k <= last + kExact; k += stride) {
    const double at = std::pow(10.0, k);
    if (std::isfinite(at) && at > 0.0) ticks.push_back({at, power_text(at), ""});
  }
  if (decades * 3.0 > most) return ticks;
  for (double k = std::floor(first); k <= last; k += 1.0) {
    for (const double digit : {2.0, 5.0}) {
      const double at = digit * std::pow(10.0, k);
      if (at >= low && at <= high) ticks.push_back({at, tick_text(at, at, at), ""});
    }
  }
  std::sort(ticks.begin(), ticks.end(), [](const Tick& a, const Tick& b) { return a.at < b.at; });
  return ticks;
}

constexpr double kSecond = 1.0 / 86400.0, kMinute = 60.0 * kSecond, kHour = 60.0 * kMinute;
constexpr double kMonth = 30.436875;
constexpr std::array kMonthNames = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::chrono::year_month_day date_of(double days) {
  return std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(std::floor(days + 1e-7))));
}

int year_of(const std::chrono::year_month_day& date) { return static_cast<int>(date.year()); }

std::string day_month(const std::chrono::year_month_day& date) {
  return fmt::format("{} {}", static_cast<unsigned>(date.day()), kMonthNames[static_cast<unsigned>(date.month()) - 1]);
}

// `above`: texts of all ticks; `below` stands at the first and wherever it changes.
template <class Below>
void say_below(std::vector<Tick>& ticks, Below below) {
  std::string last;
  for (Tick& tick : ticks) {
    const std::string now = below(date_of(tick.at));
    if (now != last) tick.below = now;
    last = now;
  }
}

std::string year_text(const std::chrono::year_month_day& date) { return fmt::format("{}", year_of(date)); }

std::vector<Tick> clock_ticks(double low, double high, double step) {
  std::vector<Tick> ticks;
  for (double k = std::ceil(low / step - 1e-6); k <= high / step + 1e-6; k += 1.0) {
    const double at = k * step, day = std::floor(at + 1e-7);
    const int seconds = static_cast<int>(std::lround((at - day) / kSecond));
    ticks.push_back({at, fmt::format("{:02}:{:02}", seconds / 3600, seconds / 60 % 60), ""});
    if (step < kMinute) ticks.back().text += fmt::format(":{:02}", seconds % 60);
  }
  say_below(ticks, [](const auto& date) { return fmt::format("{} {}", day_month(date), year_of(date)); });
  return ticks;
}

std::vector<Tick> day_ticks(double low, double high, double step) {
  constexpr double kMonday = 4.0;  // 1970-01-05
  const double start = step >= 7.0 ? kMonday : 0.0;
  std::vector<Tick> ticks;
  for (double k = std::ceil((low - start) / step - 1e-9); start + k * step <= high + 1e-9; k += 1.0) {
    const double at = start + k * step;
    ticks.push_back({at, day_month(date_of(at)), ""});
  }
  say_below(ticks, year_text);
  return ticks;
}

std::vector<Tick> month_ticks(double low, double high, int step) {
  using namespace std::chrono;
  const year_month_day first = date_of(low);
  int month = year_of(first) * 12 + static_cast<int>(static_cast<unsigned>(first.month())) - 1;
  month -= ((month % step) + step) % step;
  std::vector<Tick> ticks;
  for (;; month += step) {
    const int of_year = ((month % 12) + 12) % 12, in_year = (month - of_year) / 12;
    const sys_days day = year(in_year) / std::chrono::month(static_cast<unsigned>(of_year) + 1) / std::chrono::day(1);
    const double at = static_cast<double>(day.time_since_epoch().count());
    if (at > high + 1e-9) break;
    if (at < low - 1e-9) continue;
    ticks.push_back(
        {at, step % 12 == 0 ? fmt::format("{}", in_year) : kMonthNames[static_cast<std::size_t>(of_year)], ""});
  }
  if (step % 12 != 0) say_below(ticks, year_text);
  return ticks;
}

std::vector<Tick> time_ticks(double low, double high, int most) {
  constexpr double kMostDays = 1e7;  // 27,000 years: beyond, the calendar says nothing
  if (std::max(std::abs(low), std::abs(high)) > kMostDays || high - low < kSecond) return linear_ticks(low, high, most);
  const double least = (high - low) / most;
  constexpr std::array kClock = {kSecond,      5 * kSecond,  15 * kSecond, 30 * kSecond, kMinute,   5 * kMinute,
                                 15 * kMinute, 30 * kMinute, kHour,        3 * kHour,    6 * kHour, 12 * kHour};
  for (const double step : kClock) {
    if (step >= least) return clock_ticks(low, high, step);
  }
  for (const double step : {1.0, 2.0, 7.0, 14.0}) {
    if (step >= least) return day_ticks(low, high, step);
  }
  for (const int step : {1, 3, 6, 12}) {
    if (step * kMonth >= least * 0.98) return month_ticks(low, high, step);
  }
  return month_ticks(low, high, 12 * static_cast<int>(round_step(least / (12.0 * kMonth))));
}

std::vector<Tick> level_ticks(const Axis& axis, double low, double high, int most) {
  const auto count = static_cast<double>(axis.levels.size());
  const double first = std::max(0.0, std::ceil(low)), last = std::min(count - 1.0, std::floor(high));
  const double stride = std::max(1.0, std::ceil((last - first + 1.0) / most));
  std::vector<Tick> ticks;
  for (double k = first; k <= last; k += stride) ticks.push_back({k, axis.levels[static_cast<std::size_t>(k)], ""});
  return ticks;
}

}  // namespace

std::string tick_text(double value, double step, double largest) {
  if (value == 0.0 || std::abs(value) < 1e-6 * step) return "0";
  std::string text;
  if (step == 0.0) {
    text = fmt::format("{:.6g}", value);
  } else if (largest >= 1e7 || step < 0.99e-4) {
    const int digits =
        static_cast<int>(std::floor(std::log10(std::abs(value)) + kExact) - std::floor(std::log10(step) + kExact));
    text = fmt::format("{:.{}e}", value, std::clamp(digits, 0, 12));
    const std::size_t e = text.find('e');
    const int exponent = std::stoi(text.substr(e + 1));
    text = fmt::format("{}e{}", text.substr(0, e), exponent);
  } else {
    const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + kExact)));
    text = fmt::format("{:.{}f}", value, decimals);
    const std::size_t sign = text[0] == '-', point = std::min(text.find('.'), text.size());
    for (std::size_t at = point; point - sign > 4 && at > sign + 3;) text.insert(at -= 3, ",");
  }
  if (text[0] == '-') text.replace(0, 1, "\xE2\x88\x92");  // U+2212, as wide as a digit
  return text;
}

std::vector<Tick> ticks_of(const Axis& axis, double low, double high, int most) {
  most = std::max(most, 1);
  switch (axis.scale) {
    case AxisScale::linear:
      return linear_ticks(low, high, most);
    case AxisScale::logarithmic:
      return logarithmic_ticks(low, high, most);
    case AxisScale::time:
      return time_ticks(low, high, most);
    case AxisScale::levels:
      return level_ticks(axis, low, high, most);
  }
  return {};
}

}  // namespace ick::detail
