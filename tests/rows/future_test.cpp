#include "ick/rows/future.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "ick/table/time.h"
#include "support/message.h"
#include "support/table_case.h"

namespace ick {
namespace {

double day(const char* text) { return *parse_time(text, "%Y-%m-%d"); }

// Two stations of an hourly table, which end at different times, before the clocks are set forward in Europe.
DataSummary hours() {
  DataSummary summary;
  summary.columns = {{{"date", ColumnType::time, "%Y-%m-%d", {}}, day("2019-01-01"), day("2019-03-30 22:00")},
                     {{"wind", ColumnType::number, "", {}}, 0.0, 9.0, 3.25},
                     {{"sky", ColumnType::category, "", {"clear", "grey"}}, 0.0, 1.0, 1.0},
                     {{"station", ColumnType::category, "", {"n", "s"}}, 0.0, 1.0, 0.0},
                     {{"lat", ColumnType::number, "", {}}, 46.5, 47.25, 46.5}};
  summary.time = "date";
  summary.step = {1.0 / 24};
  summary.keys = {"station"};
  summary.fixed = {"station", "lat"};
  summary.series = {{{1.0, 46.5}, day("2019-03-30 22:00")}, {{0.0, 47.25}, day("2019-03-29 05:00")}};
  summary.series_count = 2;
  return summary;
}

TEST(Future, HoursGoOnWithoutAChangeOfClock) {
  const FutureRows made = future_rows(hours(), {.rows = 12});
  EXPECT_EQ(made.rows.names(), (std::vector<std::string>{"date", "wind", "sky", "station", "lat"}));
  ASSERT_EQ(made.rows.rows, 24);
  EXPECT_EQ(made.series, 2);
  const Numbers &times = made.rows.column("date").values, &station = made.rows.column("station").values;
  for (int k = 0; k < 12; ++k) {
    // 2019-03-31 02:00, which Europe's clocks do not have, is the fourth
    EXPECT_NEAR(times[static_cast<std::size_t>(k)] * 24.0, day("2019-03-30") * 24.0 + 23 + k, 1e-6);
    EXPECT_NEAR(times[static_cast<std::size_t>(12 + k)] * 24.0, day("2019-03-29") * 24.0 + 6 + k, 1e-6);
    EXPECT_EQ(station[static_cast<std::size_t>(k)], 1.0);
    EXPECT_EQ(made.rows.column("lat").values[static_cast<std::size_t>(12 + k)], 47.25);
    EXPECT_EQ(made.rows.column("wind").values[static_cast<std::size_t>(k)], 3.25);
    EXPECT_EQ(made.rows.column("sky").values[static_cast<std::size_t>(k)], 1.0);
  }
  ASSERT_EQ(made.held.size(), 2u);
  EXPECT_EQ(made.held[0].column + made.held[0].value, "wind3.25");
  EXPECT_EQ(made.held[1].column + made.held[1].value, "skygrey");
  EXPECT_TRUE(made.held[0].is_typical);
}

TEST(Future, UntilIsTheLastTimeThereMayBe) {
  FutureRows made = future_rows(hours(), {.until = "2019-03-30 23:00"});
  EXPECT_EQ(made.rows.rows, 1 + 42);
  made = future_rows(hours(), {.until = "2019-03-30", .every = "6h", .set = {{"wind", "7"}, {"sky", "clear"}}});
  EXPECT_EQ(made.rows.rows, 3);  // 11:00, 17:00, 23:00 of one station
  EXPECT_EQ(made.series, 1);
  EXPECT_EQ(made.ended, 1);
  EXPECT_EQ(made.rows.column("wind").values[0], 7.0);
  EXPECT_EQ(made.rows.column("sky").values[0], 0.0);
  EXPECT_FALSE(made.held[0].is_typical);
}

TEST(Future, FurtherColumnsAreJoinedOnTimeAndSeries) {
  const auto hour = [](int k) { return day("2019-03-30 22:00") + k / 24.0; };
  // The second hour of station s, the first, and a row of station n; levels in another order.
  Table with = table_of({column_of("wind", {2.5, 1.5, 8.5, 4.5}),
                         column_of("station", {0, 0, 1, 1}, ColumnType::category, {"s", "n"}),
                         column_of("date", {hour(2), hour(1), hour(1), day("2019-03-29 06:00")}, ColumnType::time)});
  const FutureRows made = future_rows(hours(), {.rows = 3, .with = &with});
  EXPECT_EQ(made.joined, std::vector<std::string>{"wind"});
  const Numbers& wind = made.rows.column("wind").values;
  EXPECT_EQ(wind[0], 1.5);
  EXPECT_EQ(wind[1], 2.5);
  EXPECT_TRUE(std::isnan(wind[2]));
  EXPECT_EQ(wind[3], 4.5);
  EXPECT_EQ(made.without, 3);
  // Without the station's column: the same for both.
  with.columns.erase(with.columns.begin() + 1);
  EXPECT_THROW(future_rows(hours(), {.rows = 3, .with = &with}), DataError);  // 23:00 is there twice
  with = some_rows(with, {0, 1});
  EXPECT_EQ(future_rows(hours(), {.until = "2019-03-31", .with = &with}).rows.column("wind").values[0], 1.5);
}

TEST(Future, MonthsAreThoseOfTheCalendar) {
  DataSummary summary;
  summary.columns = {{{"month", ColumnType::time, "%Y-%m", {}}, day("2018-01-01"), day("2018-11-01")}};
  summary.time = "month", summary.step = {0.0, 1}, summary.series = {{{}, day("2018-11-01")}}, summary.series_count = 1;
  const Numbers& times = future_rows(summary, {.until = "2019-03"}).rows.column("month").values;
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[3], day("2019-03-01"));
  EXPECT_EQ(message_of<UsageError>([&] { future_rows(summary, {.rows = 3, .every = "1d"}); }),
            "every=1d: the times of \"month\" are months (YYYY-MM); expected a step of months or years, as in 1month");
}

TEST(Future, WhatCannotBeIsRefusedInASentence) {
  const auto refused = [](const FutureOptions& options, const DataSummary& summary = hours()) {
    return message_of<UsageError>([&] { future_rows(summary, options); });
  };
  EXPECT_EQ(refused({}), "how far into the future? Give either until=2030-01-31 or rows=100");
  EXPECT_EQ(refused({.rows = 3, .until = "2030-01-01"}), refused({}));
  EXPECT_EQ(refused({.until = "2019-01-15"}),
            "until=2019-01-15: the rows that the model has seen end at 2019-03-30 22:00, and the next one after 1h is "
            "later than that; give a later time");
  EXPECT_EQ(refused({.until = "soon"}),
            "until=soon: \"soon\" is not a time; expected YYYY-MM-DD, with HH:MM behind it for a time of day");
  EXPECT_EQ(refused({.rows = 3, .every = "often"}),
            "every=often: not a step of time; expected a number with a unit (s, min, h, d, w, month, y), as in 1h");
  EXPECT_EQ(refused({.rows = 3, .set = {{"wnd", "2"}}}),
            "the model reads no column named \"wnd\"; did you mean \"wind\"?");
  EXPECT_EQ(refused({.rows = 3, .set = {{"wind", "strong"}}}), "set=\"wind=strong\": \"strong\" is not a number");
  EXPECT_EQ(refused({.rows = 3, .set = {{"sky", "gray"}}}),
            "set=\"sky=gray\": no row that the model has seen has the level \"gray\"; did you mean \"grey\"?");
  EXPECT_EQ(refused({.rows = 3, .set = {{"lat", "3"}}}), "set=\"lat=3\": this column's values are made; leave it out");
  EXPECT_NE(refused({.until = "2999-01-01", .most = 1000}).find("more than 1000 rows would be made"),
            std::string::npos);
  DataSummary timeless = hours();
  timeless.time = "";
  EXPECT_NE(refused({.rows = 3}, timeless).find("does not read one column of times"), std::string::npos);
  DataSummary once = hours();
  once.step = {};
  EXPECT_NE(refused({.rows = 3}, once).find("no usual step"), std::string::npos);
  EXPECT_EQ(future_rows(once, {.rows = 3, .every = "1d"}).rows.rows, 6);
}

}  // namespace
}  // namespace ick
