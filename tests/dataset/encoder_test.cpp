#include "ick/dataset/encoder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "support/table_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

using Bools = std::vector<bool>;
using Names = std::vector<std::string>;

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.to(at::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}

EncoderPlan plan_of(Names kernel, Names network) {
  EncoderPlan plan;
  plan.target = "y";
  plan.kernel_columns = std::move(kernel);
  if (!network.empty()) plan.networks = {{std::move(network)}};
  return plan;
}

std::string refusal(const Table& table, const EncoderPlan& plan, const Bools& use) {
  return message_of<DataError>([&] { fit_encoder(table, plan, use); });
}

// By hand: the values 1, 2, 6 of the rows in use have mean 3 and variance (4 + 1 + 9) / 3.
TEST(Encoder, ScalesByTheTrainingRowsAlone) {
  const Table table =
      table_of({column_of("a", {1.0, 2.0, 1000.0, 6.0, kGap}), column_of("y", {4.0, 8.0, 500.0, 0.0, 1.0})});
  const Encoder encoder = fit_encoder(table, plan_of({"a"}, {"a"}), {true, true, false, true, false});
  const NetworkColumn& a = encoder.networks[0].columns[0];
  EXPECT_DOUBLE_EQ(a.scaling.mean, 3.0);
  EXPECT_DOUBLE_EQ(a.scaling.sd, std::sqrt(14.0 / 3.0));
  EXPECT_FALSE(a.has_gaps);  // the gap is in a row that is not in use
  EXPECT_DOUBLE_EQ(encoder.target_scaling.mean, 4.0);
  EXPECT_DOUBLE_EQ(encoder.target_scaling.sd, std::sqrt(32.0 / 3.0));
  const KernelColumn& k = encoder.kernel_columns[0];
  EXPECT_DOUBLE_EQ(k.fill, 3.0);
  EXPECT_EQ(k.summary.low, 1.0);
  EXPECT_EQ(k.summary.high, 6.0);
  EXPECT_DOUBLE_EQ(k.summary.centre, 3.0);
  EXPECT_DOUBLE_EQ(k.summary.root_mean_square, std::sqrt(14.0 / 3.0));
  EXPECT_EQ(k.summary.rows, 3);
}

// The mean of many equal numbers is another number; a centre beside them would make a tiny scale of nothing.
TEST(Encoder, AConstantColumnIsItsOwnCentre) {
  const Table table =
      table_of({column_of("a", std::vector<double>(7, 300.1)), column_of("y", {4.0, 8.0, 500.0, 0.0, 1.0, 2.0, 3.0})});
  const Encoder encoder = fit_encoder(table, plan_of({"a"}, {}), std::vector<bool>(7, true));
  EXPECT_EQ(encoder.kernel_columns[0].summary.centre, 300.1);
  EXPECT_EQ(encoder.kernel_columns[0].summary.root_mean_square, 0.0);
}

