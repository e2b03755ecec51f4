#include "ick/table/time.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "number.h"
#include "time_format.h"

namespace ick {
namespace {

// In the order in which they are tried; month first stands before day first.
constexpr std::array<std::string_view, 11> kDateFormats = {"%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%m/%d/%Y",
                                                           "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%m.%d.%Y",
                                                           "%d.%m.%Y", "%Y-%m",    "%Y%m%d"};

constexpr double kSecondsOfDay = 86400.0;

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// A cell that is read from the left.
struct Reader {
  std::string_view rest;

  bool take(char byte) {
    if (rest.empty() || rest.front() != byte) return false;
    rest.remove_prefix(1);
    return true;
  }
  // A whole number of least..most digits within low..high.
  std::optional<int> number(std::size_t least, std::size_t most, int low, int high) {
    int value = 0;
    std::size_t digits = 0;
    while (digits < most && digits < rest.size() && is_digit(rest[digits])) value = value * 10 + (rest[digits++] - '0');
    if (digits < least || value < low || value > high) return std::nullopt;
    rest.remove_prefix(digits);
    return value;
  }
};

// [Z | +hh:mm | +hhmm | +hh], in seconds
std::optional<double> read_offset(Reader& reader) {
  reader.take(' ');
  if (reader.take('Z')) return 0.0;
  const double sign = reader.take('-') ? -1.0 : reader.take('+') ? 1.0 : 0.0;
  if (sign == 0.0) return std::nullopt;
  const auto hours = reader.number(2, 2, 0, 23);
  const bool with_minutes = reader.take(':') || !reader.rest.empty();
  const auto minutes = with_minutes ? reader.number(2, 2, 0, 59) : 0;
  if (!hours || !minutes) return std::nullopt;
  return sign * (*hours * 3600.0 + *minutes * 60.0);
}

// hh:mm[:ss[.fff]][offset], in seconds
std::optional<double> read_clock(Reader& reader) {
  const auto hours = reader.number(1, 2, 0, 23);
  if (!hours || !reader.take(':')) return std::nullopt;
  const auto minutes = reader.number(2, 2, 0, 59);
  if (!minutes) return std::nullopt;
  double seconds = *hours * 3600.0 + *minutes * 60.0;
  if (reader.take(':')) {
    const auto whole = reader.number(2, 2, 0, 60);  // 60: a leap second
    if (!whole) return std::nullopt;
    seconds += *whole;
    if (reader.take('.') || reader.take(',')) {
      if (reader.rest.empty() || !is_digit(reader.rest.front())) return std::nullopt;
      double unit = 0.1, fraction = 0.0;
      for (; !reader.rest.empty() && is_digit(reader.rest.front()); reader.rest.remove_prefix(1), unit /= 10.0) {
        fraction += unit * (reader.rest.front() - '0');
      }
      seconds += fraction;
    }
  }
  if (reader.rest.empty()) return seconds;
  const auto offset = read_offset(reader);
  if (!offset) return std::nullopt;
  return seconds - *offset;
}

bool fits_all(std::span<const std::string_view> cells, std::string_view format) {
  const detail::TimeFormat compiled(format);
  for (const std::string_view cell : cells) {
    if (!compiled.parse(cell)) return false;
  }
  return true;
}

}  // namespace

namespace detail {

TimeFormat::TimeFormat(std::string_view format) : text_(format) {
  if (format == "unix") return;
  for (const std::string_view date : kDateFormats) {
    const std::string_view rest = format.substr(0, date.size()) == date ? format.substr(date.size()) : "?";
    if (!rest.empty() && rest.substr(0, 3) != " %H" && rest.substr(0, 3) != "T%H") continue;
    for (std::size_t i = 1; i < date.size(); i += 2) {
      fields_ += date[i];
      if (i + 1 < date.size() && date[i + 1] != '%') between_ = date[++i];
    }
    return;
  }
  std::vector<std::string> all(kDateFormats.begin(), kDateFormats.end());
  all.push_back("unix");
  throw UsageError("no time format \"" + std::string(format) + "\"; there are " + join_words(all) +
                   ", each but the last with the time of day where a cell has one");
}

std::optional<double> TimeFormat::parse(std::string_view cell) const {
  if (fields_.empty()) {
    const auto seconds = parse_number(cell, '.');
    if (!seconds || !std::isfinite(seconds->value)) return std::nullopt;
    return seconds->value / kSecondsOfDay;
  }
  Reader reader{cell};
  int year = 0;
  unsigned month = 1, day = 1;
  for (const char& field : fields_) {
    if (&field != fields_.data() && between_ && !reader.take(between_)) return std::nullopt;
    const std::size_t least = between_ ? 1 : 2;
    const auto value = field == 'Y'   ? reader.number(4, 4, 0, 9999)
                       : field == 'm' ? reader.number(least, 2, 1, 12)
                                      : reader.number(least, 2, 1, 31);
    if (!value) return std::nullopt;
    if (field == 'Y') year = *value;
    if (field == 'm') month = static_cast<unsigned>(*value);
    if (field == 'd') day = static_cast<unsigned>(*value);
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  if (reader.rest.empty()) return days;
  if (!reader.take('T') && !reader.take(' ')) return std::nullopt;
  const auto seconds = read_clock(reader);
  if (!seconds || !reader.rest.empty()) return std::nullopt;
  return days + *seconds / kSecondsOfDay;
}

std::span<const std::string_view> date_formats() { return kDateFormats; }

std::string time_format_words(std::string_view format) {
  if (format == "unix") return "seconds since 1970";
  std::string words;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      words += format[i];
      continue;
    }
    const char field = format[++i];
    words += field == 'Y' ? "YYYY" : field == 'm' ? "MM" : field == 'd' ? "DD" : std::string(2, field);
  }
  return words;
}

}  // namespace detail

std::optional<double> parse_time(std::string_view text, std::string_view format) {
  return detail::TimeFormat(format).parse(text);
}

std::string detect_time_format(std::span<const std::string_view> cells, bool& ambiguous) {
  ambiguous = false;
  if (cells.empty()) return "";
  for (const std::string_view format : kDateFormats) {
    if (!fits_all(cells, format)) continue;
    if (format.substr(0, 2) == "%m") {
      std::string swapped(format);
      std::swap(swapped[1], swapped[4]);
      ambiguous = fits_all(cells, swapped);
    }
    return std::string(format);
  }
  return "";
}

std::string time_text(double days) {
  if (!std::isfinite(days)) return "";
  if (std::abs(days) > 1e7) return number_text(days);  // 27,000 years: beyond the calendar
  const auto thousandths = static_cast<std::int64_t>(std::llround(days * kSecondsOfDay * 1000.0));
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::milliseconds(thousandths));
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::int64_t clock = thousandths - std::chrono::milliseconds(day).count();
  std::array<char, 64> buffer;
  int size = std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  std::string text(buffer.data(), static_cast<std::size_t>(size));
  if (clock == 0) return text;
  const auto seconds = static_cast<int>(clock / 1000), fraction = static_cast<int>(clock % 1000);
  size =
      std::snprintf(buffer.data(), buffer.size(), "T%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
  text.append(buffer.data(), static_cast<std::size_t>(size));
  if (fraction != 0) {
    size = std::snprintf(buffer.data(), buffer.size(), ".%03d", fraction);
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text + "Z";
}

}  // namespace ick
