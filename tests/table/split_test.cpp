#include "ick/table/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "scratch.h"

namespace ick {
namespace {

Column numbers(const std::string& name, std::vector<double> values, ColumnType type = ColumnType::number) {
  Column column;
  column.info = {name, type, type == ColumnType::time ? "%d.%m.%Y" : "", {}};
  column.values = std::move(values);
  return column;
}

// 200 rows over 25 days, 8 rows each, in no order; 5 stations; places in the unit square.
Table sample() {
  Random random(5);
  std::vector<double> day, station, lat, lon;
  for (int row = 0; row < 200; ++row) {
    day.push_back(18000.0 + (row * 7) % 25);
    station.push_back(static_cast<double>(random.below(5)));
    lat.push_back(random.uniform());
    lon.push_back(10.0 * random.uniform());
  }
  Table table;
  table.rows = 200;
  table.columns = {numbers("day", day, ColumnType::time), numbers("station", station, ColumnType::category),
                   numbers("lat", lat), numbers("lon", lon)};
  table.columns[1].info.levels = {"A", "B", "C", "D", "E"};
  Column name;
  name.info = {"file", ColumnType::text, "", {}};
  for (int row = 0; row < 200; ++row) name.text.push_back("f" + std::to_string(row % 20));
  table.columns.push_back(name);
  return table;
}

std::int64_t count(const std::vector<bool>& rows) { return std::count(rows.begin(), rows.end(), true); }

std::vector<bool> apart(const Table& table, const std::string& text, std::uint64_t seed = 1) {
  return held_out(table, parse_split(text), seed);
}

TEST(Split, ReadsEveryKind) {
  EXPECT_EQ(parse_split("none"), Split{});
  EXPECT_EQ(parse_split(" random = 0.25 "), (Split{Split::Kind::random, 0.25, {}, "", ""}));
  EXPECT_EQ(parse_split("last=20%"), (Split{Split::Kind::last, 0.2, {}, "", ""}));
  EXPECT_EQ(parse_split("last(date)=12.5%"), (Split{Split::Kind::last, 0.125, {"date"}, "", ""}));
  EXPECT_EQ(parse_split("group(my station)=20%"), (Split{Split::Kind::group, 0.2, {"my station"}, "", ""}));
  EXPECT_EQ(parse_split("block(lat, \"lon, x\")=20%"), (Split{Split::Kind::block, 0.2, {"lat", "lon, x"}, "", ""}));
  EXPECT_EQ(parse_split("date>=2019-05-16"), (Split{Split::Kind::condition, 0.0, {"date"}, ">=", "2019-05-16"}));
  EXPECT_EQ(parse_split("\"a <b\" != \"x \"\"y\"\"\""),
            (Split{Split::Kind::condition, 0.0, {"a <b"}, "!=", "x \"y\""}));
  EXPECT_EQ(print(parse_split("last( date )=0.2")), "last(date)=20%");
}

TEST(Split, PrintedTextReadsBack) {
  Random random(9);
  const std::vector<std::string> parts = {"a", "B7", " ", "\"",       "=",    "<",    "!",         "%",
                                          "(", ")",  ",", "\xC3\xA9", "none", "last", "2019-05-16"};
  const auto word = [&] {
    std::string text;
    for (std::int64_t i = random.below(4); i >= 0; --i) text += parts[static_cast<std::size_t>(random.below(15))];
    return text;
  };
  const std::vector<std::string> comparisons = {"<", "<=", ">", ">=", "==", "!="};
  for (int i = 0; i < 20000; ++i) {
    Split split;
    split.kind = static_cast<Split::Kind>(random.below(6));
    if (split.kind == Split::Kind::condition) {
      split.comparison = comparisons[static_cast<std::size_t>(random.below(6))];
      split.value = random.below(9) ? word() : "";
    } else if (split.kind != Split::Kind::none) {
      split.share = random.below(2) ? random.uniform() : static_cast<double>(1 + random.below(99)) / 100.0;
    }
    const bool named = split.kind == Split::Kind::condition || split.kind == Split::Kind::group ||
                       split.kind == Split::Kind::block || (split.kind == Split::Kind::last && random.below(2));
    if (named) split.columns.push_back(word());
    if (split.kind == Split::Kind::block) split.columns.push_back(word());
    ASSERT_EQ(parse_split(print(split)), split) << print(split);
  }
}

TEST(Split, AnyTextIsReadOrRefused) {
  Random random(10);
  const std::string bytes = "ab \"=<>!()%,.0159lastgroup";
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::int64_t k = random.below(14); k > 0; --k) {
      text += bytes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())))];
    }
    const std::string message =
        message_of<UsageError>([&] { EXPECT_EQ(parse_split(print(parse_split(text))), parse_split(text)); });
    ASSERT_FALSE(message.starts_with("other")) << text << ": " << message;
    refused += !message.empty();
  }
  EXPECT_GT(refused, 1000);
}

