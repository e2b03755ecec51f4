#include "ick/table/derived.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "ick/formula/formula.h"
#include "support/table_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

std::vector<DerivedColumn> derived_of(const std::string& columns) {
  return parse_expression("k(" + columns + ")").call.derived;
}

Table readings() {
  return table_of({column_of("t", {18262.25, kGap, 18260.0, 18270.5}, ColumnType::time),
                   column_of("u", {18261.0, 18261.0, 18261.5, kGap}, ColumnType::time),
                   column_of("x", {2.0, 0.0, -3.0, kGap}), column_of("n", {1.0, 4.0, 9.0, 16.0}, ColumnType::integer),
                   column_of("site", {0, 1, 0, 1}, ColumnType::category, {"A", "B"}),
                   text_column("note", {"a", "b", "c", "d"})});
}

std::string refusal_of(const std::string& columns) {
  return message_of<DataError>([&] {
    std::vector<DerivedColumn> derived = derived_of(columns);
    find_derived_settings(readings(), derived);
  });
}

void expect_column(const Table& table, const std::string& name, const std::vector<double>& expected) {
  const Numbers& found = table.column(name).values;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
        << name << " row " << i + 1 << ": " << found[i];
  }
}

TEST(Derive, ColumnsRowByRow) {
  std::vector<DerivedColumn> derived =
      derived_of("hour(t), log(x), sqrt(n), n - x, t - u, log(sqrt(n) - x), elapsed(t)");
  const Table table = readings();
  find_derived_settings(table, derived);
  const Table made = derive(table, derived);
  EXPECT_EQ(made.rows, 4);
  expect_column(made, "hour(t)", {6.0, kGap, 0.0, 12.0});
  expect_column(made, "log(x)", {std::log(2.0), kGap, kGap, kGap});
  expect_column(made, "sqrt(n)", {1.0, 2.0, 3.0, 4.0});
  expect_column(made, "n - x", {-1.0, 4.0, 12.0, kGap});
  expect_column(made, "t - u", {1.25, kGap, -1.5, kGap});
  expect_column(made, "log(sqrt(n) - x)", {kGap, std::log(2.0), std::log(6.0), kGap});
  expect_column(made, "elapsed(t)", {2.25, kGap, 0.0, 10.5});
  EXPECT_EQ(made.column("hour(t)").missing, 1);
  EXPECT_EQ(find_derived(derived, "t - u")->unit, "d");
  EXPECT_EQ(find_derived(derived, "hour(t)")->unit, "h");
  EXPECT_EQ(find_derived(derived, "n - x")->unit, "");

  start_elapsed(table, {true, true, false, true}, derived);
  expect_column(derive(table, derived), "elapsed(t)", {0.0, kGap, -2.25, 8.25});
}

TEST(Derive, TheTableKeepsItsOwnColumns) {
  const Table table = readings();
  std::optional<Table> made;
  EXPECT_EQ(&with_derived(table, {}, made), &table);
  const Table& twice = with_derived(with_derived(table, derived_of("sqrt(n)"), made), derived_of("sqrt(n)"), made);
  std::vector<std::string> names = table.names();
  names.emplace_back("sqrt(n)");
  EXPECT_EQ(twice.names(), names);
}

TEST(Derive, HolidaysAreTheDaysOfAFile) {
  const ScratchFile days("day,what\n2019-12-31,New Year's Eve\n2020-01-01,New Year\n,\n2019-12-31,again\n");
  std::vector<DerivedColumn> derived = derived_of("holiday(t, \"" + days.path() + "\")");
  find_derived_settings(readings(), derived);
  EXPECT_EQ(derived[0].days, (std::vector<double>{18261.0, 18262.0}));
  const Table made = derive(readings(), derived);  // 2020-01-01 06:00, a gap, 2019-12-30, 2020-01-09 12:00
  expect_column(made, derived[0].name, {1.0, kGap, 0.0, 0.0});

  const ScratchFile list("2019-12-30\n2020-01-09\n2020-02-13\n");  // without a header
  derived = derived_of("holiday(t, \"" + list.path() + "\")");
  find_derived_settings(readings(), derived);
  EXPECT_EQ(derived[0].days, (std::vector<double>{18260.0, 18270.0, 18305.0}));
}

TEST(Derive, BadListsOfHolidaysAreRefused) {
  const auto refused = [](const std::string& content) {
    const ScratchFile file(content);
    return message_of<DataError>(
        [&] {
          std::vector<DerivedColumn> derived = derived_of("holiday(t, \"" + file.path() + "\")");
          find_derived_settings(readings(), derived);
        },
        file.path());
  };
  const std::string expected = "; expected one, with a name above it, as in date, 2019-12-25, 2019-12-26";
  const std::string place = "formula column 11: holiday(t, \"f\"): ";
  EXPECT_EQ(refused("name,count\nChristmas,2\nEaster,1\n"), place + "the file has no column of dates" + expected);
  EXPECT_EQ(refused("a,b\n2019-01-01,2019-01-02\n"), place + "the file has 2 columns of dates" + expected);
  EXPECT_TRUE(refused("").starts_with(place)) << refused("");
  EXPECT_TRUE(refusal_of("holiday(t, \"/no/such/file.csv\")")
                  .starts_with("formula column 11: holiday(t, \"/no/such/file.csv\"): "));
}

TEST(Derive, ColumnsOfAnotherTypeAreRefused) {
  EXPECT_EQ(refusal_of("hour(x)"), "formula column 8: hour(x): column \"x\" is a number, and hour() takes a time");
  EXPECT_EQ(refusal_of("log(t)"), "formula column 7: log(t): column \"t\" is a time, and log() takes a number");
  EXPECT_EQ(refusal_of("sqrt(site)"),
            "formula column 8: sqrt(site): column \"site\" is a category, and sqrt() takes a number");
  EXPECT_EQ(refusal_of("x - t"),
            "formula column 7: x - t: column \"t\" is a time, and a difference is of two numbers, or of two times");
  EXPECT_EQ(
      refusal_of("note - x"),
      "formula column 3: note - x: column \"note\" is a text, and a difference is of two numbers, or of two times");
  EXPECT_EQ(refusal_of("hour(t - u)"),
            "formula column 8: hour(t - u): column \"t - u\" is a number, and hour() takes a time");
}

}  // namespace
}  // namespace ick
