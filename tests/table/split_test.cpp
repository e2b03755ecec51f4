#include "ick/table/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "scratch.h"
#include "support/table_case.h"

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
  EXPECT_EQ(print(parse_split("last( date ) = 14 d")), "last(date)=14d");
  EXPECT_EQ(parse_split("last=1.5h"), (Split{Split::Kind::last, 0.0, {}, "", "", "1.5h"}));
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
  EXPECT_EQ(refusal("last=0d"), "split \"last=0d\": the length of time has to be more than 0");
  EXPECT_EQ(refusal("last=3km"), "split \"last=3km\": the share has to be between 0% and 100%");
  EXPECT_EQ(refusal("random=3d"), "split \"random=3d\": the share has to be between 0% and 100%");
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
  EXPECT_EQ(apart(table, "last(day)=5d"), apart(table, "last(day)=20%"));
  EXPECT_EQ(apart(table, "last=120h"), apart(table, "last=20%"));
  EXPECT_EQ(count(apart(table, "last=1w")), 56);
  EXPECT_EQ(count(apart(table, "last=6d")), 48);
  EXPECT_EQ(count(apart(table, "last=1s")), 8);  // the latest instant itself
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
      return std::min(19, static_cast<int>(20.0 * (value - low) / (high - low)));
    };
    seen[{cell(table.columns[2].values[row], lat_low, lat_high), cell(table.columns[3].values[row], lon_low, lon_high)}]
        .insert(rows[row]);
  }
  for (const auto& [cell, sides] : seen) EXPECT_EQ(sides.size(), 1u);
  EXPECT_GT(seen.size(), 120u);
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
  set_value(table.columns[2], 0, std::nan(""));
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
  set_value(table.columns[0], 4, std::nan(""));
  EXPECT_EQ(refusal("last=20%"),
            "split \"last=20%\": column \"day\" has no value in row 5; a value is needed in every row");
  table.columns.erase(table.columns.begin());
  EXPECT_EQ(refusal("last=20%"), "split \"last=20%\": the table has no column of times; write last(column)=20%");
  table.columns[0].values = std::vector<double>(200, 2.0);
  EXPECT_EQ(refusal("group(station)=20%"),
            "split \"group(station)=20%\": sets every row apart and leaves none, because station is the same in all of "
            "them; set rows apart in another way, as with random=20%");
  EXPECT_EQ(refusal("last(lat)=20%"), "");
  EXPECT_EQ(refusal("last(lat)=2d"),
            "split \"last(lat)=2d\": column \"lat\" holds numbers, which have no days; write a share, last(lat)=20%");
}

std::vector<std::int64_t> all_rows(const Table& table) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

std::vector<std::string> names_of(const std::vector<Block>& blocks) {
  std::vector<std::string> names;
  for (const Block& block : blocks) names.push_back(block.name);
  return names;
}

std::vector<std::size_t> sizes_of(const std::vector<Block>& blocks) {
  std::vector<std::size_t> sizes;
  for (const Block& block : blocks) sizes.push_back(block.rows.size());
  return sizes;
}

Table one_column(const std::string& name, std::vector<double> values, ColumnType type = ColumnType::number) {
  Table table;
  table.rows = std::ssize(values);
  table.columns = {numbers(name, std::move(values), type)};
  return table;
}

TEST(Blocks, AreLevelsOfACategory) {
  const Table table = sample();
  const std::vector<Block> blocks = blocks_of(table, {"station"}, all_rows(table));
  EXPECT_EQ(names_of(blocks),
            (std::vector<std::string>{"station = A", "station = B", "station = C", "station = D", "station = E"}));
  for (std::size_t level = 0; level < 5; ++level) {
    for (const std::int64_t row : blocks[level].rows) {
      EXPECT_EQ(table.columns[1].values[static_cast<std::size_t>(row)], static_cast<double>(level));
    }
  }
  // Level A has no row among these, and the order of the rows stays.
  std::vector<std::int64_t> some = blocks[3].rows;
  some.insert(some.begin(), blocks[1].rows.front());
  std::reverse(some.begin() + 1, some.end());
  const std::vector<Block> fewer = blocks_of(table, {"station"}, some);
  EXPECT_EQ(names_of(fewer), (std::vector<std::string>{"station = B", "station = D"}));
  EXPECT_EQ(fewer[1].rows, std::vector<std::int64_t>(some.begin() + 1, some.end()));
}