TEST(Split, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& text) {
    const std::string message = message_of<UsageError>([&] { parse_split(text); });
    return message.substr(0, message.find("; write none, random=20%"));
  };
  EXPECT_EQ(refusal("rnadom=20%"),
            "split \"rnadom=20%\": no way to split is named \"rnadom\"; did you mean \"random\"?");
  EXPECT_EQ(refusal("day = 5"), "split \"day = 5\": columns are compared with ==, not with =");
  EXPECT_EQ(refusal("last=120%"), "split \"last=120%\": the share has to be between 0% and 100%");
  EXPECT_EQ(refusal("group=20%"), "split \"group=20%\": group needs a column in parentheses");
  EXPECT_EQ(refusal("last(a=20%"), "split \"last(a=20%\": a ) is missing");
  EXPECT_EQ(refusal("random(a)=20%"), "split \"random(a)=20%\": random takes no column");
}

TEST(Split, RandomRowsDependOnTheSeedOnly) {
  const Table table = sample();
  const std::vector<bool> first = apart(table, "random=20%");
  EXPECT_EQ(count(first), 40);
  EXPECT_EQ(first, apart(table, "random=20%"));
  EXPECT_NE(first, apart(table, "random=20%", 2));
  // Each row is drawn about equally often: 400 draws of probability 0.2, six standard deviations of 8.
  std::vector<int> often(200);
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::vector<bool> drawn = apart(table, "random=20%", seed);
    for (std::size_t row = 0; row < 200; ++row) often[row] += drawn[row];
  }
  EXPECT_GT(*std::min_element(often.begin(), often.end()), 80 - 48);
  EXPECT_LT(*std::max_element(often.begin(), often.end()), 80 + 48);
}

TEST(Split, LastTakesWholeInstants) {
  const Table table = sample();
  for (const char* text : {"last=20%", "last(day)=20%", "last(day)=21%"}) {
    const std::vector<bool> rows = apart(table, text);
    EXPECT_EQ(count(rows), 40) << text;  // 5 days of 8 rows
    for (std::size_t row = 0; row < 200; ++row) EXPECT_EQ(rows[row], table.columns[0].values[row] >= 18020.0);
  }
  EXPECT_EQ(count(apart(table, "last(lat)=20%")), 40);
  EXPECT_EQ(count(apart(table, "last=1%")), 8);     // at least one instant
  EXPECT_EQ(count(apart(table, "last=99%")), 192);  // and one is left
}

TEST(Split, GroupsStayTogether) {
  const Table table = sample();
  std::set<std::vector<bool>> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<bool> rows = apart(table, "group(station)=20%", seed);
    std::map<double, std::set<bool>> seen;
    for (std::size_t row = 0; row < 200; ++row) seen[table.columns[1].values[row]].insert(rows[row]);
    for (const auto& [station, sides] : seen) EXPECT_EQ(sides.size(), 1u);
    EXPECT_NEAR(static_cast<double>(count(rows)), 40.0, 15.0);
    different.insert(rows);
  }
  EXPECT_GE(different.size(), 3u);
  EXPECT_EQ(count(apart(table, "group(file)=20%")), 40);  // 4 files of 10 rows
  EXPECT_EQ(count(apart(table, "group(file)=1%")), 10);
}

