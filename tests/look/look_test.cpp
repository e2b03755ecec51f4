#include "ick/look/look.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/seed.h"

namespace ick {
namespace {

using Strings = std::vector<std::string>;
using Values = std::vector<double>;
const double kNone = std::numeric_limits<double>::quiet_NaN();

const ColumnLook& column(const TableLook& page, const std::string& name) {
  for (const ColumnLook& each : page.columns) {
    if (each.name == name) return each;
  }
  throw Error("no column " + name);
}

Values counting(int count, double first = 0.0, double step = 1.0) {
  Values values;
  for (int i = 0; i < count; ++i) values.push_back(first + step * i);
  return values;
}

TEST(LookAtColumns, RangesByHand) {
  const Table table =
      Table::from({Column::numbers("a", {7, 1, 2, kNone, 2}), Column::numbers("b", {9.5, 1, kNone, 4, 2}),
                   Column::categories("c", {"u", "", "v", "v", "w"})});
  const TableLook page = look(table);
  EXPECT_EQ(page.rows, 5);
  const ColumnLook &a = column(page, "a"), &b = column(page, "b"), &c = column(page, "c");
  EXPECT_EQ(a.missing, 1);
  EXPECT_EQ(a.distinct, 3);
  EXPECT_EQ(a.type, ColumnType::integer);
  // 1, 2, 2, 7: mean 3, squares 4 + 1 + 1 + 16, cubes -8 - 1 - 1 + 64.
  EXPECT_EQ(a.range->low, 1.0);
  EXPECT_EQ(a.range->median, 2.0);
  EXPECT_EQ(a.range->high, 7.0);
  EXPECT_NEAR(a.range->skewness, (54.0 / 4.0) / std::pow(22.0 / 4.0, 1.5), 1e-12);
  EXPECT_EQ(b.range->median, 3.0);
  ASSERT_EQ(c.commonest.size(), 3u);
  EXPECT_EQ(c.commonest[0].text, "v");
  EXPECT_EQ(c.commonest[0].rows, 2);
  EXPECT_EQ(c.commonest[1].text, "u");
  EXPECT_EQ(c.missing, 1);
}

TEST(LookAtColumns, RolesAndTerms) {
  Strings images, words, labels, times_of_day, days;
  Values shuffled_ids, any, zero(60, 0.0), nothing(60, kNone), whole;
  const std::vector<std::int64_t> order = shuffled(60, 2);
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    images.push_back("tile_" + std::to_string(i) + ".PNG");
    words.push_back("id-" + std::to_string(1000 - i));
    labels.push_back(i % 3 == 0 ? "dry" : "wet");
    times_of_day.push_back(std::to_string(i % 24) + ":30:00");
    days.push_back("2020-03-" + std::string(i % 28 < 9 ? "0" : "") + std::to_string(i % 28 + 1));
    shuffled_ids.push_back(500.0 + static_cast<double>(order[static_cast<std::size_t>(i)]));
    any.push_back(random.normal());
    whole.push_back(i % 4);
  }
  const TableLook page = look(Table::from(
      {Column::texts("file", images), Column::texts("word", words), Column::categories("label", labels),
       Column::texts("clock", times_of_day), Column::times("day", days), Column::numbers("row", counting(60, 10.0)),
       Column::numbers("id", shuffled_ids), Column::numbers("wind speed", any), Column::numbers("zero", zero),
       Column::numbers("nothing", nothing), Column::numbers("team", whole), Column::numbers("hour", counting(60))}));
  const auto expect = [&](const std::string& name, ColumnRole role, const Strings& terms) {
    EXPECT_EQ(column_role_name(column(page, name).role), column_role_name(role)) << name;
    EXPECT_EQ(column(page, name).terms, terms) << name;
  };
  expect("file", ColumnRole::image, {"cnn(file)"});
  expect("word", ColumnRole::identifier, {});
  expect("label", ColumnRole::group, {"categorical(label)"});
  expect("clock", ColumnRole::text, {});
  expect("day", ColumnRole::time, {"periodic(day, period=1w)", "matern32(day)"});
  expect("row", ColumnRole::identifier, {});
  expect("id", ColumnRole::identifier, {});
  expect("wind speed", ColumnRole::number, {"mlp(\"wind speed\")"});
  expect("zero", ColumnRole::constant, {});
  expect("nothing", ColumnRole::empty, {});
  expect("team", ColumnRole::number, {"mlp(team)", "categorical(team)"});
  EXPECT_EQ(column(page, "row").note, "counts the rows");
  EXPECT_EQ(column(page, "hour").note, "counts the rows");  // 0 .. 59 is no hour of the day
  EXPECT_EQ(page.date_parts, Strings{"clock"});
}

TEST(LookAtTimes, StepsGapsAndSeries) {
  Values days;
  Strings site;
  for (int hour = 0; hour < 200; ++hour) {
    if (hour == 50 || (hour >= 120 && hour < 123)) continue;
    for (const char* name : {"a", "b", "c"}) days.push_back(18000.0 + hour / 24.0), site.push_back(name);
  }
  days.pop_back(), site.pop_back();
  Values size(days.size());
  Random random(8);
  for (double& each : size) each = random.normal();
  const TableLook page =
      look(Table::from({Column::times("when", days), Column::numbers("size", size), Column::categories("site", site)}));
  ASSERT_EQ(page.times.size(), 1u);
  const TimeLook& time = page.times[0];
  EXPECT_EQ(time.instants, 196);
  EXPECT_NEAR(time.step, 1.0 / 24.0, 1e-9);
  EXPECT_EQ(time.gaps, 2);
  EXPECT_NEAR(time.longest_gap, 4.0 / 24.0, 1e-9);
  EXPECT_EQ(time.most_rows, 3);
  EXPECT_EQ(time.series, Strings{"site"});
  EXPECT_EQ(time.series_count, 3);
  EXPECT_NEAR(time.filled, (196.0 * 3.0 - 1.0) / (196.0 * 3.0), 1e-12);
}

TEST(LookAtTimes, MonthsAreRegular) {
  Strings firsts;
  for (int month = 0; month < 48; ++month) {
    firsts.push_back(std::to_string(2001 + month / 12) + (month % 12 < 9 ? "-0" : "-") +
                     std::to_string(month % 12 + 1) + "-01");
  }
  const TableLook page = look(Table::from({Column::times("month", firsts)}));
  EXPECT_EQ(page.times[0].gaps, 0);
  EXPECT_EQ(page.times[0].near, 1.0);
  EXPECT_NEAR(page.times[0].step, 1430.0 / 47.0, 1e-9);  // from 2001-01-01 to 2004-12-01
}

TEST(LookAtPlaces, ExtentsAndRows) {
  // A degree of latitude is 2 pi 6371 / 360 km; of longitude at 60 degrees half of it. Over the date line.
  Values lat, lon;
  for (int i = 0; i < 12; ++i) lat.push_back(59.0 + 2.0 * (i % 2)), lon.push_back(i % 3 == 0 ? 179.0 : -180.0 + i % 3);
  const TableLook page = look(Table::from({Column::numbers("Lon", lon), Column::numbers("Lat", lat)}));
  ASSERT_TRUE(page.place.has_value());
  const double degree = 2.0 * std::acos(-1.0) * 6371.0 / 360.0;
  EXPECT_EQ(page.place->north, "Lat");
  EXPECT_TRUE(page.place->sphere);
  EXPECT_NEAR(page.place->north_extent, 2.0 * degree, 0.01);
  EXPECT_NEAR(page.place->east_extent, 3.0 * degree * 0.5, 0.01);
  EXPECT_EQ(page.place->places, 6);
  EXPECT_EQ(page.place->median_rows, 2);
  EXPECT_EQ(column(page, "Lat").terms, Strings{"matern32(Lat, Lon, sphere)"});
  const TableLook planar =
      look(Table::from({Column::numbers("easting", {1, 5, 3}), Column::numbers("northing", {2, 4, 9})}));
  EXPECT_FALSE(planar.place->sphere);
  EXPECT_EQ(planar.place->north_extent, 7.0);
  EXPECT_EQ(planar.place->east_extent, 4.0);
}

TEST(LookAtGroups, ConstantWithinAndNotByChance) {
  Strings station;
  Values lat, lon, height, rare;
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const int k = static_cast<int>(random.below(10));
    station.push_back("S" + std::to_string(k));
    lat.push_back(47.0 + 0.1 * k);
    lon.push_back(8.0 + 0.01 * k * k);
    height.push_back(random.normal());
    rare.push_back(i == 7 ? 1.0 : 0.0);
  }
  const TableLook page = look(
      Table::from({Column::categories("station", station), Column::numbers("lat", lat), Column::numbers("lon", lon),
                   Column::numbers("height", height), Column::numbers("rare", rare)}));
  ASSERT_EQ(page.groups.size(), 1u);  // the place has the same groups as the station
  EXPECT_EQ(page.groups[0].columns, Strings{"station"});
  EXPECT_EQ(page.groups[0].constant, (Strings{"lat", "lon"}));
  EXPECT_EQ(page.groups[0].groups, 10);
}

