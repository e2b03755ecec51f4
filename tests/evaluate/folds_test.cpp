#include "ick/evaluate/folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "evaluate/kmeans.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "support/message.h"
#include "support/table_case.h"

namespace ick {
namespace {

// Days with ties and gaps of the target, stations of different sizes at places of their own.
Table sites(std::int64_t rows, std::uint64_t seed = 3) {
  Random random(seed_for(seed, "sites"));
  std::vector<double> day, lat, lon, station, kind, y;
  std::vector<double> station_lat, station_lon;
  for (int s = 0; s < 12; ++s) {
    station_lat.push_back(45.0 + 5.0 * random.uniform()), station_lon.push_back(6.0 + 8.0 * random.uniform());
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    day.push_back(18000.0 + std::floor(300.0 * random.uniform() * random.uniform()));
    const auto s = static_cast<std::size_t>(12.0 * random.uniform() * random.uniform());
    station.push_back(static_cast<double>(s));
    lat.push_back(station_lat[s]), lon.push_back(station_lon[s]);
    kind.push_back(random.uniform() < 0.1 ? 1.0 : 0.0);
    y.push_back(i % 17 == 5 ? kGap : random.normal());
  }
  std::vector<std::string> names;
  for (int s = 0; s < 12; ++s) names.push_back("s" + std::to_string(s));
  return table_of({column_of("date", day, ColumnType::time), column_of("lat", lat), column_of("lon", lon),
                   column_of("station", station, ColumnType::category, names),
                   column_of("kind", kind, ColumnType::category, {"no", "yes"}), column_of("y", y)});
}

std::vector<bool> with_target(const Table& table) {
  std::vector<bool> use;
  for (const double y : table.column("y").values) use.push_back(!std::isnan(y));
  return use;
}

FoldRequest request_of(const std::string& rule, std::int64_t folds = 5, std::uint64_t seed = 1) {
  FoldRequest request;
  request.rule = parse_fold_rule(rule);
  request.folds = folds;
  request.seed = seed;
  return request;
}

TEST(FoldRule, ReadsWhatItPrints) {
  for (const std::string text : {"random", "group(station)", "group(a, b)", "time(date)", "future(date)",
                                 "block(lat, lon)", "kmeans(lat, lon)", "group(\"my station\")"}) {
    EXPECT_EQ(print(parse_fold_rule(text)), text);
  }
  EXPECT_EQ(print(parse_fold_rule(" block( lat,lon ) ")), "block(lat, lon)");
}

TEST(FoldRule, RefusesWithAdvice) {
  const auto said = [](const std::string& text) { return message_of<UsageError>([&] { parse_fold_rule(text); }); };
  EXPECT_NE(said("futur(date)").find("no way to divide rows is named \"futur\"; did you mean \"future\"?"),
            std::string::npos);
  EXPECT_NE(said("group").find("group needs a column in parentheses"), std::string::npos);
  EXPECT_NE(said("random(x)").find("random takes no column"), std::string::npos);
  EXPECT_NE(said("future(a, b)").find("future takes one column"), std::string::npos);
  EXPECT_NE(said("group(station)=20%").find("\"=20%\" is too much"), std::string::npos);
  EXPECT_NE(said("block(lat").find("a ) is missing"), std::string::npos);
}

// Every row in question is tested once, and learned from in all folds but that one.
TEST(Folds, PartitionTheRows) {
  const Table table = sites(400);
  const std::vector<bool> use = with_target(table);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (use[static_cast<std::size_t>(i)]) all.push_back(i);
  }
  for (const std::string rule : {"random", "group(station)", "time(date)", "block(lat, lon)", "kmeans(lat, lon)"}) {
    SCOPED_TRACE(rule);
    const std::vector<Fold> folds = make_folds(table, request_of(rule, 4), use);
    ASSERT_EQ(folds.size(), 4u);
    std::vector<std::int64_t> tested;
    for (const Fold& fold : folds) {
      EXPECT_FALSE(fold.name.empty());
      EXPECT_TRUE(std::is_sorted(fold.test.begin(), fold.test.end()));
      std::vector<std::int64_t> both;
      std::merge(fold.test.begin(), fold.test.end(), fold.training.begin(), fold.training.end(),
                 std::back_inserter(both));
      EXPECT_EQ(both, all);
      tested.insert(tested.end(), fold.test.begin(), fold.test.end());
    }
    std::sort(tested.begin(), tested.end());
    EXPECT_EQ(tested, all);
  }
}

TEST(Folds, AreTheSameForASeedAndOthersForAnother) {
  const Table table = sites(300);
  for (const std::string rule : {"random", "group(station)", "block(lat, lon)"}) {
    const auto tests = [&](std::uint64_t seed) {
      std::vector<std::vector<std::int64_t>> rows;
      for (const Fold& fold : make_folds(table, request_of(rule, 3, seed), with_target(table))) {
        rows.push_back(fold.test);
      }
      return rows;
    };
    EXPECT_EQ(tests(1), tests(1)) << rule;
    EXPECT_NE(tests(1), tests(2)) << rule;
  }
}

TEST(Folds, AtRandomAreEqualAndShareOutClasses) {
  const Table table = sites(403);
  const std::vector<bool> all(403, true);
  FoldRequest request = request_of("random", 5);
  std::size_t least = 403, most = 0;
  for (const Fold& fold : make_folds(table, request, all)) {
    least = std::min(least, fold.test.size()), most = std::max(most, fold.test.size());
  }
  EXPECT_EQ(least, 80u);
  EXPECT_EQ(most, 81u);

  request.target = "kind";
  const Numbers& kind = table.column("kind").values;
  const auto yes = std::count(kind.begin(), kind.end(), 1.0);
  for (const Fold& fold : make_folds(table, request, all)) {
    const auto own = std::count_if(fold.test.begin(), fold.test.end(),
                                   [&](std::int64_t i) { return kind[static_cast<std::size_t>(i)] == 1.0; });
    EXPECT_NEAR(static_cast<double>(own), static_cast<double>(yes) / 5.0, 1.0);
  }
}

// Groups stay whole, and the largest fold is at most one group ahead of the smallest.
TEST(Folds, OfGroupsAreWholeAndBalanced) {
  const Table table = sites(400);
  const std::vector<bool> use = with_target(table);
  const Numbers& station = table.column("station").values;
  std::map<double, std::set<std::size_t>> folds_of;
  std::map<double, std::size_t> sizes;
  const std::vector<Fold> folds = make_folds(table, request_of("group(station)", 3), use);
  for (std::size_t k = 0; k < folds.size(); ++k) {
    for (const std::int64_t i : folds[k].test) {
      folds_of[station[static_cast<std::size_t>(i)]].insert(k), ++sizes[station[static_cast<std::size_t>(i)]];
    }
  }
  for (const auto& [level, seen] : folds_of) EXPECT_EQ(seen.size(), 1u);
  const auto [least, most] = std::minmax_element(
      folds.begin(), folds.end(), [](const Fold& a, const Fold& b) { return a.test.size() < b.test.size(); });
  const auto largest =
      std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_LE(most->test.size() - least->test.size(), largest->second);
}

// Spans of time follow each other, and rows of one day are in one of them.
TEST(Folds, OfTimeAreSpans) {
  const Table table = sites(400);
  const Numbers& date = table.column("date").values;
  double last = -HUGE_VAL;
  for (const Fold& fold : make_folds(table, request_of("time(date)", 5), with_target(table))) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const std::int64_t i : fold.test) {
      low = std::min(low, date[static_cast<std::size_t>(i)]), high = std::max(high, date[static_cast<std::size_t>(i)]);
    }
    EXPECT_GT(low, last);
    EXPECT_NEAR(static_cast<double>(fold.test.size()), 376.0 / 5.0, 12.0);  // the first days have many rows each
    last = high;
  }
}