TEST(Split, BlocksAreCellsOfAGrid) {
  const Table table = sample();
  const auto range = [&](std::size_t c) {
    const auto [low, high] = std::minmax_element(table.columns[c].values.begin(), table.columns[c].values.end());
    return std::pair(*low, *high);
  };
  const auto [lat_low, lat_high] = range(2);
  const auto [lon_low, lon_high] = range(3);
  const std::vector<bool> rows = apart(table, "block(lat, lon)=20%");
  EXPECT_NEAR(static_cast<double>(count(rows)), 40.0, 1.0);
  std::map<std::pair<int, int>, std::set<bool>> seen;
  for (std::size_t row = 0; row < 200; ++row) {
    const auto cell = [](double value, double low, double high) {
      return std::min(9, static_cast<int>(10.0 * (value - low) / (high - low)));
    };
    seen[{cell(table.columns[2].values[row], lat_low, lat_high), cell(table.columns[3].values[row], lon_low, lon_high)}]
        .insert(rows[row]);
  }
  for (const auto& [cell, sides] : seen) EXPECT_EQ(sides.size(), 1u);
  EXPECT_GT(seen.size(), 60u);
  EXPECT_GT(count(apart(table, "block(lat, lon, day)=20%")), 30);
}

TEST(Split, ConditionsCompareEveryType) {
  Table table = sample();
  EXPECT_EQ(count(apart(table, "day >= 2019-05-03")), 48);  // 18019 days after 1970-01-01 is 2019-05-03
  EXPECT_EQ(count(apart(table, "day < 03.05.2019")), 152);
  EXPECT_EQ(count(apart(table, "day == 2019-05-03")), 8);
  EXPECT_EQ(count(apart(table, "station == C")) + count(apart(table, "station != C")), 200);
  EXPECT_EQ(count(apart(table, "file == f3")), 10);
  const std::vector<bool> low = apart(table, "lat < 0.5");
  for (std::size_t row = 0; row < 200; ++row) EXPECT_EQ(low[row], table.columns[2].values[row] < 0.5);
  table.columns[2].values[0] = std::nan("");
  EXPECT_FALSE(apart(table, "lat != 0.5")[0]);
}

TEST(Split, AmongLimitsTheRows) {
  const Table table = sample();
  std::vector<bool> among(200);
  for (std::size_t row = 0; row < 200; row += 2) among[row] = true;
  for (const char* text : {"random=20%", "last=20%", "group(station)=30%", "block(lat, lon)=20%", "lat > 0.3"}) {
    const std::vector<bool> rows = held_out(table, parse_split(text), 3, among);
    EXPECT_GT(count(rows), 0);
    for (std::size_t row = 1; row < 200; row += 2) EXPECT_FALSE(rows[row]) << text;
  }
}

TEST(Split, RefusesWhatCannotBe) {
  Table table = sample();
  const auto refusal = [&](const std::string& text) { return message_of<DataError>([&] { apart(table, text); }); };
  EXPECT_EQ(count(apart(table, "none")), 0);
  EXPECT_EQ(refusal("lat > 5"), "split \"lat > 5\": sets no row apart of 200");
  EXPECT_EQ(refusal("lat < 5"), "split \"lat < 5\": sets every row apart and leaves none");
  EXPECT_EQ(refusal("statoin == A"), "split \"statoin == A\": no column named \"statoin\"; did you mean \"station\"?");
  EXPECT_EQ(refusal("station < C"),
            "split \"station < C\": column \"station\" is a category and is compared with == or != only");
  EXPECT_EQ(refusal("station == a"),
            "split \"station == a\": column \"station\" has no level \"a\"; did you mean \"A\"?");
  EXPECT_EQ(refusal("lat == high"), "split \"lat == high\": column \"lat\" holds numbers, and \"high\" is none");
  EXPECT_EQ(refusal("day < soon"),
            "split \"day < soon\": column \"day\" holds times, and \"soon\" is none (expected YYYY-MM-DD)");
  EXPECT_EQ(refusal("last(file)=20%"),
            "split \"last(file)=20%\": column \"file\" is a text; a time or a number was expected");
  EXPECT_EQ(refusal("random=0.1%"), "split \"random=0.1%\": sets no row apart of 200");
  table.columns[0].values[4] = std::nan("");
  EXPECT_EQ(refusal("last=20%"),
            "split \"last=20%\": column \"day\" has no value in row 5; a value is needed in every row");
  table.columns.erase(table.columns.begin());
  EXPECT_EQ(refusal("last=20%"), "split \"last=20%\": the table has no column of times; write last(column)=20%");
  std::fill(table.columns[0].values.begin(), table.columns[0].values.end(), 2.0);
  EXPECT_EQ(refusal("group(station)=20%"), "split \"group(station)=20%\": sets every row apart and leaves none");
  EXPECT_EQ(refusal("last(lat)=20%"), "");
}

}  // namespace
}  // namespace ick