TEST(LookAtRows, EqualOnesAsInALoop) {
  Random random(9);
  Values a, b;
  Strings c;
  for (int i = 0; i < 400; ++i) {
    a.push_back(random.below(6) == 0 ? kNone : static_cast<double>(random.below(8)));
    b.push_back(random.below(2) == 0 ? -0.0 : 0.0);
    c.push_back(std::string(1, static_cast<char>('p' + random.below(9))));
  }
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool same_a = a[i] == a[j] || (std::isnan(a[i]) && std::isnan(a[j]));
      if (!same_a || c[i] != c[j]) continue;
      ++equal;
      break;
    }
  }
  const TableLook page = look(Table::from({Column::numbers("a", a), Column::numbers("b", b), Column::texts("c", c)}));
  EXPECT_EQ(page.equal_rows, equal);
  EXPECT_GT(equal, 300);
}

TEST(Look, RefusesAndRemarks) {
  Table none = Table::from({Column::numbers("a", {})});
  EXPECT_THROW(look(none), DataError);
  EXPECT_THROW(look(Table{}), DataError);
  const Table table =
      Table::from({Column::numbers("a", counting(30)), Column::numbers("same", Values(30, 2.0)),
                   Column::numbers("gone", Values(30, kNone)), Column::texts("words", Strings(30, "w"))});
  EXPECT_THROW(look(table, {.target = "b"}), DataError);
  EXPECT_NE(look(table, {.target = "same"}).remark.find("same value"), std::string::npos);
  EXPECT_NE(look(table, {.target = "gone"}).remark.find("no value"), std::string::npos);
  EXPECT_NE(look(table, {.target = "words"}).remark.find("text"), std::string::npos);
  EXPECT_EQ(look(table, {.target = "a"}).remark, "");
  const TableLook one = look(Table::from({Column::numbers("a", {1.5})}), {.target = "a"});
  EXPECT_NE(one.remark.find("fewer than 20"), std::string::npos);
}

}  // namespace
}  // namespace ick
