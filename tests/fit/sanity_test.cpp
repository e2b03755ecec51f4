#include "fit/sanity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/seed.h"

namespace ick {
namespace {

// Two years of days: y of the day's number.
template <class Value>
Table days(const Value& value) {
  Table table;
  table.rows = 730;
  Column t, y;
  t.info.name = "t", y.info.name = "y";
  t.info.type = ColumnType::time;
  std::vector<double> times, values;
  Random random(5);
  for (int i = 0; i < 730; ++i) times.push_back(15'000.0 + i), values.push_back(value(i, random));
  t.values = times, y.values = values;
  table.columns = {t, y};
  return table;
}

std::vector<std::string> said(const Table& table, const std::string& formula) {
  std::vector<std::string> sentences;
  for (const Message& each : fit_model(table, formula).report.remarks) sentences.push_back(each.text());
  return sentences;
}

bool any_starts(const std::vector<std::string>& sentences, const std::string& with) {
  for (const std::string& each : sentences) {
    if (each.starts_with(with)) return true;
  }
  return false;
}

TEST(Sanity, AGoodModelIsNotOdd) {
  const Table table =
      days([](int i, Random& random) { return std::sin(2.0 * M_PI * i / 7.0) + 0.1 * random.normal(); });
  EXPECT_EQ(said(table, "y ~ periodic(t, period=7d)"), std::vector<std::string>());
}

// A level that drops for good: what was learned before is worse than nothing.
TEST(Sanity, WorseThanTheMeanIsSaid) {
  const Table table =
      days([](int i, Random& random) { return (i < 580 ? std::sin(i / 30.0) : -9.0) + random.normal(); });
  EXPECT_TRUE(any_starts(said(table, "y ~ rbf(t, lengthscale=20d)"),
                         "validation rows are predicted worse than by the mean of the training rows (R2 -"));
}

// A period that is wrong: the week is there, and the formula says five days beside it.
TEST(Sanity, ASeasonalMeanThatPredictsBetterIsSaid) {
  const Table table = days([](int i, Random& random) {
    return 3.0 * std::sin(2.0 * M_PI * i / 7.0) + 2.0 * std::sin(2.0 * M_PI * i / 97.0) + 0.1 * random.normal();
  });
  const std::vector<std::string> sentences =
      said(table, "y ~ periodic(t, period=7d, variance=0.01) + rbf(t, lengthscale=0.1d, variance=20)");
  EXPECT_TRUE(any_starts(sentences, "the mean of the same time in a period of 7 d predicts validation rows better"));
}

}  // namespace
}  // namespace ick