// Many rows go through blocks that workers share out: against sums in long double, and the same for any number of them.
TEST(Encoder, ScalesManyRowsAsFew) {
  const std::size_t rows = 70'001;
  std::vector<double> a, y;
  Bools use;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto number = static_cast<double>(i);
    a.push_back(i % 7 == 3 ? kGap : 1e6 + 3.0 * std::sin(number));
    y.push_back(std::exp(std::cos(0.7 * number)));
    use.push_back(i % 5 != 1);
  }
  const auto check = [&](const std::vector<double>& values, bool of_logarithm, const Scaling& found) {
    long double count = 0.0L, sum = 0.0L, squares = 0.0L;
    const auto each = [&](auto visit) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (use[i] && !std::isnan(values[i])) visit(of_logarithm ? std::log(values[i]) : values[i]);
      }
    };
    each([&](long double value) { ++count, sum += value; });
    each([&](long double value) { squares += (value - sum / count) * (value - sum / count); });
    EXPECT_NEAR(found.mean / static_cast<double>(sum / count), 1.0, 1e-14);
    EXPECT_NEAR(found.sd / static_cast<double>(std::sqrt(squares / count)), 1.0, 1e-9);  // 3 beside 1e6
  };
  const Table table = table_of({column_of("a", a), column_of("y", y)});
  EncoderPlan plan = plan_of({}, {"a"});
  plan.transform = find_transform("log");
  const Encoder encoder = fit_encoder(table, plan, use);
  const Scaling& scaling = encoder.networks[0].columns[0].scaling;
  check(a, false, scaling);
  check(y, true, encoder.target_scaling);
  EXPECT_TRUE(encoder.networks[0].columns[0].has_gaps);

  EncodingNotes notes;
  const Dataset alone = encode(table, encoder, true, &notes);
  ASSERT_EQ(alone.networks[0].sizes(), (at::IntArrayRef{static_cast<std::int64_t>(rows), 2}));
  for (const std::int64_t i : {0, 3, 4095, 4096, 8191, 65'537, 70'000}) {
    const bool gap = std::isnan(a[static_cast<std::size_t>(i)]);
    const double scaled = gap ? 0.0 : (a[static_cast<std::size_t>(i)] - scaling.mean) / scaling.sd;
    EXPECT_FLOAT_EQ(alone.networks[0][i][0].item<float>(), static_cast<float>(scaled)) << i;
    EXPECT_EQ(alone.networks[0][i][1].item<float>(), gap ? 1.0f : 0.0f) << i;
  }
  EXPECT_EQ(notes.filled.at("a"), 10'000);  // of 70,001 every seventh from the fourth on

  set_workers(2);
  const Encoder shared = fit_encoder(table, plan, use);
  EncodingNotes shared_notes;
  const Dataset together = encode(table, shared, true, &shared_notes);
  set_workers(1);
  EXPECT_EQ(shared.networks[0].columns[0].scaling.mean, scaling.mean);
  EXPECT_EQ(shared.networks[0].columns[0].scaling.sd, scaling.sd);
  EXPECT_TRUE(at::equal(together.networks[0], alone.networks[0]));
  EXPECT_EQ(shared_notes.filled, notes.filled);
}

TEST(Encoder, ValuesOfOtherRowsDoNotMatter) {
  Table table = mixed_table(40, 1);
  Bools use(40, true);
  for (std::size_t i = 25; i < 40; ++i) use[i] = false;
  EncoderPlan plan = plan_of({"day", "b", "site", "floor"}, {"a", "site", "day"});
  plan.level_columns = {"site", "floor"};
  const Encoder before = fit_encoder(table, plan, use);
  for (std::size_t i = 25; i < 40; ++i) {
    for (const std::size_t c : {0, 1, 2, 4, 5}) set_value(table.columns[c], i, 1e6 + static_cast<double>(i));
  }
  const Encoder after = fit_encoder(table, plan, use);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(before.kernel_columns[c].fill, after.kernel_columns[c].fill);
    EXPECT_EQ(before.kernel_columns[c].levels, after.kernel_columns[c].levels);
    EXPECT_EQ(before.kernel_columns[c].summary.high, after.kernel_columns[c].summary.high);
    EXPECT_EQ(before.kernel_columns[c].summary.root_mean_square, after.kernel_columns[c].summary.root_mean_square);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(before.networks[0].columns[c].scaling.mean, after.networks[0].columns[c].scaling.mean);
    EXPECT_EQ(before.networks[0].columns[c].scaling.sd, after.networks[0].columns[c].scaling.sd);
    EXPECT_EQ(before.networks[0].columns[c].info, after.networks[0].columns[c].info);
  }
  EXPECT_EQ(before.target_scaling.mean, after.target_scaling.mean);
  EXPECT_EQ(before.target_scaling.sd, after.target_scaling.sd);
}

TEST(Encoder, StandardisesInFloatForNetworksAndKeepsDoublesForKernels) {
  const Table table =
      table_of({column_of("a", {1.0, 2.0, 6.0}), column_of("t", {17000.123456789, 17001.0, 17002.5}, ColumnType::time),
                column_of("y", {4.0, 8.0, 0.0})});
  const Encoder encoder = fit_encoder(table, plan_of({"t", "a"}, {"a"}), {true, true, true});
  const Dataset rows = encode(table, encoder, true);
  EXPECT_EQ(rows.x.scalar_type(), at::kDouble);
  EXPECT_EQ(rows.networks.at(0).scalar_type(), at::kFloat);
  EXPECT_EQ(numbers(rows.x), (std::vector<double>{17000.123456789, 1.0, 17001.0, 2.0, 17002.5, 6.0}));
  const double sd = std::sqrt(14.0 / 3.0);
  const std::vector<double> a = numbers(rows.networks[0]);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(static_cast<float>(a[i]), static_cast<float>((table.columns[0].values[i] - 3.0) / sd));
    EXPECT_NEAR(numbers(rows.y)[i], (table.columns[2].values[i] - 4.0) / std::sqrt(32.0 / 3.0), 1e-15);
  }
}