TEST(Blocks, IntegersWithFewValuesAreLevels) {
  std::vector<double> values;
  for (int row = 0; row < 60; ++row) values.push_back(2.0 * ((7 * row) % 12) - 4.0);
  const Table integer = one_column("hour", values, ColumnType::integer), number = one_column("hour", values);
  EXPECT_EQ(names_of(blocks_of(integer, {"hour"}, all_rows(integer), 12)),
            (std::vector<std::string>{"hour = -4", "hour = -2", "hour = 0", "hour = 2", "hour = 4", "hour = 6",
                                      "hour = 8", "hour = 10", "hour = 12", "hour = 14", "hour = 16", "hour = 18"}));
  const std::vector<std::string> spans = {"hour -4 to 0", "hour 2 to 6", "hour 8 to 12", "hour 14 to 18"};
  EXPECT_EQ(names_of(blocks_of(integer, {"hour"}, all_rows(integer), 4)), spans);
  EXPECT_EQ(names_of(blocks_of(number, {"hour"}, all_rows(number), 4)), spans);

  const Table uneven = one_column("hour", {0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1}, ColumnType::integer);
  EXPECT_EQ(sizes_of(blocks_of(uneven, {"hour"}, all_rows(uneven), 3)), (std::vector<std::size_t>{9, 1, 1}));
}

TEST(Blocks, AreSpansOfTime) {
  const Table table = sample();
  const std::vector<Block> days = blocks_of(table, {"day"}, all_rows(table), 5);  // day 18000 is 2019-04-14
  EXPECT_EQ(names_of(days), (std::vector<std::string>{"day 2019-04-14 to 2019-04-18", "day 2019-04-19 to 2019-04-23",
                                                      "day 2019-04-24 to 2019-04-28", "day 2019-04-29 to 2019-05-03",
                                                      "day 2019-05-04 to 2019-05-08"}));
  EXPECT_EQ(sizes_of(days), std::vector<std::size_t>(5, 40));
  EXPECT_EQ(names_of(blocks_of(table, {"day"}, all_rows(table), 25)).front(), "day = 2019-04-14");

  // Every six hours: to the day in long spans, to the second in short ones.
  std::vector<double> hours;
  for (int row = 0; row < 160; ++row) hours.push_back(18000.0 + 0.25 * row);
  const Table fine = one_column("at", hours, ColumnType::time);
  EXPECT_EQ(names_of(blocks_of(fine, {"at"}, all_rows(fine), 2)),
            (std::vector<std::string>{"at 2019-04-14 to 2019-05-03", "at 2019-05-04 to 2019-05-23"}));
  EXPECT_EQ(names_of(blocks_of(fine, {"at"}, all_rows(fine), 10))[1], "at 2019-04-18 to 2019-04-21T18:00:00Z");
}

TEST(Blocks, AreSpansOfNumbersWithEquallyManyRows) {
  const Table table = sample();
  std::vector<double> sorted = table.columns[2].values.copy();
  std::sort(sorted.begin(), sorted.end());
  for (const int most : {1, 3, 7, 10, 300}) {
    const std::vector<Block> blocks = blocks_of(table, {"lat"}, all_rows(table), most);
    ASSERT_EQ(std::ssize(blocks), std::min(most, 200));
    std::size_t before = 0;
    for (const Block& block : blocks) {
      EXPECT_NEAR(static_cast<double>(block.rows.size()), std::max(1.0, 200.0 / most), 1.0);
      std::vector<double> values;
      for (const std::int64_t row : block.rows)
        values.push_back(table.columns[2].values[static_cast<std::size_t>(row)]);
      std::sort(values.begin(), values.end());
      EXPECT_TRUE(std::equal(values.begin(), values.end(), sorted.begin() + static_cast<std::ptrdiff_t>(before)));
      before += block.rows.size();
    }
  }

  // 1.04 to 3.36 is 2.3 wide and told to 0.1; 40.26 to 70.9 is 31 wide and told to 1; of zeros there is one value.
  const Table skewed = one_column("load", {40.26, -0.0, 3.36, 0, 0, 1.04, 0, 0, 55, 2.2, 70.9, 0});
  EXPECT_EQ(names_of(blocks_of(skewed, {"load"}, all_rows(skewed), 4)),
            (std::vector<std::string>{"load = 0", "load 1 to 3.4", "load 40 to 71"}));
  EXPECT_EQ(sizes_of(blocks_of(skewed, {"load"}, all_rows(skewed), 4)), (std::vector<std::size_t>{6, 3, 3}));
  const Table ties = one_column("load", {5, 5, 1.75, 5, -0.04, 5, 1.5, 5});
  EXPECT_EQ(names_of(blocks_of(ties, {"load"}, all_rows(ties), 2)),
            (std::vector<std::string>{"load 0 to 1.8", "load = 5"}));
  const Table small = one_column("load", {-0.00012, 0.0000001, 1e9, 1e9 + 0.25});
  EXPECT_EQ(names_of(blocks_of(small, {"load"}, all_rows(small), 2)),
            (std::vector<std::string>{"load -0.00012 to 0", "load 1000000000 to 1000000000.25"}));
}

