#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "ick/dataset/encoder.h"
#include "support/message.h"
#include "support/table_case.h"

namespace ick {
namespace {

NetworkSpec network_of(const std::string& text) { return make_network_spec(parse_expression(text).call); }

Table times_table() {
  // days 0, 1/4 and 5/8 of a week of 7, and a gap
  return table_of(
      {column_of("t", {700.0, 701.75, 704.375, kGap}, ColumnType::time), column_of("hour", {0.0, 6.0, 15.0, 30.0}),
       column_of("s", {0.0, 1.0, 0.0, 1.0}, ColumnType::category, {"p", "q"}), column_of("y", {1.0, 2.0, 4.0, 3.0})});
}

std::vector<float> read_by(const std::string& network, std::map<std::string, std::string> units = {}) {
  const Table table = times_table();
  EncoderPlan plan;
  plan.target = "y";
  plan.networks = {network_of(network).inputs};
  plan.units = std::move(units);
  const Dataset rows = encode(table, fit_encoder(table, plan, std::vector<bool>(4, true)), true);
  const at::Tensor found = rows.networks[0].contiguous();
  return {found.data_ptr<float>(), found.data_ptr<float>() + found.numel()};
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(Cycles, SineAndCosineOfEachPeriod) {
  const double r = std::sqrt(2.0), h = std::sqrt(0.5);
  // a gap is neither, and says so in a number of its own
  expect_near(read_by("mlp(cycle(t, period=1w))"), {0, r, 0, r, 0, 0, -1, -1, 0, 0, 0, 1});
  // 0, 6, 15 and 30 hours of a day; of half a day 0, 1/2, 1/4 and 1/2
  expect_near(read_by("mlp(cycle(hour, period=[24, 12]))"),
              {0, r, 0, r, r, 0, 0, -r, r * -h, r * -h, r, 0, r, 0, 0, -r});
  expect_near(read_by("mlp(cycle(hour, period=[1d, 12h]))", {{"hour", "h"}}),
              {0, r, 0, r, r, 0, 0, -r, r * -h, r * -h, r, 0, r, 0, 0, -r});
}

// Trees see the phase alone: the same leaves one period later.
TEST(Cycles, TreesOfTheSeason) {
  const std::vector<float> found = read_by("mlp(trees(cycle(hour, period=24), n=3, depth=2))");
  const std::vector<float> later = read_by("mlp(trees(cycle(hour, period=[24]), n=3, depth=2))");
  ASSERT_EQ(found.size(), 4u * 12u);
  EXPECT_EQ(found, later);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(found[12 + i], found[36 + i]);  // 6 and 30 hours
  float leaves = 0.0f;
  for (const float each : found) leaves += each;
  EXPECT_EQ(leaves, 12.0f);  // one of each tree
}

TEST(Cycles, RefusalsSayWhere) {
  const auto spec = [](const std::string& text) { return message_of<UsageError>([&] { network_of(text); }); };
  EXPECT_EQ(spec("mlp(a, cycle(t))"), "formula column 8: cycle has no period; write one, as in cycle(date, period=1y)");
  EXPECT_EQ(spec("mlp(a, cycle(period=1y))"),
            "formula column 8: cycle has no column; name one, as in cycle(date, period=1y)");
  EXPECT_EQ(spec("mlp(a, cycle(t, period=prior(1, 2)))"),
            "formula column 17: period of cycle is a length that is known, or several: 1y, [1d, 1w]");
  EXPECT_EQ(spec("mlp(cycle(t, period=-1))"),
            "formula column 14: period of cycle is a length that is known, or several: 1y, [1d, 1w]");
  EXPECT_EQ(spec("mlp(cycle(t, n=3))"), "formula column 14: cycle has no argument named \"n\"; it has period");
  EXPECT_EQ(message_of<DataError>([] { read_by("mlp(cycle(s, period=2))"); }),
            "formula column 11: column \"s\" holds category values; cycle(t, period=...) takes times or numbers");
  EXPECT_EQ(
      message_of<UsageError>([] { read_by("mlp(cycle(hour, period=1d))"); }),
      "formula column 11: period=1d is not in the unit of column \"hour\", which has none; write the number alone, "
      "or declare one with units");
}

}  // namespace
}  // namespace ick