TEST(Encoder, ConstantColumnsKeepTheirScale) {
  const Table table = table_of({column_of("a", {0.1, 0.1, 0.1}), column_of("y", {1.0, 2.0, 4.0})});
  const Encoder encoder = fit_encoder(table, plan_of({}, {"a"}), {true, true, true});
  EXPECT_EQ(encoder.networks[0].columns[0].scaling.sd, 1.0);
  EXPECT_LT(encode(table, encoder, false).networks[0].abs().max().item<float>(), 1e-12f);
}

// A gap is the mean, that is zero, with a further number where training rows have gaps.
TEST(Encoder, GapsOfNetworks) {
  const Table table = table_of({column_of("a", {1.0, kGap, 3.0, 5.0}), column_of("b", {1.0, 2.0, 3.0, kGap}),
                                column_of("y", {1.0, 2.0, 3.0, 5.0})});
  const Encoder encoder = fit_encoder(table, plan_of({}, {"a", "b"}), {true, true, true, false});
  EXPECT_EQ(encoder.networks[0].width(), 3);
  EncodingNotes notes;
  const at::Tensor inputs = encode(table, encoder, true, &notes).networks[0];
  ASSERT_EQ(inputs.sizes(), (std::vector<std::int64_t>{4, 3}));
  const float third = static_cast<float>(std::sqrt(1.5));
  const std::vector<float> expected = {-1.0f, 0.0f, -third, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f, third, 3.0f, 0.0f, 0.0f};
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_FLOAT_EQ(inputs.data_ptr<float>()[i], expected[static_cast<std::size_t>(i)]);
  EXPECT_EQ(notes.filled, (std::map<std::string, std::int64_t>{{"a", 1}, {"b", 1}}));
  EXPECT_EQ(notes.with_gaps, 0);
}

// Scores from scipy: norm.ppf((rankdata(a) - 1/2) / 8), with mean 0.0150710428274258 and sd 0.888301977658821.
TEST(Encoder, RanksAreNormalScores) {
  const Table table = table_of({column_of("a", {3.0, 1.0, 4.0, 1.0, 5.0, 900.0, 2.0, 6.0, 1e9, 4.5, -7.0, kGap}),
                                column_of("y", {1.0, 2.0, 3.0, 5.0, 4.0, 8.0, 6.0, 7.0, 1.0, 1.0, 1.0, 1.0})});
  Bools use(12, true);
  for (const std::size_t i : {8u, 9u, 10u, 11u}) use[i] = false;
  EncoderPlan plan = plan_of({}, {});
  plan.networks = {{.columns = {}, .ranked = {"a"}}};
  EncodingNotes notes;
  const std::vector<double> found = numbers(encode(table, fit_encoder(table, plan, use), true, &notes).networks[0]);
  // beyond the values seen as the last of them, between two of them on the line, a gap is the mean
  const std::vector<double> scores = {-0.157310684610171, -1.15034938037601,
                                      0.157310684610171,  -1.15034938037601,
                                      0.48877641111467,   1.53412054435255,
                                      -0.48877641111467,  0.887146559018876,
                                      1.53412054435255,   (0.157310684610171 + 0.48877641111467) / 2.0,
                                      -1.15034938037601,  0.0150710428274258};
  ASSERT_EQ(found.size(), scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_NEAR(found[i], (scores[i] - 0.0150710428274258) / 0.888301977658821, 1e-6) << i;
  }
  EXPECT_EQ(notes.filled, (std::map<std::string, std::int64_t>{{"a", 1}}));
  // the same where every network reads ranks
  EncoderPlan all = plan_of({}, {"a"});
  all.ranked = true;
  EXPECT_EQ(numbers(encode(table, fit_encoder(table, all, use), false).networks[0]), found);
}

