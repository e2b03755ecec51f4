#include "ick/table/time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "scratch.h"

namespace ick {
namespace {

// Seconds since 1970 by the C library.
double seconds(int year, int month, int day, int hour = 0, int minute = 0, int second = 0) {
  std::tm parts{};
  parts.tm_year = year - 1900, parts.tm_mon = month - 1, parts.tm_mday = day;
  parts.tm_hour = hour, parts.tm_min = minute, parts.tm_sec = second;
  return static_cast<double>(::timegm(&parts));
}

TEST(Time, AgreesWithTheCLibrary) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const int year = 1600 + static_cast<int>(random.below(800)), month = 1 + static_cast<int>(random.below(12)),
              day = 1 + static_cast<int>(random.below(28)), hour = static_cast<int>(random.below(24)),
              minute = static_cast<int>(random.below(60)), second = static_cast<int>(random.below(60));
    char text[64];
    std::snprintf(text, sizeof text, "%d-%02d-%02d %d:%02d:%02d", year, month, day, hour, minute, second);
    EXPECT_DOUBLE_EQ(parse_time(text, "%Y-%m-%d").value(), seconds(year, month, day, hour, minute, second) / 86400.0);
    std::snprintf(text, sizeof text, "%d.%d.%d", day, month, year);
    EXPECT_EQ(parse_time(text, "%d.%m.%Y").value(), seconds(year, month, day) / 86400.0);
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, day, hour, minute, second);
    const std::string shown = time_text(seconds(year, month, day, hour, minute, second) / 86400.0);
    EXPECT_EQ(shown, hour + minute + second > 0 ? text : std::string(text, 10));
  }
}

TEST(Time, ReadsFractionsAndOffsets) {
  const double noon = seconds(2019, 5, 16, 12) / 86400.0;
  const double step = 1.0 / 86400.0;
  EXPECT_EQ(parse_time("2019-05-16T12:00Z", "%Y-%m-%d"), noon);
  EXPECT_EQ(parse_time("2019-05-16T14:00:00+02:00", "%Y-%m-%dT%H:%M:%S"), noon);
  EXPECT_EQ(parse_time("2019-05-16 06:30:00-0530", "%Y-%m-%d"), noon);
  EXPECT_EQ(parse_time("20190516T12:00", "%Y%m%d"), noon);
  EXPECT_EQ(parse_time("5/16/2019 12:00", "%m/%d/%Y %H:%M"), noon);
  EXPECT_NEAR(parse_time("2019-05-16 12:00:07.25", "%Y-%m-%d").value(), noon + 7.25 * step, 1e-11);
  EXPECT_EQ(parse_time("2019-05", "%Y-%m"), seconds(2019, 5, 1) / 86400.0);
  EXPECT_EQ(parse_time("1557878400", "unix"), 1557878400.0 / 86400.0);
  EXPECT_EQ(time_text(noon + 7.25 * step), "2019-05-16T12:00:07.250Z");
  EXPECT_EQ(time_text(std::nan("")), "");
}

TEST(Time, RefusesWhatIsNoDate) {
  for (const char* text : {"2019-13-01", "2019-00-10", "2019-02-29", "1900-02-29", "2019-04-31", "2019-05-16x",
                           "19-05-16", "2019-5", "2019-05-16 24:00", "2019-05-16 12:60", "2019-05-16 12",
                           "2019-05-16T12:00+2", "2019-05-16 12:00:61", "", "x", "2019-05-16 12:00:00."}) {
    EXPECT_FALSE(parse_time(text, "%Y-%m-%d").has_value()) << text;
  }
  EXPECT_TRUE(parse_time("2000-02-29", "%Y-%m-%d").has_value());
  EXPECT_TRUE(parse_time("2020-02-29", "%Y-%m-%d").has_value());
  EXPECT_EQ(message_of<UsageError>([] { parse_time("x", "%y"); }).substr(0, 19), "no time format \"%y\"");
}

std::string detected(std::initializer_list<std::string_view> cells, bool expect_ambiguous = false) {
  bool ambiguous = !expect_ambiguous;
  const std::string format = detect_time_format(std::vector<std::string_view>(cells), ambiguous);
  EXPECT_EQ(ambiguous, expect_ambiguous);
  return format;
}

TEST(Time, DetectsTheOrderOfYearMonthAndDay) {
  EXPECT_EQ(detected({"2019-05-16", "2019-05-17 10:00"}), "%Y-%m-%d");
  EXPECT_EQ(detected({"03/04/2019", "16/12/2006"}), "%d/%m/%Y");
  EXPECT_EQ(detected({"03/04/2019", "12/16/2006"}), "%m/%d/%Y");
  EXPECT_EQ(detected({"26-08-2018"}), "%d-%m-%Y");
  EXPECT_EQ(detected({"26.8.2018 5:30"}), "%d.%m.%Y");
  EXPECT_EQ(detected({"03/04/2019", "05/06/2019"}, true), "%m/%d/%Y");
  EXPECT_EQ(detected({"12/16/2006", "16/12/2006"}), "");
  EXPECT_EQ(detected({"2019/5/6"}), "%Y/%m/%d");
  EXPECT_EQ(detected({"2019-05"}), "%Y-%m");
  EXPECT_EQ(detected({}), "");
  EXPECT_EQ(detected({"10:30:00"}), "");
}

}  // namespace
}  // namespace ick
