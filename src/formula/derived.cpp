#include "ick/formula/derived.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

#include "ick/base/text.h"

namespace ick {

namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

// A time in whole microseconds, so that a full hour, which is no exact share of a day, is one.
struct Calendar {
  std::chrono::year_month_day date;
  std::chrono::sys_days day;
  double hours = 0.0;  // of the day
};

std::optional<Calendar> calendar_at(double days) {
  constexpr double kMostDays = 1e7;  // 27,000 years: beyond the calendar
  constexpr double kMicrosecondsOfDay = 86400e6, kMicrosecondsOfHour = 3600e6;
  if (!(std::abs(days) < kMostDays)) return std::nullopt;
  const std::chrono::microseconds time(std::llround(days * kMicrosecondsOfDay));
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::sys_days midnight(day);
  const auto clock = static_cast<double>((time - day).count());
  return Calendar{std::chrono::year_month_day(midnight), midnight, clock / kMicrosecondsOfHour};
}

double hour_of(double days) {
  const std::optional<Calendar> at = calendar_at(days);
  return at ? at->hours : kNotKnown;
}

double weekday_of(double days) {
  const std::optional<Calendar> at = calendar_at(days);
  return at ? static_cast<double>(std::chrono::weekday(at->day).iso_encoding()) - 1.0 : kNotKnown;
}

double month_of(double days) {
  const std::optional<Calendar> at = calendar_at(days);
  return at ? static_cast<double>(static_cast<unsigned>(at->date.month())) : kNotKnown;
}

double day_of_year(double days) {
  const std::optional<Calendar> at = calendar_at(days);
  if (!at) return kNotKnown;
  const std::chrono::sys_days first{at->date.year() / std::chrono::January / 1};
  return static_cast<double>((at->day - first).count() + 1);
}

using Takes = DerivedFunction::Takes;

constexpr std::array kFunctions = {
    DerivedFunction{"hour", "hour of the day, 0 to below 24", Takes::time, "h", false, 0.0, 24.0, hour_of},
    DerivedFunction{"weekday", "day of the week, 0 is Monday", Takes::time, "d", true, 0.0, 6.0, weekday_of},
    DerivedFunction{"month", "month, 1 to 12", Takes::time, "", true, 1.0, 12.0, month_of},
    DerivedFunction{"dayofyear", "day of the year, 1 to 366", Takes::time, "d", true, 1.0, 366.0, day_of_year},
    DerivedFunction{"elapsed", "days since the first row", Takes::time, "d", false, 0.0, 1095.7275},
    DerivedFunction{"holiday", "1 on the days of a file, 0 on others", Takes::time, "", true},
    DerivedFunction{"log", "logarithm", Takes::number, "", false, 0.0, 1.0,
                    [](double x) { return x > 0.0 ? std::log(x) : kNotKnown; }, "positive numbers"},
    DerivedFunction{"sqrt", "square root", Takes::number, "", false, 0.0, 1.0,
                    [](double x) { return x >= 0.0 ? std::sqrt(x) : kNotKnown; }, "numbers from zero"},
    DerivedFunction{"-", "difference", Takes::pair, "", false}};

}  // namespace

bool DerivedColumn::operator==(const DerivedColumn& other) const {
  return std::tie(name, function, inputs, file) == std::tie(other.name, other.function, other.inputs, other.file);
}

std::span<const DerivedFunction> derived_functions() { return kFunctions; }

const DerivedFunction* find_derived_function(std::string_view name) {
  const auto* const found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const auto& each) { return each.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

const DerivedColumn* find_derived(std::span<const DerivedColumn> all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<DerivedColumn> needed_for(std::span<const DerivedColumn> all, std::vector<std::string> names) {
  std::vector<DerivedColumn> needed;
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    if (!contains(names, each->name)) continue;
    add_new(names, each->inputs);
    needed.push_back(*each);
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

std::vector<std::string> read_for(std::span<const DerivedColumn> all, std::span<const std::string> names) {
  std::vector<std::string> read;
  for (const std::string& name : names) {
    const DerivedColumn* const derived = find_derived(all, name);
    add_new(read, derived != nullptr ? read_for(all, derived->inputs) : std::vector<std::string>{name});
  }
  return read;
}

std::string time_behind(std::span<const DerivedColumn> all, std::string_view name) {
  const DerivedColumn* const derived = find_derived(all, name);
  const bool calendar = derived != nullptr && find_derived_function(derived->function)->takes == Takes::time;
  return calendar && find_derived(all, derived->inputs[0]) == nullptr ? derived->inputs[0] : "";
}

}  // namespace ick
