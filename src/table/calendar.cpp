#include "ick/table/calendar.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>

#include "ick/base/text.h"
#include "ick/base/unit.h"

namespace ick {
namespace {

constexpr double kMillisecondsOfDay = 86'400'000.0;

std::chrono::sys_days day_of(double time) {
  return std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(std::floor(time))));
}

std::chrono::year_month_day date_of(double time) { return {day_of(time)}; }

double to_millisecond(double time) { return std::round(time * kMillisecondsOfDay) / kMillisecondsOfDay; }

unsigned last_day(std::chrono::year_month month) {
  return static_cast<unsigned>(std::chrono::year_month_day_last(month / std::chrono::last).day());
}

}  // namespace

std::optional<TimeStep> parse_step(std::string_view text) {
  double number = 0.0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number > 0.0) || !std::isfinite(number)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (unit == "months") unit = "month";
  if (unit == "month" || unit == "y") {
    constexpr double kMost = 12'000.0;
    const double months = unit == "y" ? 12.0 * number : number;
    if (months != std::floor(months) || months > kMost) return std::nullopt;
    return TimeStep{0.0, static_cast<int>(months)};
  }
  const std::optional<double> days = convert(number, unit, "d");
  if (!days || *days * kMillisecondsOfDay < 1.0) return std::nullopt;
  return TimeStep{*days};
}

std::string step_text(const TimeStep& step) {
  if (step.months > 0) {
    return step.months % 12 == 0 ? std::to_string(step.months / 12) + "y" : std::to_string(step.months) + "month";
  }
  for (const std::string_view unit : {"w", "d", "h", "min"}) {
    const double number = *convert(step.days, "d", unit);
    if (const double whole = std::round(number); whole >= 1.0 && std::abs(number - whole) < 1e-9 * whole) {
      return number_text(whole) + std::string(unit);
    }
  }
  return number_text(std::round(step.days * kMillisecondsOfDay) / 1e3) + "s";
}

double after(double time, const TimeStep& step, std::int64_t count) {
  if (step.months == 0) return to_millisecond(time + static_cast<double>(count) * step.days);
  const std::chrono::year_month_day date = date_of(time);
  const std::chrono::year_month month =
      date.year() / date.month() + std::chrono::months(static_cast<std::int64_t>(step.months) * count);
  const unsigned last = last_day(month);
  const unsigned day = step.month_end ? last : std::min(static_cast<unsigned>(date.day()), last);
  const std::chrono::sys_days there = month / std::chrono::day(day);
  return static_cast<double>(there.time_since_epoch().count()) + (time - std::floor(time));
}

std::int64_t month_of(double time) {
  const std::chrono::year_month_day date = date_of(time);
  return 12 * (static_cast<int>(date.year()) - 1970) + static_cast<unsigned>(date.month()) - 1;
}

int day_of_month(double time) { return static_cast<int>(static_cast<unsigned>(date_of(time).day())); }

bool is_month_end(double time) {
  const std::chrono::year_month_day date = date_of(time);
  return static_cast<unsigned>(date.day()) == last_day(date.year() / date.month());
}

std::string time_text(double days, std::string_view format, Clock clock) {
  constexpr double kYear = 365.2425;
  if (!std::isfinite(days)) return "";
  if (format == "unix" || days < -1969.0 * kYear || days > 8029.0 * kYear) {
    return number_text(std::round(days * kMillisecondsOfDay) / 1e3);
  }
  const double whole = std::floor(to_millisecond(days));
  const std::chrono::year_month_day date = date_of(whole);
  const std::size_t end = std::min(format.find("T%H"), format.find(" %H"));
  std::string text;
  for (std::size_t i = 0; i < std::min(end, format.size()); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    const char field = format[++i];
    text += field == 'Y'   ? fmt::format("{:04}", static_cast<int>(date.year()))
            : field == 'm' ? fmt::format("{:02}", static_cast<unsigned>(date.month()))
                           : fmt::format("{:02}", static_cast<unsigned>(date.day()));
  }
  if (clock == Clock::none) return text;
  const auto of_day = static_cast<std::int64_t>(std::llround((days - whole) * kMillisecondsOfDay));
  text +=
      fmt::format("{}{:02}:{:02}", end < format.size() ? format[end] : ' ', of_day / 3'600'000, of_day / 60'000 % 60);
  if (clock == Clock::minutes) return text;
  text += fmt::format(":{:02}", of_day / 1000 % 60);
  return of_day % 1000 == 0 ? text : text + fmt::format(".{:03}", of_day % 1000);
}

Clock clock_of(double days) {
  const auto of_day = std::llround((days - std::floor(days)) * kMillisecondsOfDay);
  return of_day == 0 ? Clock::none : of_day % 60'000 == 0 ? Clock::minutes : Clock::seconds;
}

bool holds_days(std::string_view format) { return format == "unix" || format.find("%d") != std::string_view::npos; }

}  // namespace ick
