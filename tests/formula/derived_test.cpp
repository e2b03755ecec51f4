#include "ick/formula/derived.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "formula/trees.h"
#include "ick/base/error.h"

namespace ick {
namespace {

std::string said(const std::string& text) {
  try {
    return print(parse_formula(text));
  } catch (const UsageError& error) {
    return error.what();
  }
}

Call call_of(const std::string& text) { return parse_expression(text).call; }

double value(const std::string& function, double x) { return find_derived_function(function)->of(x); }

// tests/golden/derived.csv, written by derived.py beside it
TEST(Derived, TheCalendarIsThatOfPython) {
  std::ifstream file(ICK_TESTS_DIR "/golden/derived.csv");
  std::string line;
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    std::istringstream cells(line);
    std::vector<double> numbers;
    for (std::string cell; std::getline(cells, cell, ',');) numbers.push_back(std::stod(cell));
    EXPECT_NEAR(value("hour", numbers[0]), numbers[1], 1e-8) << line;
    EXPECT_EQ(value("weekday", numbers[0]), numbers[2]) << line;
    EXPECT_EQ(value("month", numbers[0]), numbers[3]) << line;
    EXPECT_EQ(value("dayofyear", numbers[0]), numbers[4]) << line;
  }
  EXPECT_EQ(rows, 238);
}

// A full hour is no exact share of a day, and two ways to it may differ in the last bit.
TEST(Derived, AFullHourIsAWholeNumber) {
  for (int hour = 0; hour < 24; ++hour) {
    EXPECT_EQ(value("hour", 18091.0 + hour / 24.0), hour);
    EXPECT_EQ(value("hour", std::nextafter(18091.0 + hour / 24.0, 0.0)), hour);
  }
  EXPECT_EQ(value("weekday", std::nextafter(18091.0, 0.0)), value("weekday", 18091.0));
}

TEST(Derived, OutsideOfItsDomainACellIsMissing) {
  EXPECT_EQ(value("log", 1.0), 0.0);
  EXPECT_DOUBLE_EQ(value("log", 10.0), 2.302585092994046);
  EXPECT_EQ(value("sqrt", 0.0), 0.0);
  EXPECT_EQ(value("sqrt", 6.25), 2.5);
  for (const double x : {0.0, -2.0}) EXPECT_TRUE(std::isnan(value("log", x)));
  EXPECT_TRUE(std::isnan(value("sqrt", -1e-9)));
  for (const char* function : {"hour", "weekday", "month", "dayofyear"}) {
    EXPECT_TRUE(std::isnan(value(function, 1e12))) << "beyond the calendar";
  }
}

TEST(Derived, IsReadAndPrintedWhereverAColumnStands) {
  const std::pair<std::string, std::string> rows[] = {
      {"y~periodic( hour(date),period=24 )", "y ~ periodic(hour(date), period=24)"},
      {"y ~ rbf(log(x))", "y ~ rbf(log(x))"},
      {"y ~ rbf(a-b)", "y ~ rbf(a - b)"},
      {"y ~ rbf(a - b - \"c d\")", "y ~ rbf(a - b - \"c d\")"},
      {"y ~ rbf(log(a)-log(b), sqrt(a - b))", "y ~ rbf(log(a) - log(b), sqrt(a - b))"},
      {"y ~ mlp(., a, -b, hour(date), -\"c d\", layers=[8, 4])",
       "y ~ mlp(a, hour(date), ., -b, -\"c d\", layers=[8, 4])"},
      {"y ~ mlp(rank(log(x)), cycle(hour(t), period=24), trees(weekday(t), cycle(dayofyear(t), period=1y), n=3))",
       "y ~ mlp(rank(log(x)), cycle(hour(t), period=24), trees(weekday(t), cycle(dayofyear(t), period=1y), n=3))"},
      {"y ~ boost(., month(date)) + linear(elapsed(date))", "y ~ boost(month(date), .) + linear(elapsed(date))"},
      {"y ~ categorical(holiday(date, holidays.csv))", "y ~ categorical(holiday(date, holidays.csv))"},
      {"y ~ mlp(holiday(\"the day\", \"a b/c.csv\"))", "y ~ mlp(holiday(\"the day\", \"a b/c.csv\"))"},
      {"y ~ rbf(hour, \"log\", elapsed) + rbf(\"hour(t)\")", "y ~ rbf(hour, log, elapsed) + rbf(\"hour(t)\")"},
      {"y ~ rbf(\"a - b\", \"sphere\" - x)", "y ~ rbf(\"a - b\", \"sphere\" - x)"},
      {"cases ~ rbf(x) + offset(log(people)) + weights(sqrt(w))",
       "cases ~ rbf(x) + offset(log(people)) + weights(sqrt(w))"},
  };
  for (const auto& [text, printed] : rows) {
    EXPECT_EQ(said(text), printed);
    EXPECT_EQ(parse_formula(printed), parse_formula(text)) << printed;
  }
}

TEST(Derived, ACallKnowsWhatItsColumnsAreComputedOf) {
  const Call rbf = call_of("rbf(log(a - b), c, a - b, hour(\"x y\"))");
  EXPECT_EQ(rbf.columns, (Strings{"log(a - b)", "c", "a - b", "hour(\"x y\")"}));
  ASSERT_EQ(rbf.derived.size(), 3u);
  EXPECT_EQ(rbf.derived[0].inputs, (Strings{"a", "b"}));
  EXPECT_EQ(rbf.derived[1].inputs, (Strings{"a - b"}));
  EXPECT_EQ(rbf.derived[2].inputs, (Strings{"x y"}));
  Strings read;
  std::vector<std::size_t> places;
  for (const PlacedColumn& each : columns_read(rbf)) read.push_back(each.name), places.push_back(each.position);
  EXPECT_EQ(read, (Strings{"c", "a", "b", "x y"}));
  EXPECT_EQ(places, (std::vector<std::size_t>{17, 9, 13, 32}));
  EXPECT_EQ(read_for(rbf.derived, Strings{"log(a - b)", "c"}), (Strings{"a", "b", "c"}));
  EXPECT_EQ(needed_for(rbf.derived, {"log(a - b)"}).size(), 2u);
  EXPECT_EQ(time_behind(rbf.derived, "hour(\"x y\")"), "x y");
  EXPECT_EQ(time_behind(rbf.derived, "a - b"), "");
  EXPECT_EQ(time_behind(rbf.derived, "c"), "");
  EXPECT_FALSE(call_of("rbf(hour(t))") == call_of("rbf(\"hour(t)\")"));
  EXPECT_FALSE(call_of("rbf(., -a)") == call_of("rbf(., -b)"));
}

TEST(Derived, MistakesNameTheirPlace) {
  const std::string functions = "hour, weekday, month, dayofyear, elapsed, holiday, log and sqrt";
  const std::pair<std::string, std::string> rows[] = {
      {"y ~ rbf(log())", "13: found \")\" where the column of log, as in log(x), was expected"},
      {"y ~ rbf(hour(2))", "14: found \"2\" where the column of hour, as in hour(date), was expected"},
      {"y ~ rbf(hour(a, b))", "15: found \",\" where \")\" after the column of hour was expected"},
      {"y ~ mlp(log(.))", "13: found \".\" where the column of log, as in log(x), was expected"},
      {"y ~ rbf(log(exp(x)))", "13: no function of columns named \"exp\"; there are " + functions},
      {"y ~ rbf(log(huor(x)))", "13: no function of columns named \"huor\"; did you mean \"hour\"?"},
      {"y ~ rbf(a - )", "13: found \")\" where a column to take from a was expected"},
      {"y ~ rbf(a - 3)", "13: found \"3\" where a column to take from a was expected"},
      {"y ~ rbf(holiday(d))",
       "18: found \")\" where \",\" and a file of dates, as in holiday(date, \"holidays.csv\"), was expected"},
      {"y ~ rbf(holiday(d, 3))",
       "20: found \"3\" where a file of dates, as in holiday(date, \"holidays.csv\"), was expected"},
      {"y ~ mlp(., -)", "13: found \")\" where a column that \".\" is to leave out was expected"},
      {"y ~ mlp(a, -b)", "13: found -b, which takes a column out of \".\", in a call without \".\"; write mlp(., -b)"},
      {"y ~ rbf(\"a - b\") + rbf(a - b)",
       "9: the column \"a - b\" of the table has the name of one that the formula computes; rename it"},
      {"y ~ rbf(x) + offset(hour(t))",
       "14: offset takes one column, or log, sqrt or logit of one, as in offset(x) or offset(log(x))"},
  };
  for (const auto& [text, message] : rows) EXPECT_EQ(said(text), "formula column " + message) << text;
}

// What R users write is answered with what to write instead.
TEST(FromR, ColumnsByThemselves) {
  const std::string stand = "columns stand in kernels and networks: write ";
  const std::pair<std::string, std::string> rows[] = {
      {"y ~ a + b", stand + "linear(a) + linear(b), or mlp(a, b)"},
      {"y ~ a", stand + "linear(a) or mlp(a)"},
      {"y ~ a + mlp(b)", stand + "linear(a) or mlp(a)"},
      {"y ~ mlp(b) + `wind speed`", stand + "linear(\"wind speed\") or mlp(\"wind speed\")"},
      {"y ~ a:b", stand + "linear(a) + linear(b) + linear(a) * linear(b), or mlp(a, b)"},
      {"y ~ a * b + c", stand + "linear(a) + linear(b) + linear(c), or mlp(a, b, c)"},
      {"y ~ a + \"b", stand + "linear(a) or mlp(a)"},
      {"y ~ .", "write mlp(.) for a network of all other columns, boost(.) for trees, rbf(.) for a kernel"},
      {"y ~ 1 + x", "the model has an intercept of its own: leave 1 out"},
      {"y ~ 0 + rbf(x)", "the model has an intercept of its own: leave 0 out"},
      {"y ~ (1 | site)", "R's (1 | group) is categorical(group)"},
      {"y ~ -1 + rbf(x)", "terms are added or multiplied, and the intercept belongs to the model: leave it out"},
      {"y ~ rbf(x) - 1", "terms are added or multiplied, and the intercept belongs to the model: leave it out"},
      {"y ~ poly(x, 2)", "R's poly(x, 2) is polynomial(x, degree=2)"},
      {"y ~ I(x^2)",
       "R's I(x^2) is polynomial(x, degree=2), and log(x), sqrt(x) and x - y stand in a kernel or network, "
       "as in linear(log(x))"},
  };
  for (const auto& [text, advice] : rows) {
    const std::string message = said(text);
    EXPECT_TRUE(message.ends_with("; " + advice)) << text << "\n" << message;
  }
}

}  // namespace
}  // namespace ick
