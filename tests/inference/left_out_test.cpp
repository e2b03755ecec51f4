#include "inference/left_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ick/base/error.h"
#include "ick/fit/fit.h"
#include "ick/table/csv.h"

namespace ick {
namespace {

// One row for each hour of 100 days, two places, a level of groups.
Table hours() {
  Column t, lat, lon, y, group;
  t.info.name = "t", lat.info.name = "lat", lon.info.name = "lon", y.info.name = "y", group.info.name = "group";
  t.info.type = ColumnType::time;
  std::vector<double> times, north, east, target, level;
  for (int i = 0; i < 2400; ++i) {
    times.push_back(17'000.0 + i / 24.0);
    north.push_back(50.0 + i % 7), east.push_back(8.0 + i % 11);
    target.push_back(0.01 * ((i * 37) % 101)), level.push_back(i % 5);
  }
  group.info.type = ColumnType::integer;
  t.values = times, lat.values = north, lon.values = east, y.values = target, group.values = level;
  Table table;
  table.rows = 2400;
  table.columns = {t, lat, lon, y, group};
  return table;
}

Dataset all_rows(std::int64_t count) {
  Dataset rows;
  for (std::int64_t i = 0; i < count; ++i) rows.rows.push_back(i);
  return rows;
}

TEST(LeftOutParts, FuturesFollowTheRowsTheyArePredictedFrom) {
  const Table table = hours();
  const Dataset rows = all_rows(table.rows);
  const auto parts = left_out_parts(table, parse_split("last(t)=20%"), rows, {.horizon = 5.0}, 1);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->folds.size(), 9u);  // as many of 5 d as the second half of 99.96 d holds
  EXPECT_EQ(parts->text, "futures of 5 d");
  const auto& times = table.column("t").values;
  for (const LeftOut& fold : parts->folds) {
    const std::set<std::int64_t> out(fold.cells.begin(), fold.cells.end());
    double known = 0.0, first = 1e9, last = 0.0;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (!out.contains(parts->cell_of[i])) known = std::max(known, times[i]);
    }
    for (const std::int64_t row : fold.rows) first = std::min(first, times[row]), last = std::max(last, times[row]);
    EXPECT_GT(first, known);
    EXPECT_LE(last, known + 5.0 + 1.0 / 24.0 + 1e-9);
    EXPECT_LE(std::ssize(fold.rows), 200);
  }
}

TEST(LeftOutParts, SpansAreLeftOutAlone) {
  const Table table = hours();
  const Dataset rows = all_rows(table.rows);
  for (const double length : {5.0, 0.5}) {  // as many as fit, or some of them
    const auto parts =
        left_out_parts(table, parse_split("last(t)=20%"), rows, {.horizon = length, .futures = false}, 1);
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->folds.size(), length == 5.0 ? 19u : 24u);
    std::set<std::int64_t> predicted;
    for (const LeftOut& fold : parts->folds) {
      ASSERT_EQ(fold.cells.size(), 1u);
      for (const std::int64_t row : fold.rows) {
        EXPECT_EQ(parts->cell_of[row], fold.cells[0]);
        EXPECT_TRUE(predicted.insert(row).second);
      }
    }
    const auto& times = table.column("t").values;
    EXPECT_LT(times[*predicted.begin()], times[0] + 10.0);
    EXPECT_GT(times[*predicted.rbegin()], times[2399] - 5.0);
  }
}

TEST(LeftOutParts, BlocksAndGroupsAreLeftOutWhole) {
  const Table table = hours();
  const Dataset rows = all_rows(table.rows);
  for (const char* split : {"block(lat, lon)=20%", "group(group)=20%"}) {
    SCOPED_TRACE(split);
    const auto parts = left_out_parts(table, parse_split(split), rows, {}, 1);
    ASSERT_TRUE(parts);
    EXPECT_LE(parts->folds.size(), 60u);
    EXPECT_GE(parts->folds.size(), 5u);
    for (const LeftOut& fold : parts->folds) {
      ASSERT_EQ(fold.cells.size(), 1u);
      for (const std::int64_t row : fold.rows) EXPECT_EQ(parts->cell_of[row], fold.cells[0]);
    }
  }
  EXPECT_FALSE(left_out_parts(table, parse_split("random=20%"), rows, {}, 1));
  EXPECT_FALSE(left_out_parts(table, parse_split("last(t)=20%"), rows, {.horizon = 60.0}, 1)) << "one future of 60 d";
  EXPECT_EQ(left_out_parts(table, parse_split("last(t)=20%"), rows, {.horizon = 5.0, .period = 64.0}, 1)->folds.size(),
            3u);
}

TEST(LeftOutParts, TheHorizonIsStatedOrThatOfTheHoldout) {
  const Table table = hours();
  const auto horizon = [&](const FitOptions& options) {
    return horizon_of(table, plan_fit(table, parse_formula("y ~ rbf(t)"), options), "t");
  };
  FitOptions options;
  EXPECT_EQ(horizon(options), 0.0);
  options.holdout = parse_split("last(t)=10%");
  EXPECT_NEAR(horizon(options), 10.0, 0.1);
  options.horizon = "36h";
  EXPECT_NEAR(horizon(options), 1.5, 1e-12);
  options.horizon = "3km";
  EXPECT_THROW(plan_fit(table, parse_formula("y ~ rbf(t)"), options), UsageError);
  options.horizon = "36h";
  options.holdout = parse_split("random=10%");  // validation rows, too, are drawn at random
  const FitPlan plan = plan_fit(table, parse_formula("y ~ rbf(t)"), options);
  ASSERT_EQ(plan.remarks.size(), 1u);
  EXPECT_EQ(plan.remarks[0].text(), "horizon=36h has no effect: validation rows are not set apart by time");
  options.horizon = "";
  options.holdout = parse_split("random=10%");
  EXPECT_EQ(horizon(options), 0.0);
}

}  // namespace
}  // namespace ick