// 4 * 10 blocks allow 6 steps along each of two columns, 3 along each of three.
TEST(Blocks, AreCellsOfAGridOverPlaces) {
  const Table table = sample();
  for (const std::vector<std::string>& columns :
       {std::vector<std::string>{"lat", "lon"}, std::vector<std::string>{"lat", "lon", "day"}}) {
    const int along = columns.size() == 2 ? 6 : 3;
    std::map<std::vector<int>, std::vector<std::int64_t>> cells;
    for (const std::int64_t row : all_rows(table)) {
      std::vector<int> cell;
      for (const std::string& name : columns) {
        const Numbers& values = table.column(name).values;
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        const double step = (*high - *low) / along, offset = values[static_cast<std::size_t>(row)] - *low;
        cell.push_back(std::min(along - 1, static_cast<int>(offset / step)));
      }
      cells[cell].push_back(row);
    }
    const std::vector<Block> blocks = blocks_of(table, columns, all_rows(table));
    ASSERT_EQ(blocks.size(), cells.size());
    std::size_t at = 0;
    for (const auto& [cell, rows] : cells) EXPECT_EQ(blocks[at++].rows, rows);
  }
}

TEST(Blocks, NameTheRangesOfCells) {
  Table table = one_column("lat", {47.02, 48.98, 48.03, 47.97, 47.5, 47.2, 48.6});
  table.columns.push_back(numbers("lon", {8.0, 8.04, 9.96, 10.0, 8.7, 9.2, 9.5}));
  const std::vector<Block> blocks = blocks_of(table, {"lat", "lon"}, all_rows(table), 1);  // 2 steps along each
  EXPECT_EQ(names_of(blocks),
            (std::vector<std::string>{"lat 47.02 to 47.97, lon 8 to 8.7", "lat 47.02 to 47.97, lon 9.2 to 10",
                                      "lat 48.03 to 48.98, lon 8 to 8.7", "lat 48.03 to 48.98, lon 9.2 to 10"}));
  EXPECT_EQ(sizes_of(blocks), (std::vector<std::size_t>{2, 2, 1, 2}));

  // A category beside a number keeps its levels; a column without spread is one step.
  table.columns.push_back(numbers("kind", {1, 0, 0, 0, 1, 1, 0}, ColumnType::category));
  table.columns.back().info.levels = {"sea", "land"};
  table.columns.push_back(numbers("height", std::vector<double>(7, 2.5)));
  EXPECT_EQ(names_of(blocks_of(table, {"kind", "height"}, all_rows(table))),
            (std::vector<std::string>{"kind = sea, height = 2.5", "kind = land, height = 2.5"}));
}

// 60 levels, level k with 1 + (7 k mod 60) rows: of 40 blocks 39 are those with at least 22 rows.
TEST(Blocks, TheSmallestAreJoined) {
  std::vector<double> codes;
  for (int level = 0; level < 60; ++level)
    codes.insert(codes.end(), static_cast<std::size_t>(1 + 7 * level % 60), level);
  Table table = one_column("site", codes, ColumnType::category);
  for (int level = 0; level < 60; ++level) table.columns[0].info.levels.push_back("s" + std::to_string(level));
  const std::vector<Block> blocks = blocks_of(table, {"site"}, all_rows(table));
  std::vector<std::string> expected;
  for (int level = 0; level < 60; ++level) {
    if (1 + 7 * level % 60 >= 22) expected.push_back("site = s" + std::to_string(level));
  }
  expected.push_back("other");
  EXPECT_EQ(expected.size(), 40u);
  EXPECT_EQ(names_of(blocks), expected);
  EXPECT_EQ(blocks.back().rows.size(), 21u * 22u / 2u);
  for (const std::int64_t row : blocks.back().rows) {
    EXPECT_LT(7 * static_cast<int>(codes[static_cast<std::size_t>(row)]) % 60, 21);
  }
}

