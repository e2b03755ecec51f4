#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ick {

// From one time to the next: so many days, or so many months of the calendar.
struct TimeStep {
  double days = 0.0;
  int months = 0;          // instead of days; years are 12
  bool month_end = false;  // from the last day of a month to that of another: 31 January, 28 February, 31 March

  bool any() const { return days > 0.0 || months > 0; }
  bool operator==(const TimeStep&) const = default;
};

// "30min", "1h", "7d", "1w", "1month", "2y"; none when it is nothing of the kind. Years are those of the calendar.
std::optional<TimeStep> parse_step(std::string_view text);
std::string step_text(const TimeStep& step);

// The time `count` steps later, to the millisecond. A month that has no such day: its last one.
double after(double time, const TimeStep& step, std::int64_t count);

// Whole months since January 1970, and whether the time is on the last day of its month.
std::int64_t month_of(double time);
int day_of_month(double time);  // from 1
bool is_month_end(double time);

// How the times of a column are written: the date in the column's format (table/time.h), then the time of day where
// `clock` says so. What is written is read again as the same time.
enum class Clock { none, minutes, seconds };
std::string time_text(double days, std::string_view format, Clock clock);
Clock clock_of(double days);               // what it needs: none at midnight
bool holds_days(std::string_view format);  // not "%Y-%m"

}  // namespace ick