// Against the distribution that the values come from: the score of x = exp(z) is z.
TEST(Encoder, RanksOfManyRows) {
  Random random(5);
  std::vector<double> values, y;
  for (int i = 0; i < 100'000; ++i) values.push_back(std::exp(random.normal())), y.push_back(i % 7);
  EncoderPlan plan = plan_of({}, {});
  plan.networks = {{.columns = {}, .ranked = {"a"}}};
  const Table table = table_of({column_of("a", values), column_of("y", y)});
  const Encoder encoder = fit_encoder(table, plan, Bools(values.size(), true));
  const NormalScores& ranks = *encoder.networks[0].columns[0].ranks;
  EXPECT_LE(ranks.values.size(), 257u);
  for (const double z : {-1.9, -1.0, -0.2, 0.0, 0.7, 1.8}) EXPECT_NEAR(ranks.of(std::exp(z)), z, 0.03) << z;
}

TEST(Encoder, OnlyNumbersHaveRanks) {
  const Table table = table_of({column_of("s", {0.0, 1.0, 0.0}, ColumnType::category, {"A", "B"}),
                                column_of("t", {1.0, 2.0, 3.0}, ColumnType::time), column_of("y", {1.0, 2.0, 4.0})});
  EncoderPlan plan = plan_of({}, {});
  plan.networks = {{.columns = {}, .ranked = {"s"}}};
  EXPECT_EQ(refusal(table, plan, {true, true, true}),
            "column \"s\" holds category values; rank(x) takes columns of numbers");
  plan.networks = {{.columns = {}, .ranked = {"t"}}};
  EXPECT_EQ(refusal(table, plan, {true, true, true}),
            "column \"t\" holds time values; rank(x) takes columns of numbers");
}

TEST(Encoder, CategoriesAreOneNumberForEachLevelSeen) {
  const Table table =
      table_of({column_of("s", {0.0, 2.0, 0.0, 3.0, kGap, 1.0}, ColumnType::category, {"A", "B", "C", "D"}),
                column_of("y", {1.0, 2.0, 3.0, 5.0, 7.0, 4.0})});
  const Encoder encoder = fit_encoder(table, plan_of({}, {"s"}), {true, true, true, true, true, false});
  EXPECT_EQ(encoder.networks[0].columns[0].info.levels, (Names{"A", "C", "D"}));
  EncodingNotes notes;
  EXPECT_EQ(numbers(encode(table, encoder, true, &notes).networks[0]),
            (std::vector<double>{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(notes.unseen, (std::map<std::string, std::int64_t>{{"s", 1}}));
  EXPECT_EQ(notes.filled, (std::map<std::string, std::int64_t>{{"s", 1}}));

  // Another table, with its own order of levels; -1 is what the reader makes of a level it was not told of.
  const Table other = table_of({column_of("s", {0.0, 1.0, -1.0}, ColumnType::category, {"D", "A"})});
  EncodingNotes other_notes;
  EXPECT_EQ(numbers(encode(other, encoder, false, &other_notes).networks[0]),
            (std::vector<double>{0, 0, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(other_notes.unseen.at("s"), 1);
}

TEST(Encoder, LevelsForCategoricalKernels) {
  const Table table =
      table_of({column_of("s", {2.0, 0.0, 2.0, 1.0}, ColumnType::category, {"A", "B", "C"}),
                column_of("n", {7.0, 3.0, 3.0, 10.0}, ColumnType::integer), column_of("y", {1.0, 2.0, 3.0, 5.0})});
  EncoderPlan plan = plan_of({"s", "n"}, {});
  plan.level_columns = {"s", "n"};
  const Encoder encoder = fit_encoder(table, plan, {true, true, true, false});
  EXPECT_EQ(encoder.kernel_columns[0].levels, (Names{"A", "C"}));
  EXPECT_EQ(encoder.kernel_columns[1].levels, (Names{"3", "7"}));
  EXPECT_EQ(encoder.kernel_columns[0].summary.levels, 2);
  const Table known = some_rows(table, {0, 1, 2});
  EXPECT_EQ(numbers(encode(known, encoder, true).x), (std::vector<double>{1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(message_of<DataError>([&] { encode(table, encoder, true); }),
            "column \"s\": row 4 has a level (B) that no training row has; categorical() knows 2 levels");
  const Table tenth =
      some_rows(table_of({column_of("s", {0.0}, ColumnType::category, {"A"}), column_of("n", {10.0})}), {0});
  EXPECT_EQ(message_of<DataError>([&] { encode(tenth, encoder, false); }),
            "column \"n\": row 1 has a level (10) that no training row has; categorical() knows 2 levels");
}

TEST(Encoder, ATooLongListOfLevelsIsRefused) {
  std::vector<double> many(1001), y(1001);
  for (std::size_t i = 0; i < 1001; ++i) many[i] = y[i] = static_cast<double>(i);
  EncoderPlan plan = plan_of({"n"}, {});
  plan.level_columns = {"n"};
  const Table table = table_of({column_of("n", many), column_of("y", y)});
  EXPECT_EQ(refusal(table, plan, Bools(1001, true)),
            "column \"n\" has 1001 different values; categorical takes at most 1000 levels");
  Bools use(1001, true);
  use[17] = false;
  EXPECT_EQ(fit_encoder(table, plan, use).kernel_columns[0].levels.size(), 1000u);
}

TEST(Encoder, UnitsAreDaysForTimesElseAsDeclared) {
  const Table table = mixed_table(10, 2);
  EncoderPlan plan = plan_of({"day", "a", "b"}, {});
  plan.units = {{"day", "h"}, {"a", "km"}};
  const Encoder encoder = fit_encoder(table, plan, Bools(10, true));
  EXPECT_EQ(encoder.kernel_columns[0].unit, "d");
  EXPECT_EQ(encoder.kernel_columns[0].summary.unit, "d");
  EXPECT_EQ(encoder.kernel_columns[1].unit, "km");
  EXPECT_EQ(encoder.kernel_columns[2].unit, "");
}

class KernelGaps : public testing::Test {
 protected:
  const Table table_ =
      table_of({column_of("t", {1.0, kGap, 3.0, kGap, 5.0, kGap}), column_of("y", {1.0, 2.0, 4.0, 7.0, kGap, kGap})});
  Encoder fitted(Gaps gaps) {
    EncoderPlan plan = plan_of({"t"}, {});
    plan.gaps = gaps;
    return fit_encoder(table_, plan, {true, true, true, false, false, false});
  }
};

TEST_F(KernelGaps, AreRefusedAmongTheRowsThatCount) {
  const Encoder encoder = fitted(Gaps::refuse);
  EXPECT_EQ(message_of<DataError>([&] { encode(table_, encoder, true); }),
            "column \"t\": 2 rows have no value (the first is row 2), and a kernel needs every value; use gaps=drop or "
            "gaps=fill");
  EXPECT_EQ(message_of<DataError>([&] {
              encode(some_rows(table_, {0, 3}), encoder, false);
            }),
            "column \"t\": 1 row has no value (the first is row 2), and a kernel needs every value; use gaps=drop or "
            "gaps=fill");
  // A row without a target goes before anybody asks what else it lacks.
  EXPECT_EQ(encode(some_rows(table_, {0, 5, 2}), encoder, true).rows, (std::vector<std::int64_t>{0, 2}));
}

TEST_F(KernelGaps, AreDroppedWithTheirRows) {
  EncodingNotes notes;
  const Dataset rows = encode(table_, fitted(Gaps::drop), true, &notes);
  EXPECT_EQ(rows.rows, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(numbers(rows.x), (std::vector<double>{1.0, 3.0}));
  EXPECT_EQ(notes.with_gaps, 2);
  EXPECT_EQ(notes.without_target, 2);
  EXPECT_TRUE(notes.filled.empty());
}

TEST_F(KernelGaps, StayAsRowsToPredict) {
  EncodingNotes notes;
  const Dataset rows = encode(table_, fitted(Gaps::drop), false, &notes);
  EXPECT_EQ(rows.size(), 6);
  EXPECT_FALSE(rows.y.defined());
  EXPECT_TRUE(rows.x[1].isnan().item<bool>());
  EXPECT_EQ(rows.x[4].item<double>(), 5.0);
  EXPECT_EQ(notes.with_gaps, 3);
  EXPECT_EQ(notes.without_target, 0);
}

TEST_F(KernelGaps, AreFilledWithTheMeanOfTheTrainingRows) {
  EncodingNotes notes;
  const Dataset rows = encode(table_, fitted(Gaps::fill), true, &notes);
  EXPECT_EQ(numbers(rows.x), (std::vector<double>{1.0, 2.0, 3.0, 2.0}));
  EXPECT_EQ(notes.filled, (std::map<std::string, std::int64_t>{{"t", 2}}));
  EXPECT_EQ(notes.with_gaps, 0);
}

TEST(Encoder, LogTarget) {
  const Table table =
      table_of({column_of("a", {1.0, 2.0, 3.0, 4.0}), column_of("y", {1.0, std::exp(2.0), kGap, std::exp(6.0)})});
  EncoderPlan plan = plan_of({}, {"a"});
  plan.transform = find_transform("log");
  const Encoder encoder = fit_encoder(table, plan, Bools(4, true));
  EXPECT_NEAR(encoder.target_scaling.mean, 8.0 / 3.0, 1e-14);
  EXPECT_NEAR(encoder.target_scaling.sd, std::sqrt((64.0 + 4.0 + 100.0) / 27.0), 1e-14);
  const Dataset rows = encode(table, encoder, true);
  EXPECT_EQ(rows.rows, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_NEAR(rows.y[2].item<double>(), (6.0 - 8.0 / 3.0) / encoder.target_scaling.sd, 1e-14);
  Table zero = table;
  set_value(zero.columns[1], 3, 0.0);
  const std::string message = "the target, column \"y\", has the value 0 in row 4; log() takes positive numbers only";
  EXPECT_EQ(refusal(zero, plan, Bools(4, true)), message);
  EXPECT_EQ(message_of<DataError>([&] { encode(zero, encoder, true); }), message);
  EXPECT_EQ(encode(zero, encoder, false).size(), 4);
}

TEST(Encoder, RefusesTargetsThatTeachNothing) {
  const auto with = [](std::vector<double> y) {
    const std::vector<double> a(y.size(), 1.0);
    return table_of({column_of("a", a), column_of("y", std::move(y))});
  };
  const EncoderPlan plan = plan_of({}, {"a"});
  EXPECT_EQ(refusal(with({0.1, 0.1, 0.1}), plan, Bools(3, true)),
            "the target, column \"y\", is 0.1 in every training row; there is nothing to learn");
  EXPECT_EQ(refusal(with({2.5, 2.5, 7.0}), plan, {true, true, false}),
            "the target, column \"y\", is 2.5 in every training row; there is nothing to learn");
  EXPECT_EQ(refusal(with({2.5}), plan, {true}),
            "the target, column \"y\", has 1 value in the training rows; expected at least 2 rows to learn from");
  EXPECT_EQ(refusal(with({}), plan, {}),
            "the target, column \"y\", has 0 values in the training rows; expected at least 2 rows to learn from");
  EXPECT_EQ(refusal(with({2.5, kGap, 3.0}), plan, {true, true, false}),
            "the target, column \"y\", has 1 value in the training rows; expected at least 2 rows to learn from");
  const Table category = table_of({column_of("y", {0.0, 1.0}, ColumnType::category, {"u", "v"})});
  EXPECT_EQ(refusal(category, plan_of({}, {}), {true, true}),
            "the target, column \"y\", holds text; a number is needed, or likelihood=categorical");
}

TEST(Encoder, RefusesColumnsThatAreNotNumbers) {
  const Table table =
      table_of({text_column("path", {"a.png", "b.png"}), column_of("y", {1.0, 2.0}),
                column_of("s", {0.0, 1.0}, ColumnType::category, {"u", "v"}), column_of("empty", {kGap, kGap})});
  const Bools use = {true, true};
  EXPECT_EQ(refusal(table, plan_of({"path"}, {}), use),
            "column \"path\" holds text; a kernel takes numbers, times or categories (declare it with "
            "types=\"path=category\")");
  EXPECT_EQ(refusal(table, plan_of({}, {"path"}), use),
            "column \"path\" holds text; a network takes numbers, times or categories (declare it with "
            "types=\"path=category\")");
  EXPECT_EQ(refusal(table, plan_of({"s"}, {}), use),
            "column \"s\" holds categories (u, ...); only categorical(s) and networks read them");
  EXPECT_EQ(refusal(table, plan_of({"empty"}, {}), use), "column \"empty\" has no values in the training rows");
  EncoderPlan levels = plan_of({"empty"}, {});
  levels.level_columns = {"empty"};
  EXPECT_EQ(refusal(table, levels, use), "column \"empty\" has no values in the training rows");
  EXPECT_EQ(refusal(table, plan_of({"emty"}, {}), use), "no column named \"emty\"; did you mean \"empty\"?");
}

TEST(Encoder, RefusesNamesThatCannotBeKept) {
  const std::string message = "its name or a level is not UTF-8; save the table as UTF-8";
  const Table name = table_of({column_of("Stra\xDF"
                                         "e",
                                         {1.0, 2.0}),
                               column_of("y", {1.0, 2.0})});
  EXPECT_EQ(refusal(name,
                    plan_of({}, {"Stra\xDF"
                                 "e"}),
                    {true, true}),
            "column \"Stra\xDF"
            "e\": " +
                message);
  EXPECT_EQ(refusal(name,
                    plan_of({"Stra\xDF"
                             "e"},
                            {}),
                    {true, true}),
            "column \"Stra\xDF"
            "e\": " +
                message);
  const Table level =
      table_of({column_of("s", {0.0, 1.0}, ColumnType::category, {"K\xF6ln", "u"}), column_of("y", {1.0, 2.0})});
  EXPECT_EQ(refusal(level, plan_of({}, {"s"}), {true, true}), "column \"s\": " + message);
}

TEST(Encoder, RefusesAnotherKindOfColumn) {
  const Table table = mixed_table(10, 3);
  const Encoder encoder = fit_encoder(table, plan_of({"day"}, {"site", "floor"}), Bools(10, true));
  Table other = table;
  other.columns[4].info.type = ColumnType::number;  // a fraction among whole numbers is no other kind
  EXPECT_EQ(encode(other, encoder, false).size(), 10);
  other.columns[3].info.type = ColumnType::number;
  EXPECT_EQ(message_of<DataError>([&] { encode(other, encoder, false); }),
            "column \"site\" holds number values; the model was trained on category values");
  other.columns.erase(other.columns.begin());
  EXPECT_EQ(message_of<DataError>([&] { encode(other, encoder, false); }).rfind("no column named \"day\"", 0), 0u);
}

TEST(Encoder, ListsWhatItReadsOnce) {
  const Table table = mixed_table(10, 4);
  EncoderPlan plan = plan_of({"day", "a"}, {"a", "site"});
  plan.networks.push_back({{"b", "day"}});
  const Encoder encoder = fit_encoder(table, plan, Bools(10, true));
  Names names;
  for (const ColumnInfo& info : encoder.columns()) names.push_back(info.name);
  EXPECT_EQ(names, (Names{"day", "a", "site", "b"}));
  EXPECT_EQ(encoder.columns()[0].time_format, "%Y-%m-%d");
  EXPECT_EQ(encoder.networks[1].width(), 2);
}

TEST(Dataset, SelectsRowsInTheOrderAsked) {
  Table table = mixed_table(8, 5);
  set_value(table.columns[5], 2, kGap);
  const Encoder encoder = fit_encoder(table, plan_of({"day"}, {"a", "site"}), Bools(8, true));
  const Dataset all = encode(table, encoder, true);
  const Dataset part = all.select(at::tensor({5, 2, 2}, at::kLong));
  EXPECT_EQ(part.rows, (std::vector<std::int64_t>{6, 3, 3}));
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t from = i == 0 ? 5 : 2;
    EXPECT_TRUE(part.x[i].equal(all.x[from]));
    EXPECT_TRUE(part.networks[0][i].equal(all.networks[0][from]));
    EXPECT_TRUE(part.y[i].equal(all.y[from]));
    EXPECT_EQ(part.x[i].item<double>(),
              table.columns[0].values[static_cast<std::size_t>(part.rows[static_cast<std::size_t>(i)])]);
  }
  EXPECT_EQ(encode(table, encoder, false).select(at::empty({0}, at::kLong)).size(), 0);
}

TEST(DrawRows, AreSomeOfThemInOrder) {
  EXPECT_TRUE(draw_rows(5, 5, 1).equal(at::arange(5, at::kLong)));
  EXPECT_TRUE(draw_rows(5, 9, 1).equal(at::arange(5, at::kLong)));
  EXPECT_EQ(draw_rows(5, 0, 1).size(0), 0);
  // Each row is drawn as often as any other: 2000 draws of 3 of 10, five standard errors.
  std::vector<double> counts(10, 0.0);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const at::Tensor drawn = draw_rows(10, 3, seed);
    ASSERT_EQ(drawn.size(0), 3);
    EXPECT_TRUE((drawn.diff() > 0).all().item<bool>());
    for (std::int64_t i = 0; i < 3; ++i) counts[static_cast<std::size_t>(drawn[i].item<std::int64_t>())] += 1.0;
  }
  for (const double count : counts) EXPECT_NEAR(count / 2000.0, 0.3, 5.0 * std::sqrt(0.3 * 0.7 / 2000.0));
  EXPECT_TRUE(draw_rows(1000, 40, 7).equal(draw_rows(1000, 40, 7)));
  EXPECT_FALSE(draw_rows(1000, 40, 7).equal(draw_rows(1000, 40, 8)));
}

}  // namespace
}  // namespace ick
