#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ick::detail {

// A format of table/time.h, taken apart: the order of the fields and what stands between them.
class TimeFormat {
 public:
  explicit TimeFormat(std::string_view format);              // UsageError that names the formats there are
  std::optional<double> parse(std::string_view cell) const;  // days since 1970-01-01

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string fields_;  // "Ymd", "dmY", "mdY", "Ym"; empty for seconds since 1970
  char between_ = 0;    // 0: none
};

std::span<const std::string_view> date_formats();  // all but "unix"

// For messages: "YYYY-MM-DD" for "%Y-%m-%d".
std::string time_format_words(std::string_view format);

}  // namespace ick::detail