// All training times before all test times; futures of one length that end with the last row.
TEST(Folds, OfTheFutureDoNotLookAhead) {
  const Table table = sites(400);
  const std::vector<bool> use = with_target(table);
  const Numbers& date = table.column("date").values;
  double first = HUGE_VAL, end = -HUGE_VAL;
  for (std::size_t i = 0; i < use.size(); ++i) {
    if (use[i]) first = std::min(first, date[i]), end = std::max(end, date[i]);
  }
  for (const double horizon : {0.0, 14.0}) {
    FoldRequest request = request_of("future(date)", 5);
    request.horizon = horizon;
    const double length = horizon > 0.0 ? horizon : (end - first) / 10.0;
    EXPECT_DOUBLE_EQ(future_length(table, request, use), length);
    const std::vector<Fold> folds = make_folds(table, request, use);
    for (std::size_t k = 0; k < folds.size(); ++k) {
      const double high = end - length * static_cast<double>(folds.size() - 1 - k);
      std::vector<std::int64_t> test, training;
      for (std::int64_t i = 0; i < table.rows; ++i) {
        const double t = date[static_cast<std::size_t>(i)];
        if (!use[static_cast<std::size_t>(i)]) continue;
        if (t > high - length + 1e-6 && t <= high + 1e-6) test.push_back(i);
        if (t <= high - length + 1e-6) training.push_back(i);
      }
      EXPECT_EQ(folds[k].test, test);
      EXPECT_EQ(folds[k].training, training);
      double latest = -HUGE_VAL, earliest = HUGE_VAL;
      for (const std::int64_t i : folds[k].training) latest = std::max(latest, date[static_cast<std::size_t>(i)]);
      for (const std::int64_t i : folds[k].test) earliest = std::min(earliest, date[static_cast<std::size_t>(i)]);
      EXPECT_LT(latest, earliest);
    }
  }
}