// Whatever the columns: each complete row in one block, none empty, names different, the order of the rows no matter.
TEST(Blocks, PartTheCompleteRows) {
  Random random(31);
  for (int repetition = 0; repetition < 300; ++repetition) {
    Table table;
    table.rows = 1 + random.below(150);
    const auto count = static_cast<std::size_t>(1 + random.below(6));
    std::vector<std::string> columns;
    for (std::size_t c = 0; c < count; ++c) {
      const ColumnType type = std::vector{ColumnType::number, ColumnType::integer, ColumnType::time,
                                          ColumnType::category}[static_cast<std::size_t>(random.below(4))];
      const double size = std::pow(10.0, 8.0 * random.uniform() - 4.0), shift = 100.0 * random.normal();
      const std::int64_t distinct = 1 + random.below(60);
      std::vector<double> values;
      for (std::int64_t row = 0; row < table.rows; ++row) {
        const auto whole = static_cast<double>(random.below(distinct));
        values.push_back(random.below(30) == 0                                         ? std::nan("")
                         : type == ColumnType::integer || type == ColumnType::category ? whole
                         : type == ColumnType::time                                    ? 18000.0 + whole / 8.0
                                                    : shift + size * random.normal());
      }
      if (type == ColumnType::number) values[0] = std::numeric_limits<double>::infinity();
      columns.push_back("c" + std::to_string(c));
      table.columns.push_back(numbers(columns.back(), values, type));
      for (int level = 0; level < 60; ++level) table.columns.back().info.levels.push_back(std::to_string(level));
    }
    std::vector<std::int64_t> rows = all_rows(table), complete;
    for (const std::int64_t row : rows) {
      const auto has = [&](const Column& column) {
        return std::isfinite(column.values[static_cast<std::size_t>(row)]);
      };
      if (std::all_of(table.columns.begin(), table.columns.end(), has)) complete.push_back(row);
    }
    const int most = static_cast<int>(1 + random.below(12));
    const std::vector<Block> blocks = blocks_of(table, columns, rows, most);
    std::reverse(rows.begin(), rows.end());
    const std::vector<Block> again = blocks_of(table, columns, rows, most);

    std::vector<std::int64_t> seen;
    for (const Block& block : blocks) {
      EXPECT_FALSE(block.rows.empty());
      seen.insert(seen.end(), block.rows.begin(), block.rows.end());
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, complete);
    const std::vector<std::string> names = names_of(blocks);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    EXPECT_LE(std::ssize(blocks), 4 * most);
    EXPECT_EQ(names_of(again), names);
    EXPECT_EQ(sizes_of(again), sizes_of(blocks));
  }
}

TEST(Blocks, RefusesWhatCannotBe) {
  const Table table = sample();
  const auto refusal = [&](const std::vector<std::string>& columns) {
    return message_of<DataError>([&] { blocks_of(table, columns, all_rows(table)); });
  };
  EXPECT_EQ(refusal({"lat", "lonn"}), "blocks of rows: no column named \"lonn\"; did you mean \"lon\"?");
  EXPECT_EQ(refusal({"file"}),
            "blocks of rows: column \"file\" is a text; a category, a time or a number was expected");
  EXPECT_EQ(message_of<UsageError>([&] {
              blocks_of(table, {"lat"}, {0, 1}, 0);
            }),
            "blocks of rows: at most 0 were asked for (expected 1 or more)");
  EXPECT_EQ(message_of<Error>([&] {
              blocks_of(table, {"lat"}, {0, 200});
            }),
            "blocks of rows: there is no row 200 in a table of 200");
  EXPECT_TRUE(blocks_of(table, {}, all_rows(table)).empty());
  EXPECT_TRUE(blocks_of(table, {"lat", "lon"}, {}).empty());
}

}  // namespace
}  // namespace ick
