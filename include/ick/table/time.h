#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ick {

// Times are days since 1970-01-01 00:00 UTC in the proleptic Gregorian calendar. A time with an offset (Z, +02:00,
// +0200) is brought to UTC, one without is taken as it stands.
//
// The format of a column is one text: "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%m/%d/%Y" or "%d/%m/%Y" (both also with -
// or .), "%Y-%m", "%Y%m%d", each optionally followed by " %H:%M" or "T%H:%M" with ":%S" (fractions are read) and an
// offset, which need no mention: the format only says the order of year, month and day. "unix" is seconds since 1970.
// Any other format is a UsageError.
std::optional<double> parse_time(std::string_view text, std::string_view format);

// The format all of these cells have. Empty when none fits; day and month are told apart by a number above 12 anywhere.
// When both orders fit all cells: `ambiguous` is set and month first is returned.
std::string detect_time_format(std::span<const std::string_view> cells, bool& ambiguous);

// "2019-05-16", or "2019-05-16T12:30:00Z" when not at midnight
std::string time_text(double days);

}  // namespace ick
