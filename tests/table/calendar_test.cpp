#include "ick/table/calendar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "ick/base/seed.h"
#include "ick/table/time.h"

namespace ick {
namespace {

// Days since 1970 by the C library, which takes months and days beyond their ends.
double days(int year, int month, int day, int hour = 0, int minute = 0, int second = 0) {
  std::tm parts{};
  parts.tm_year = year - 1900, parts.tm_mon = month - 1, parts.tm_mday = day;
  parts.tm_hour = hour, parts.tm_min = minute, parts.tm_sec = second;
  return static_cast<double>(::timegm(&parts)) / 86400.0;
}

TEST(Calendar, StepsAreReadAndPrinted) {
  EXPECT_EQ(parse_step("1h"), (TimeStep{1.0 / 24}));
  EXPECT_EQ(parse_step("30min"), (TimeStep{30.0 / 1440}));
  EXPECT_EQ(parse_step("2w"), (TimeStep{14.0}));
  EXPECT_EQ(parse_step("1.5d"), (TimeStep{1.5}));
  EXPECT_EQ(parse_step("3month"), (TimeStep{0.0, 3}));
  EXPECT_EQ(parse_step("2y"), (TimeStep{0.0, 24}));
  for (const char* wrong :
       {"", "1", "h", "-1h", "0d", "1.5month", "1km", "1 h", "nand", "infd", "1e99d1", "1e300y", "1e-9s"}) {
    EXPECT_FALSE(parse_step(wrong)) << wrong;
  }
  for (const char* text : {"1h", "30min", "2w", "13d", "25h", "3month", "2y", "36h", "90s", "0.25s"}) {
    EXPECT_EQ(parse_step(step_text(*parse_step(text))), parse_step(text)) << text;
  }
  EXPECT_EQ(step_text({14.0}), "2w");
  EXPECT_EQ(step_text({1.0 / 24}), "1h");
  EXPECT_EQ(step_text({0.0, 12}), "1y");
}

TEST(Calendar, DaysAndMonthsGoOnAsTheCLibraryHasThem) {
  for (int k = 0; k < 60; ++k) {
    EXPECT_DOUBLE_EQ(after(days(2023, 10, 28, 22), {1.0 / 24}, k), days(2023, 10, 28, 22 + k));
    EXPECT_EQ(after(days(2023, 11, 17, 6, 30), {0.0, 1}, k), days(2023, 11 + k, 17, 6, 30));
    EXPECT_EQ(after(days(1969, 3, 5), {0.0, 5}, k), days(1969, 3 + 5 * k, 5));
    EXPECT_EQ(after(days(2024, 1, 31), {0.0, 1, true}, k),
              days(2024, 2 + k, 0));  // day 0: the last of the month before
    EXPECT_EQ(after(days(2023, 2, 28), {0.0, 1, true}, k), days(2023, 3 + k, 0));
  }
  EXPECT_EQ(after(days(2024, 1, 31), {0.0, 1}, 1), days(2024, 2, 29));
  EXPECT_EQ(after(days(2024, 1, 31), {0.0, 1}, 2), days(2024, 3, 31));
  EXPECT_EQ(after(days(2024, 2, 29), {0.0, 12}, 1), days(2025, 2, 28));
  // A year of tenths of an hour is on the millisecond, however they add up.
  EXPECT_EQ(after(days(2023, 1, 1), {0.1 / 24}, 87600), days(2024, 1, 1));
}

TEST(Calendar, TimesAreReadAgainAsTheyWereWritten) {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const double day = std::floor(1e5 * random.uniform() - 3e4);
    const double time = day + std::floor(86400.0 * random.uniform()) / 86400.0;
    for (const char* format : {"%Y-%m-%d", "%d/%m/%Y", "%m.%d.%Y", "%Y%m%d", "unix", "%Y-%m-%dT%H:%M:%S"}) {
      EXPECT_NEAR(*parse_time(time_text(time, format, Clock::seconds), format), time, 1e-9) << format;
      EXPECT_EQ(*parse_time(time_text(day, format, Clock::none), format), day);
    }
  }
  EXPECT_EQ(time_text(days(2019, 1, 5, 7, 30), "%d/%m/%Y", Clock::minutes), "05/01/2019 07:30");
  EXPECT_EQ(time_text(days(2019, 1, 5, 7, 30), "%Y-%m-%dT%H:%M", Clock::seconds), "2019-01-05T07:30:00");
  EXPECT_EQ(time_text(days(2019, 1, 5), "%Y-%m", Clock::none), "2019-01");
  EXPECT_EQ(time_text(days(2019, 1, 5), "unix", Clock::none), "1546646400");
  EXPECT_EQ(clock_of(days(2019, 1, 5)), Clock::none);
  EXPECT_EQ(clock_of(days(2019, 1, 5, 3)), Clock::minutes);
  EXPECT_EQ(clock_of(days(2019, 1, 5, 3, 0, 1)), Clock::seconds);
}

}  // namespace
}  // namespace ick
