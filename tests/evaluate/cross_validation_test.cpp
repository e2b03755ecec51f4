#include "ick/evaluate/cross_validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ick/base/seed.h"
#include "ick/fit/fit.h"
#include "ick/ick.h"
#include "support/message.h"
#include "support/table_case.h"

namespace ick {
namespace {

constexpr const char* kSeasons = "y ~ periodic(day, period=91) + linear(b)";

Table seasons(std::int64_t rows, std::uint64_t seed = 11) {
  Random random(seed_for(seed, "seasons"));
  std::vector<double> day, b, site, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    day.push_back(17000.0 + static_cast<double>(i));
    b.push_back(random.normal());
    site.push_back(static_cast<double>(random.below(4)));
    y.push_back(2.0 * std::sin(day.back() / 14.5) + 0.5 * b.back() + 0.3 * random.normal());
  }
  return table_of({column_of("day", day, ColumnType::time), column_of("b", b),
                   column_of("site", site, ColumnType::category, {"n", "e", "s", "w"}), column_of("y", y)});
}

FoldOptions folds_by(const std::string& rule, std::int64_t folds) {
  FoldOptions options;
  options.folds = folds;
  options.by = parse_fold_rule(rule);
  return options;
}

// A fold by hand: a fit of the training rows, validation rows set apart alike, scores of the test rows.
TEST(CrossValidation, IsFittingByHand) {
  const Table table = seasons(160);
  const CrossValidation found = cross_validate(table, kSeasons, {}, {}, folds_by("random", 3));
  ASSERT_EQ(found.folds.size(), 3u);
  std::vector<double> rmse;
  for (std::size_t k = 0; k < 3; ++k) {
    const Fold& fold = found.plan.folds[k];
    FitOptions options;
    options.likelihood = "gaussian";
    options.validation = parse_split("random=20%");
    const Fitted fitted = fit(select_rows(table, fold.training), kSeasons, options);
    const Evaluation expected = fitted->evaluate(select_rows(table, fold.test));
    const ScoreValues& scores = found.scores[k];
    EXPECT_NEAR(scores.at("rmse"), expected.scores.rmse, 1e-12);
    EXPECT_NEAR(scores.at("mae"), expected.scores.mae, 1e-12);
    EXPECT_NEAR(scores.at("r2"), expected.scores.r2, 1e-12);
    EXPECT_NEAR(scores.at("nlpd"), expected.scores.nlpd, 1e-12);
    EXPECT_NEAR(scores.at("crps"), expected.scores.crps, 1e-12);
    EXPECT_NEAR(scores.at("coverage"), expected.scores.coverage.at("0.9"), 1e-12);
    EXPECT_NEAR(scores.at("width"), expected.scores.width.at("0.9"), 1e-12);
    EXPECT_EQ(found.folds[k].unseen.rows, fold.test);
    rmse.push_back(expected.scores.rmse);
  }
  EXPECT_NEAR(found.average.at("rmse").mean, (rmse[0] + rmse[1] + rmse[2]) / 3.0, 1e-12);
  EXPECT_GT(found.average.at("rmse").error, 0.0);
}

// No fold predicts better for having seen its own targets: with others in the test rows predictions stay the same.
TEST(CrossValidation, TestRowsAreNotSeen) {
  const Table table = seasons(120);
  const FoldOptions folds = folds_by("future(day)", 2);
  const FoldPlan plan = plan_folds(table, kSeasons, {}, folds);
  const FoldResult before = fit_fold(table, plan_fit_in_folds(table, kSeasons, {}, plan), plan, 0);
  Table other = table;
  std::set<std::int64_t> training(plan.folds[0].training.begin(), plan.folds[0].training.end());
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (!training.contains(i))
      set_value(other.columns[3], static_cast<std::size_t>(i), 7.0 + 0.1 * static_cast<double>(i));
  }
  const FoldResult after = fit_fold(other, plan_fit_in_folds(other, kSeasons, {}, plan), plan, 0);
  EXPECT_EQ(before.unseen.mean, after.unseen.mean);
  EXPECT_EQ(before.unseen.sd, after.unseen.sd);
  EXPECT_EQ(before.unseen.lower, after.unseen.lower);
}

