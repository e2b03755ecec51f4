#include "ick/dataset/summary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ick/base/seed.h"
#include "ick/table/time.h"
#include "support/table_case.h"

namespace ick {
namespace {

double day(const char* text) { return *parse_time(text, "%Y-%m-%d"); }

DataSummary summary_of(const Table& table, const std::vector<std::string>& read, const std::vector<bool>& use = {}) {
  std::vector<ColumnInfo> columns;
  for (const std::string& name : read) columns.push_back(table.column(name).info);
  return summarise(table, columns, {"y"}, use);
}

TEST(DataSummary, RangesMediansAndMostFrequentLevels) {
  const Table table = table_of({column_of("x", {5, 1, kGap, 9, 2, 100}),
                                column_of("kind", {2, 0, 2, 1, -1, 2}, ColumnType::category, {"a", "b", "c"}),
                                column_of("other", {1, 2, 3, 4, 5, 6}), column_of("y", {1, 2, 3, 4, 5, 6})});
  const DataSummary all = summary_of(table, {"x", "kind"});
  ASSERT_EQ(all.columns.size(), 2u);
  EXPECT_EQ(all.column("x").low, 1.0);
  EXPECT_EQ(all.column("x").high, 100.0);
  EXPECT_EQ(all.column("x").typical, 5.0);
  EXPECT_EQ(all.column("kind").typical, 2.0);
  EXPECT_EQ(all.time, "");
  EXPECT_TRUE(all.series.empty());
  const DataSummary some = summary_of(table, {"x", "kind"}, {true, true, true, true, true, false});
  EXPECT_EQ(some.column("x").high, 9.0);
  EXPECT_EQ(some.column("x").typical, 2.0);  // the lower of the two in the middle
}

TEST(DataSummary, DaysWithGapsAreDays) {
  Random random(5);
  std::vector<double> times, y;
  for (int i = 0; i < 400; ++i) {
    if (random.uniform() < 0.25) continue;
    times.push_back(day("2019-01-01") + i), y.push_back(random.uniform());
  }
  const Table table = table_of({column_of("date", times, ColumnType::time), column_of("y", y)});
  const DataSummary summary = summary_of(table, {"date"});
  EXPECT_EQ(summary.step, (TimeStep{1.0}));
  EXPECT_TRUE(summary.keys.empty());
  ASSERT_EQ(summary.series.size(), 1u);
  EXPECT_EQ(summary.series[0].last, times.back());
}

TEST(DataSummary, MonthsAndYearsAreThoseOfTheCalendar) {
  const auto step_of = [](const TimeStep& step, const char* first, int rows) {
    std::vector<double> times, y;
    for (int i = 0; i < rows; ++i) times.push_back(after(day(first), step, i)), y.push_back(i);
    return summary_of(table_of({column_of("date", times, ColumnType::time), column_of("y", y)}), {"date"}).step;
  };
  for (const TimeStep& step : {TimeStep{0, 1}, TimeStep{0, 3}, TimeStep{0, 12}, TimeStep{0, 1, true}, TimeStep{28.0},
                               TimeStep{30.0}, TimeStep{7.0}, TimeStep{1.0 / 48}}) {
    EXPECT_EQ(step_of(step, step.month_end ? "2016-01-31" : "2016-01-15", 30), step) << step_text(step);
  }
  EXPECT_FALSE(step_of({1.0}, "2016-01-01", 1).any());
}

// Two stations of a row an hour; one ends earlier, and has another place.
Table two_stations() {
  std::vector<double> times, station, lat, wind, sky, y;
  Random random(8);
  for (int hour = 0; hour < 200; ++hour) {
    for (const int which : {1, 0}) {
      if (which == 0 && hour >= 150) continue;
      times.push_back(day("2019-10-20") + hour / 24.0), station.push_back(which);
      lat.push_back(which == 0 ? 47.25 : 46.5), wind.push_back(random.uniform()), y.push_back(random.uniform());
      sky.push_back(static_cast<double>(random.below(2)));
    }
  }
  return table_of({column_of("date", times, ColumnType::time),
                   column_of("sky", sky, ColumnType::category, {"clear", "grey"}),
                   column_of("station", station, ColumnType::category, {"north", "south"}), column_of("lat", lat),
                   column_of("wind", wind), column_of("y", y)});
}

TEST(DataSummary, SeriesAreToldApartByTheColumnThatDoesSo) {
  const Table table = two_stations();
  for (const bool read : {false, true}) {
    std::vector<std::string> columns = {"date", "lat", "wind", "sky"};
    if (read) columns.push_back("station");
    const DataSummary summary = summary_of(table, columns);
    EXPECT_EQ(summary.time, "date");
    EXPECT_EQ(summary.step, (TimeStep{1.0 / 24}));
    EXPECT_EQ(summary.keys, std::vector<std::string>{"station"});
    EXPECT_EQ(summary.column("station").read, read);
    EXPECT_EQ(summary.fixed, (std::vector<std::string>{"station", "lat"}));
    ASSERT_EQ(summary.series.size(), 2u);
    EXPECT_EQ(summary.series[0].values, (std::vector<double>{1.0, 46.5}));  // begins first
    EXPECT_NEAR(summary.series[0].last, day("2019-10-20") + 199 / 24.0, 1e-9);
    EXPECT_EQ(summary.series[1].values, (std::vector<double>{0.0, 47.25}));
    EXPECT_NEAR(summary.series[1].last, day("2019-10-20") + 149 / 24.0, 1e-9);
  }
}

// A clock that is set back repeats an hour; that does not make series of the wind's direction.
// 200 days of three stations; one row in 20 has no time, another one no station.
TEST(DataSummary, GapsInTimesAndNamesLeaveSeriesApart) {
  std::vector<double> times, station, y;
  for (int i = 0; i < 600; ++i) {
    times.push_back(i % 20 == 7 ? kGap : day("2019-01-01") + i / 3);
    station.push_back(i % 20 == 11 ? kGap : i % 3), y.push_back(i);
  }
  const Table table = table_of({column_of("date", times, ColumnType::time), column_of("y", y),
                                column_of("station", station, ColumnType::category, {"a", "b", "c"})});
  const DataSummary summary = summary_of(table, {"date"});
  EXPECT_EQ(summary.keys, std::vector<std::string>{"station"});
  EXPECT_EQ(summary.series.size(), 3u);
  EXPECT_EQ(summary.step, (TimeStep{1.0}));
}

TEST(DataSummary, ARepeatedHourMakesNoSeries) {
  std::vector<double> times, sky, y;
  for (int hour = 0; hour < 24 * 30; ++hour) {
    times.push_back(day("2019-10-01") + (hour < 640 ? hour : hour - 1) / 24.0);
    sky.push_back(hour == 640 ? 1.0 : 0.0), y.push_back(hour);
  }
  const Table table = table_of({column_of("date", times, ColumnType::time),
                                column_of("sky", sky, ColumnType::category, {"clear", "grey"}), column_of("y", y)});
  const DataSummary summary = summary_of(table, {"date", "sky"});
  EXPECT_TRUE(summary.keys.empty());
  EXPECT_EQ(summary.series.size(), 1u);
  EXPECT_EQ(summary.step, (TimeStep{1.0 / 24}));
}

TEST(DataSummary, RowsThatComeLaterExtendIt) {
  const Table table = two_stations();
  std::vector<bool> early(static_cast<std::size_t>(table.rows), false);
  std::vector<std::int64_t> late;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    early[static_cast<std::size_t>(i)] = i < 200;
    if (i >= 200) late.push_back(i);
  }
  DataSummary summary = summary_of(table, {"date", "lat", "wind", "sky"}, early);
  // Levels in another order, and one more.
  Table further = some_rows(table, late);
  Column& station = further.columns[2];
  station.info.levels = {"west", "south", "north"};
  std::vector<double> codes;
  for (const double code : station.values) codes.push_back(code == 0.0 ? 2.0 : 1.0);
  codes.back() = 0.0;
  station.values = codes;
  extend(summary, further);
  ASSERT_EQ(summary.series.size(), 3u);
  EXPECT_NEAR(summary.series[0].last, day("2019-10-20") + 198 / 24.0, 1e-9);
  EXPECT_NEAR(summary.series[1].last, day("2019-10-20") + 149 / 24.0, 1e-9);
  EXPECT_NEAR(summary.series[2].last, day("2019-10-20") + 199 / 24.0, 1e-9);
  EXPECT_EQ(summary.column("station").info.levels, (std::vector<std::string>{"north", "south", "west"}));
  EXPECT_EQ(summary.series[2].values, (std::vector<double>{2.0, 46.5}));
  EXPECT_NEAR(summary.column("date").high, day("2019-10-20") + 199 / 24.0, 1e-9);
}

TEST(DataSummary, OfVeryManySeriesThoseThatEndLastAreKept) {
  std::vector<double> times, site, y;
  const int sites = 12'000;
  for (int time = 0; time < 3; ++time) {
    for (int s = 0; s < sites; ++s) {
      if (time == 2 && s < 4'000) continue;
      times.push_back(day("2019-01-01") + time), site.push_back(s), y.push_back(s + time);
    }
  }
  const Table table = table_of(
      {column_of("date", times, ColumnType::time), column_of("site", site, ColumnType::integer), column_of("y", y)});
  const DataSummary summary = summary_of(table, {"date", "site"});
  EXPECT_EQ(summary.keys, std::vector<std::string>{"site"});
  EXPECT_EQ(summary.series_count, sites);
  ASSERT_EQ(std::ssize(summary.series), DataSummary::kMostSeries);
  const auto ended = std::count_if(summary.series.begin(), summary.series.end(),
                                   [](const SeriesSummary& each) { return each.values[0] < 4'000; });
  EXPECT_EQ(ended, 2'000);
}

}  // namespace
}  // namespace ick