// No point is nearer to another cluster's mean than to its own, and well separated heaps are found.
TEST(Folds, RegionsAreNearTheirCentre) {
  Random random(seed_for(5, "heaps"));
  std::vector<double> points;
  const double centres[3][2] = {{0.0, 0.0}, {9.0, 1.0}, {4.0, 8.0}};
  for (int i = 0; i < 120; ++i) {
    points.push_back(centres[i % 3][0] + random.normal());
    points.push_back(centres[i % 3][1] + random.normal());
  }
  const std::vector<std::int64_t> found = kmeans(points, 2, 3, 1);
  const std::vector<std::int64_t> expected = {0, 2, 1};  // in the order of the first coordinate
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i % 3]) << i;

  const std::vector<std::int64_t> five = kmeans(points, 2, 5, 1);
  std::vector<double> sums(15, 0.0);
  for (std::size_t i = 0; i < five.size(); ++i) {
    double* const of = &sums[3 * static_cast<std::size_t>(five[i])];
    of[0] += points[2 * i], of[1] += points[2 * i + 1], of[2] += 1.0;
  }
  for (std::size_t i = 0; i < five.size(); ++i) {
    const auto distance = [&](std::size_t c) {
      return std::hypot(points[2 * i] - sums[3 * c] / sums[3 * c + 2],
                        points[2 * i + 1] - sums[3 * c + 1] / sums[3 * c + 2]);
    };
    for (std::size_t c = 0; c < 5; ++c) {
      ASSERT_GT(sums[3 * c + 2], 0.0);
      EXPECT_LE(distance(static_cast<std::size_t>(five[i])), distance(c));
    }
  }
}

// At 60 degrees north ten degrees of longitude are as far as five of latitude.
TEST(Folds, RegionsOfDegreesAreOnTheSphere) {
  const Table table = table_of({column_of("lat", {60.0, 66.0, 60.0, 66.0}), column_of("lon", {5.0, 5.0, 15.0, 15.0}),
                                column_of("a", {60.0, 66.0, 60.0, 66.0}), column_of("b", {5.0, 5.0, 15.0, 15.0})});
  const std::vector<bool> all(4, true);
  const std::vector<Fold> sphere = make_folds(table, request_of("kmeans(lat, lon)", 2), all);
  const std::vector<Fold> plane = make_folds(table, request_of("kmeans(a, b)", 2), all);
  const auto together = [](const std::vector<Fold>& folds, std::int64_t a, std::int64_t b) {
    return std::any_of(folds.begin(), folds.end(), [&](const Fold& fold) {
      return std::count(fold.test.begin(), fold.test.end(), a) + std::count(fold.test.begin(), fold.test.end(), b) == 2;
    });
  };
  EXPECT_TRUE(together(sphere, 0, 2));
  EXPECT_TRUE(together(plane, 0, 1));
}

TEST(Folds, RefuseWhatCannotBeDivided) {
  const Table table = sites(60);
  const std::vector<bool> all(60, true);
  const auto said = [&](const std::string& rule, std::int64_t folds, const Table& of) {
    return message_of<DataError>(
        [&] { make_folds(of, request_of(rule, folds), std::vector<bool>(static_cast<std::size_t>(of.rows), true)); });
  };
  EXPECT_EQ(said("random", 61, table), "folds=61: there are 60 rows with a target, fewer than folds; ask for fewer");
  EXPECT_THROW(make_folds(table, request_of("random", 1), all), UsageError);
  const Table one = some_rows(table, {0, 0, 0, 0});
  EXPECT_EQ(said("group(station)", 2, one),
            "by=group(station): all rows are of one group of station, and folds=2 needs as many at least; divide the "
            "rows in another way");
  EXPECT_EQ(
      said("block(lat, lon)", 3, one),
      "by=\"block(lat, lon)\": all rows are at one place of lat, lon, and folds=3 needs as many at least; divide the "
      "rows in another way");
  EXPECT_EQ(
      said("kmeans(lat, lon)", 3, one),
      "by=\"kmeans(lat, lon)\": all rows are at one place, and folds=3 needs as many at least; divide the rows in "
      "another way");
  EXPECT_EQ(said("future(date)", 2, one),
            "by=future(date): all rows have the same value of \"date\"; there is no future");
  EXPECT_NE(said("time(date)", 2, one).find("rows have 1 different times"), std::string::npos);
  EXPECT_NE(said("group(stations)", 2, table).find("did you mean \"station\"?"), std::string::npos);
  EXPECT_NE(said("time(station)", 2, table).find("is a category; a time or a number was expected"), std::string::npos);
  FoldRequest far = request_of("future(date)", 5);
  far.horizon = 1000.0;
  EXPECT_NE(message_of<DataError>([&] { make_folds(table, far, all); }).find("leave nothing to learn from before them"),
            std::string::npos);
}

TEST(Folds, LeaveOutRowsWithoutAPlace) {
  Table table = sites(100);
  set_value(table.columns[1], 7, kGap);
  const std::vector<bool> all(100, true);
  for (const Fold& fold : make_folds(table, request_of("block(lat, lon)", 3), all)) {
    EXPECT_EQ(std::count(fold.test.begin(), fold.test.end(), 7), 0);
    EXPECT_EQ(std::count(fold.training.begin(), fold.training.end(), 7), 0);
    EXPECT_EQ(fold.test.size() + fold.training.size(), 99u);
  }
}

}  // namespace
}  // namespace ick