TEST(CrossValidation, DividesAsValidationRowsAreSetApart) {
  const Table table = seasons(120);
  const FoldPlan plan = plan_folds(table, kSeasons);
  EXPECT_EQ(print(plan.rule), "future(day)");
  EXPECT_EQ(plan.reason,
            "as validation rows of the formula: blocked in time, because the formula has a kernel on time");
  EXPECT_NEAR(std::stod(plan.horizon), 119.0 / 10.0, 1e-9);
  FitOptions options;
  options.validation = parse_split("group(site)=25%");
  EXPECT_EQ(print(plan_folds(table, "y ~ linear(b)", options, {4, {}, 0.9}).rule), "group(site)");
}

// What the formula can read does not matter for who is tested, nor for who validates.
TEST(CrossValidation, FoldsAndValidationRowsAreThoseOfTheTable) {
  Table table = seasons(200);
  for (std::size_t i = 0; i < 200; i += 7) set_value(table.columns[1], i, kGap);
  FitOptions options;
  options.gaps = Gaps::drop;
  options.validation = parse_split("random=20%");
  const FoldPlan a = plan_folds(table, "y ~ linear(b)", options, folds_by("random", 4));
  const FoldPlan b = plan_folds(table, "y ~ linear(day)", options, folds_by("random", 4));
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(a.folds[k].test, b.folds[k].test);

  const FitPlan with_gaps = plan_fit(table, parse_formula("y ~ linear(b)"), options);
  const FitPlan without = plan_fit(table, parse_formula("y ~ linear(day)"), options);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    if (i % 7 == 0) {
      EXPECT_FALSE(with_gaps.validation[i] || with_gaps.training[i]);
    } else {
      EXPECT_EQ(with_gaps.validation[i], without.validation[i]) << i;
      seen += with_gaps.validation[i];
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(CrossValidation, HoldoutTakesNoPart) {
  const Table table = seasons(120);
  FitOptions options;
  options.holdout = parse_split("last(day)=25%");
  const FoldPlan plan = plan_folds(table, kSeasons, options, folds_by("random", 3));
  for (const Fold& fold : plan.folds) {
    EXPECT_EQ(fold.test.size(), 30u);
    for (const auto* rows : {&fold.training, &fold.test}) EXPECT_LT(rows->back(), 90);
  }
  ASSERT_EQ(plan.remarks.size(), 1u);
  EXPECT_EQ(plan.remarks[0].text(), "30 rows of the holdout take no part");
}

// A level that only test rows have is not scored; where all have one, the fold says so.
TEST(CrossValidation, UnknownLevelsAreNotScored) {
  Table table = seasons(60);
  for (std::size_t i = 0; i < 60; ++i) set_value(table.columns[2], i, i < 3 ? 3.0 : static_cast<double>(i % 3));
  const std::string formula = "y ~ categorical(site) + linear(b)";
  FoldPlan plan = plan_folds(table, formula, {}, folds_by("time(day)", 3));
  const FoldResult first = fit_fold(table, plan_fit_in_folds(table, formula, {}, plan), plan, 0);
  EXPECT_EQ(first.not_scored, 3);
  EXPECT_EQ(first.unseen.rows.front(), 3);
  EXPECT_EQ(first.unseen.rows.size(), plan.folds[0].test.size() - 3);

  const std::string said =
      message_of<DataError>([&] { cross_validate(table, formula, {}, {}, folds_by("group(site)", 3)); });
  EXPECT_NE(said.find("no row can be scored, because all have a level, or a class, that no training row of the fold"),
            std::string::npos)
      << said;
}

// Classes of whole numbers stay classes in a fold that has seen few of them.
TEST(CrossValidation, LikelihoodIsThatOfTheWholeTable) {
  Table table = seasons(90);
  for (std::size_t i = 0; i < 90; ++i) set_value(table.columns[3], i, static_cast<double>((i * 7) % 3));
  table.columns[3].info.type = ColumnType::integer;
  FitOptions options;
  options.epochs = 3;
  options.members = 1;
  const CrossValidation found = cross_validate(table, "y ~ mlp(b)", options, {}, folds_by("random", 3));
  EXPECT_EQ(found.folds[0].unseen.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_TRUE(found.average.contains("log_loss"));
}

TEST(CrossValidation, ConstantTargetInAFold) {
  Table table = seasons(90);
  for (std::size_t i = 60; i < 90; ++i) set_value(table.columns[3], i, 1.25);
  const CrossValidation found = cross_validate(table, "y ~ linear(b)", {}, {}, folds_by("time(day)", 3));
  EXPECT_TRUE(std::isnan(found.scores[2].at("r2")));
  EXPECT_TRUE(std::isnan(found.average.at("r2").mean));
  EXPECT_TRUE(std::isfinite(found.average.at("rmse").mean));
}

}  // namespace
}  // namespace ick
