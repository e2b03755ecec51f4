#include "suggest/losses.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ick::detail {
namespace {

UnseenRows rows_of(std::vector<double> target, std::vector<double> mean) {
  UnseenRows rows;
  for (std::size_t i = 0; i < target.size(); ++i) rows.rows.push_back(static_cast<std::int64_t>(i));
  rows.weight.assign(target.size(), 1.0);
  rows.inside.assign(target.size(), true);
  rows.target = std::move(target), rows.mean = std::move(mean);
  rows.nlpd = rows.crps = rows.sd = rows.lower = rows.upper = std::vector<double>(rows.target.size(), 1.0);
  return rows;
}

TEST(SuggestLosses, AreWhatScoresAreMeansOf) {
  const UnseenRows rows = rows_of({1.0, 2.0, 4.0}, {1.5, 2.0, 1.0});
  EXPECT_DOUBLE_EQ(score_of(*find_loss("rmse"), rows), std::sqrt((0.25 + 0.0 + 9.0) / 3.0));
  EXPECT_DOUBLE_EQ(score_of(*find_loss("mae"), rows), 3.5 / 3.0);
  for (const char* name : {"rmse", "mae", "nlpd", "crps"}) {
    EXPECT_DOUBLE_EQ(score_of(*find_loss(name), rows), scores_of(rows).at(name)) << name;
  }
  EXPECT_EQ(find_loss("coverage"), nullptr);
}

TEST(SuggestLosses, LogLossOfClasses) {
  UnseenRows rows;
  rows.rows = {0, 1}, rows.weight = {1.0, 1.0}, rows.inside = {true, true};
  rows.classes = {"a", "b"}, rows.seen = {0, 1}, rows.probability = {{0.8, 0.4}, {0.2, 0.6}};
  EXPECT_DOUBLE_EQ(score_of(*find_loss("log_loss"), rows), -0.5 * (std::log(0.8) + std::log(0.6)));
}

// Blocks of one row: the paired t test. Squares 4, 1, 9, 4 against 1, 1, 4, 1: differences 3, 0, 5, 3, mean 2.75,
// variance 4.25, t = 2.75 / sqrt(4.25 / 4) = 2.6679, 3 degrees of freedom: scipy.stats.t.sf has 0.0379132455868.
TEST(SuggestLosses, BlocksOfOneRowAreThePairedTest) {
  const UnseenRows worse = rows_of({0, 0, 0, 0}, {2, 1, 3, 2}), better = rows_of({0, 0, 0, 0}, {1, 1, 2, 1});
  const PairedTest test = paired_test(*find_loss("rmse"), worse, better, {0, 1, 2, 3});
  EXPECT_DOUBLE_EQ(test.mean, 2.75);
  EXPECT_NEAR(test.error, std::sqrt(4.25 / 4.0), 1e-12);
  EXPECT_NEAR(test.p, 0.0379132455868, 1e-6);
  EXPECT_NEAR(paired_test(*find_loss("rmse"), better, worse, {0, 1, 2, 3}).p, 1.0 - 0.0379132455868, 1e-6);
}

// Blocks {0, 1} and {2, 3} of the same: sums 3 and 8, m = 2.75, (3 - 5.5)^2 + (8 - 5.5)^2 = 12.5.
TEST(SuggestLosses, RowsOfABlockCountTogether) {
  const UnseenRows worse = rows_of({0, 0, 0, 0}, {2, 1, 3, 2}), better = rows_of({0, 0, 0, 0}, {1, 1, 2, 1});
  const PairedTest test = paired_test(*find_loss("rmse"), worse, better, {7, 7, 9, 9});
  EXPECT_EQ(test.blocks, 2);
  EXPECT_NEAR(test.error, std::sqrt(2.0 * 12.5) / 4.0, 1e-12);
  EXPECT_NEAR(test.p, 0.5 - std::atan(2.75 / test.error) / M_PI, 1e-9);  // one degree of freedom: Cauchy
}

}  // namespace
}  // namespace ick::detail
