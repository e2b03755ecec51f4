#include "ick/evaluate/scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"

namespace ick {
namespace {

UnseenRows three_numbers() {
  UnseenRows of;
  of.rows = {3, 5, 8};
  of.weight = {1.0, 2.0, 1.0};
  of.inside = {true, false, true};
  of.target = {1.0, 4.0, 2.5}, of.mean = {1.5, 2.0, 2.0}, of.sd = {1.0, 1.0, 2.0};
  of.lower = {0.0, 1.0, -1.0}, of.upper = {3.0, 3.5, 5.0};
  of.nlpd = {0.8, 2.9, 1.4}, of.crps = {0.2, 1.1, 0.5};
  return of;
}

// By hand: weights 1, 2, 1.
TEST(FoldScores, AreWeightedMeans) {
  const ScoreValues s = scores_of(three_numbers());
  EXPECT_NEAR(s.at("rmse"), std::sqrt((0.25 + 2 * 4.0 + 0.25) / 4), 1e-14);
  EXPECT_NEAR(s.at("mae"), (0.5 + 2 * 2.0 + 0.5) / 4, 1e-14);
  EXPECT_NEAR(s.at("nlpd"), (0.8 + 2 * 2.9 + 1.4) / 4, 1e-14);
  EXPECT_NEAR(s.at("crps"), (0.2 + 2 * 1.1 + 0.5) / 4, 1e-14);
  EXPECT_NEAR(s.at("coverage"), 2.0 / 4, 1e-14);
  EXPECT_NEAR(s.at("width"), (3.0 + 2 * 2.5 + 6.0) / 4, 1e-14);
  // mean 2.875, squares (1.875^2 + 2 * 1.125^2 + .375^2) / 4 = 1.546875
  EXPECT_NEAR(s.at("r2"), 1.0 - 2.125 / 1.546875, 1e-14);
}

TEST(FoldScores, OfSomeRows) {
  const std::vector<std::int64_t> some = {5, 6, 8};
  const ScoreValues s = scores_of(three_numbers(), &some);
  EXPECT_NEAR(s.at("mae"), (2 * 2.0 + 0.5) / 3, 1e-14);
  const std::vector<std::int64_t> none = {4};
  EXPECT_TRUE(std::isnan(scores_of(three_numbers(), &none).at("rmse")));
  const std::vector<std::int64_t> one = {5};
  EXPECT_TRUE(std::isnan(scores_of(three_numbers(), &one).at("r2")));
}

TEST(FoldScores, OfClasses) {
  UnseenRows of;
  of.rows = {0, 1};
  of.weight = {1.0, 1.0};
  of.inside = {true, true};
  of.classes = {"a", "b", "c"};
  of.seen = {0, 2};
  of.probability = {{0.6, 0.5}, {0.3, 0.2}, {0.1, 0.3}};
  const ScoreValues s = scores_of(of);
  EXPECT_NEAR(s.at("accuracy"), 0.5, 1e-14);
  EXPECT_NEAR(s.at("log_loss"), -0.5 * std::log(0.6 * 0.3), 1e-14);
  EXPECT_NEAR(s.at("brier"), 0.5 * (0.16 + 0.09 + 0.01 + 0.25 + 0.04 + 0.49), 1e-14);
  EXPECT_FALSE(s.contains("rmse"));
}

// Values 2, 4, 9: mean 5, s^2 = (9 + 1 + 16) / 2 = 13; three folds with n_test / n_train = 1 / 2.
TEST(FoldScores, StandardErrorIsThatOfNadeauAndBengio) {
  const std::vector<double> values = {2.0, 4.0, 9.0};
  const Estimate found = mean_over_folds(values, 0.5);
  EXPECT_NEAR(found.mean, 5.0, 1e-14);
  EXPECT_NEAR(found.error, std::sqrt((1.0 / 3.0 + 0.5) * 13.0), 1e-14);
  EXPECT_TRUE(std::isnan(mean_over_folds(std::vector<double>{1.0}, 0.5).error));
  EXPECT_TRUE(std::isnan(mean_over_folds(std::vector<double>{1.0, std::nan("")}, 0.5).mean));
}

// scipy.stats.t.ppf
TEST(FoldScores, StudentQuantiles) {
  EXPECT_NEAR(student_quantile(0.975, 4), 2.7764451051977987, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706204736432095, 1e-8);
  EXPECT_NEAR(student_quantile(0.95, 9), 1.8331129326536335, 1e-9);
  EXPECT_NEAR(student_quantile(0.025, 4), -2.7764451051977987, 1e-9);
  EXPECT_NEAR(student_quantile(0.5, 3), 0.0, 1e-9);
}

TEST(FoldScores, AreFoundByName) {
  EXPECT_EQ(score_kind("log_loss").label, "log loss");
  EXPECT_THROW(score_kind("rsme"), UsageError);
}

}  // namespace
}  // namespace ick
