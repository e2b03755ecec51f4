#pragma once

#include <optional>
#include <vector>

#include "codes.h"
#include "ick/look/look.h"

// The parts of a page about a table. `codes` are those of the table's columns, in their order.
namespace ick::detail {

// All but the role, which depends on other columns, and the terms.
ColumnLook look_at_column(const Column& column, const Codes& codes, std::int64_t rows);

inline constexpr const char* kClockNote = "times of day without a date";

std::optional<PlaceLook> look_at_place(const Table& table, const std::vector<Codes>& codes);

std::vector<TimeLook> look_at_times(const Table& table, const std::vector<Codes>& codes, const TableLook& page);

std::vector<GroupLook> look_at_groups(const std::vector<Codes>& codes, const TableLook& page);

std::vector<LeakLook> look_for_leaks(const Table& table, const TableLook& page, std::uint64_t seed);

// Of the target over each column of times.
std::vector<PeriodLook> look_for_periods(const Table& table, const TableLook& page, std::uint64_t seed);

struct CalendarPeriod {
  const char* text;
  double days;
};
inline constexpr CalendarPeriod kCalendarPeriods[] = {{"1y", 365.2425}, {"1w", 7.0}, {"1d", 1.0}};

// A part of a date in a column of its own: "hour of the day", and how many make a round.
struct DatePart {
  const char* text;
  int round;  // 0: none
};
std::optional<DatePart> date_part(const ColumnLook& column);

// Positive and skewed to the right: a target to take the logarithm of.
bool could_be_log(const ColumnLook& column);

// What each column could be in a formula.
void add_terms(TableLook& page);

// Codes of the first of these columns, joined with those of the others.
Codes codes_of_columns(const std::vector<std::string>& columns, const std::vector<Codes>& codes, const TableLook& page);

// Least, middle and largest.
struct Sizes {
  std::int64_t least = 0, median = 0, most = 0;
};
Sizes sizes_of(std::vector<std::int64_t> rows);

}  // namespace ick::detail
