#include "ick/evaluate/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/fit/fit.h"
#include "ick/ick.h"
#include "support/message.h"
#include "support/table_case.h"

namespace ick {
namespace {

using Status = Standing::Status;

FitOptions quick_options() {
  FitOptions options;
  options.epochs = 4;
  options.members = 1;
  return options;
}

FoldOptions few_folds(const std::string& rule, std::int64_t folds) {
  FoldOptions options;
  options.folds = folds;
  options.by = parse_fold_rule(rule);
  return options;
}

// Folds of two rows each, numbered from 0; a candidate is wrong by the same amount in both rows of a fold.
struct Scored {
  ComparisonPlan plan;
  std::vector<CandidateFits> fits;

  explicit Scored(std::int64_t folds, double ratio) {
    plan.score = "rmse";
    plan.folds.ratio = ratio;
    for (std::int64_t k = 0; k < folds; ++k) {
      plan.folds.folds.push_back({"fold " + std::to_string(k + 1), {}, {2 * k, 2 * k + 1}});
    }
  }

  Scored& add(const std::string& label, const std::string& baseline, const std::vector<double>& errors) {
    Candidate candidate;
    candidate.label = candidate.phrase = label, candidate.baseline = baseline;
    candidate.fit.formula = "y ~ " + label;
    plan.candidates.push_back(candidate);
    CandidateFits& own = fits.emplace_back();
    for (std::size_t k = 0; k < errors.size(); ++k) {
      FoldResult& result = own.folds[static_cast<std::int64_t>(k)];
      result.fold = static_cast<std::int64_t>(k);
      result.unseen.rows = plan.folds.folds[k].test;
      result.unseen.weight = {1.0, 1.0}, result.unseen.inside = {true, false};
      result.unseen.target = {0.0, 0.0}, result.unseen.mean = {errors[k], -errors[k]};
      result.unseen.sd = result.unseen.upper = {1.0, 1.0}, result.unseen.lower = {-1.0, -1.0};
      result.unseen.nlpd = result.unseen.crps = {errors[k], errors[k]};
      result.seconds = 2.0, result.parameters = 7;
    }
    return *this;
  }

  Leaderboard summary() const { return summary_of(plan, fits); }
};

const Standing& standing_named(const Leaderboard& all, const std::string& label) {
  for (const Standing& each : all.standings) {
    if (each.candidate.label == label) return each;
  }
  throw UsageError("no candidate " + label);
}

// By hand: differences .2, .1, .3 have mean .2 and variance .01; error^2 = (1/3 + 1/2) .01.
TEST(Leaderboards, DifferencesArePairedAndCorrected) {
  const Leaderboard all = Scored(3, 0.5).add("a", "", {1.2, 2.1, 3.3}).add("b", "", {1.0, 2.0, 3.0}).summary();
  EXPECT_EQ(all.standings[0].candidate.label, "b");
  EXPECT_EQ(all.standings[0].difference.mean, 0.0);
  const Estimate& difference = all.standings[1].difference;
  EXPECT_NEAR(difference.mean, 0.2, 1e-12);
  EXPECT_NEAR(difference.error, std::sqrt((1.0 / 3.0 + 0.5) * 0.01), 1e-12);
  EXPECT_NEAR(all.standings[1].scores.at("rmse").mean, 2.2, 1e-12);
  EXPECT_NEAR(all.standings[1].seconds, 6.0, 1e-12);
  EXPECT_EQ(all.standings[1].parameters, 7);
  EXPECT_EQ(all.verdict, "b predicts better than a: rmse 9.1% lower (standard error 4.1%)");  // .2 / 2.2, .0913 / 2.2
}

TEST(Leaderboards, VerdictNamesTheSimplerOne) {
  const Leaderboard certain =
      Scored(3, 0.5).add("f", "", {1.0, 1.1, 1.2}).add("boosting", "boosting", {2.0, 2.1, 2.3}).summary();
  EXPECT_EQ(certain.verdict.substr(0, 36), "f predicts better than boosting: rms");
  // Mean difference -.1, variance .03: error^2 = .025, and two errors are more than .1.
  const Leaderboard open =
      Scored(3, 0.5).add("f", "", {1.0, 1.0, 1.0}).add("boosting", "boosting", {1.3, 1.0, 1.0}).summary();
  EXPECT_EQ(open.verdict, "f is no better than boosting: rmse 9.1% lower (standard error 14.4%); use boosting");
  const Leaderboard nothing = Scored(3, 0.5)
                                  .add("f", "", {1.0, 1.0, 1.0})
                                  .add("ridge", "ridge", {1.1, 1.1, 1.1})
                                  .add("mean", "mean", {1.3, 1.0, 1.0})
                                  .summary();
  EXPECT_EQ(
      nothing.verdict,
      "nothing here is certain to predict better than the mean; the best, f: rmse 9.1% lower (standard error 14.4%)");
  const Leaderboard two = Scored(3, 0.5)
                              .add("f", "", {1.0, 1.1, 1.2})
                              .add("g", "", {1.3, 1.1, 1.2})
                              .add("ridge", "ridge", {2.0, 2.1, 2.3})
                              .summary();
  EXPECT_EQ(
      two.verdict,
      "f predicts better than ridge: rmse 48.4% lower (standard error 2.5%); f predicts no better than g: rmse 8.3% "
      "lower (standard error 13.2%)");
}

TEST(Leaderboards, TiesWithinOneStandardErrorAreBest) {
  // b - a: .3, 0, 0 with mean .1 and error sqrt(.025) = .158; c - a: .2, .2, .3 with mean .233, error .053
  const Leaderboard all = Scored(3, 0.5)
                              .add("a", "", {1.0, 1.0, 1.0})
                              .add("b", "", {1.3, 1.0, 1.0})
                              .add("c", "", {1.2, 1.2, 1.3})
                              .summary();
  EXPECT_TRUE(all.is_best(standing_named(all, "a")));
  EXPECT_TRUE(all.is_best(standing_named(all, "b")));
  EXPECT_FALSE(all.is_best(standing_named(all, "c")));
}

TEST(Leaderboards, LargerIsBetterForR2) {
  Scored scored = Scored(3, 0.5).add("a", "", {1.2, 2.1, 3.3}).add("b", "", {1.0, 2.0, 3.0});
  for (CandidateFits& each : scored.fits) {
    for (auto& [fold, result] : each.folds) result.unseen.target = {10.0, -10.0};
  }
  scored.plan.score = "r2";
  const Leaderboard all = scored.summary();
  // 1 - (10 - e)^2 / 100 grows with e
  EXPECT_EQ(all.standings[0].candidate.label, "a");
  EXPECT_LT(all.standings[1].difference.mean, 0.0);
  EXPECT_TRUE(all.is_best(all.standings[0]));
}

// A row that one cannot predict counts for none; its neighbour of the fold alone makes the score.
TEST(Leaderboards, RowsThatOneCannotPredictCountForNone) {
  Scored scored = Scored(2, 0.5).add("a", "", {1.0, 1.0}).add("b", "", {2.0, 2.0});
  UnseenRows& of_a = scored.fits[0].folds[0].unseen;
  of_a.mean = {5.0, 1.0};
  UnseenRows& of_b = scored.fits[1].folds[0].unseen;
  of_b.rows = {1}, of_b.weight = {1.0}, of_b.inside = {true}, of_b.target = {0.0}, of_b.mean = {2.0};
  of_b.sd = of_b.upper = {1.0}, of_b.lower = {-1.0}, of_b.nlpd = of_b.crps = {0.0};
  const Leaderboard all = scored.summary();
  EXPECT_EQ(all.not_predicted, 1);
  EXPECT_NEAR(standing_named(all, "a").folds.at(0).at("rmse"), 1.0, 1e-12);
  EXPECT_NEAR(standing_named(all, "b").difference.mean, 1.0, 1e-12);
}

TEST(Leaderboards, OutOfTimeIsComparedOnTheFoldsItFinished) {
  const Leaderboard all =
      Scored(3, 0.5).add("a", "", {1.0, 2.0, 4.0}).add("slow", "", {0.5, 1.0}).add("none", "forest", {}).summary();
  EXPECT_EQ(all.standings[0].candidate.label, "a");
  EXPECT_EQ(all.standings[1].status, Status::out_of_time);
  EXPECT_NEAR(all.standings[1].difference.mean, -0.75, 1e-12);  // of two folds
  EXPECT_FALSE(all.is_best(all.standings[1]));
  EXPECT_TRUE(all.standings[2].folds.empty());
  const Scored none = Scored(3, 0.5).add("a", "", {}).add("mean", "mean", {1.0, 1.0, 1.0});
  EXPECT_NE(message_of<Error>([&] {
              none.summary();
            }).find("budget is too short: no formula has finished one of 3 folds in its share"),
            std::string::npos);
}

TEST(Leaderboards, OneFoldHasNoVerdict) {
  const Leaderboard all = Scored(3, 0.5).add("a", "", {1.0}).add("mean", "mean", {1.5, 1.0, 1.0}).summary();
  EXPECT_EQ(all.standings[1].status, Status::complete);  // on the fold that counts
  EXPECT_NEAR(all.standings[1].difference.mean, 0.5, 1e-12);
  EXPECT_NE(all.verdict.find("one fold was finished"), std::string::npos) << all.verdict;
}

TEST(Leaderboards, WhatFailedIsLastWithItsReason) {
  Scored scored = Scored(2, 0.5).add("a", "", {1.0, 1.0}).add("b", "", {0.1});
  scored.fits[1].failure = "too few rows";
  const Leaderboard all = scored.summary();
  EXPECT_EQ(all.standings[1].status, Status::failed);
  EXPECT_EQ(all.standings[1].failure.text(), "too few rows");
  scored.fits[0].failure = "none at all";
  EXPECT_NE(message_of<DataError>([&] { scored.summary(); }).find("no candidate could be fitted; the first one: none"),
            std::string::npos);
}

// What the clock says is said here: shares, ends, fits that would not end in time.
TEST(TimeBudgets, SharesAreEqual) {
  TimeBudget budget(60.0, 2, 4, 3);  // one of four cannot be fitted
  EXPECT_NEAR(budget.share(), 40.0, 1e-12);
  EXPECT_TRUE(budget.may_begin(0, 0.0));
  budget.begin(0, 0, 0.0);
  EXPECT_TRUE(budget.may_go_on(0, 39.0));
  EXPECT_FALSE(budget.may_go_on(0, 41.0));
  budget.end(0, 15.0, true);
  EXPECT_TRUE(budget.may_begin(0, 15.0));  // 15 + 15 of 40
  budget.begin(4, 0, 15.0);
  EXPECT_FALSE(budget.may_begin(0, 16.0));  // a third would end at 45
  EXPECT_TRUE(budget.may_begin(1, 16.0));
  EXPECT_FALSE(budget.may_begin(1, 60.0));
  budget.end(4, 35.0, false);
  EXPECT_FALSE(budget.may_begin(0, 35.0));  // what was broken off is used up
  TimeBudget kept(60.0, 2, 2, 2);
  kept.add(0, 55.0);  // of an earlier run
  EXPECT_FALSE(kept.may_begin(0, 1.0));
  TimeBudget endless(0.0, 1, 1, 1);
  endless.add(0, 1e9);
  EXPECT_TRUE(endless.may_begin(0, 1e9));
}

// By the public door: the same folds as a cross-validation by itself, and the same numbers.
TEST(Comparing, EachCandidateIsCrossValidated) {
  const Table table = mixed_table(160, 21);
  CompareOptions compare;
  compare.with = "mean,ridge";
  const FoldOptions folds = few_folds("random", 3);
  const std::string one = "y ~ linear(a)", two = "y ~ linear(b) + rbf(a)";
  const Leaderboard all = ick::compare(table, {one, two}, {}, {}, compare, folds);
  ASSERT_EQ(all.standings.size(), 4u);
  FitOptions mean;
  mean.model = "mean";
  const CrossValidation of_one = cross_validate(table, one, {}, {}, folds);
  const CrossValidation of_mean = cross_validate(table, one, mean, {}, folds);
  EXPECT_NEAR(all.find(one)->scores.at("rmse").mean, of_one.average.at("rmse").mean, 1e-12);
  EXPECT_NEAR(all.find(one)->scores.at("nlpd").error, of_one.average.at("nlpd").error, 1e-12);
  EXPECT_NEAR(standing_named(all, "mean").scores.at("rmse").mean, of_mean.average.at("rmse").mean, 1e-12);
  EXPECT_EQ(all.find("y ~ linear(a) + linear(b)"), nullptr);
}

// Validation rows within a fold are those of the table and the seed.
TEST(Comparing, TheSameValidationRowsWhateverTheFormula) {
  const Table table = mixed_table(200, 22);
  const std::vector<std::string> formulas = {"y ~ linear(a)", "y ~ mlp(a, b)", "y ~ categorical(site)"};
  const ComparisonPlan plan =
      plan_comparison(table, formulas, quick_options(), {.with = "none"}, few_folds("random", 4));
  ASSERT_EQ(plan.candidates.size(), 3u);
  const Table part = select_rows(table, plan.folds.folds[1].training);
  std::vector<bool> first;
  for (const Candidate& each : plan.candidates) {
    const FitOptions options = options_in_fold(each.fit.options, plan.folds, 1);
    const FitPlan rows = plan_rows(part, parse_formula(each.fit.formula), options);
    if (first.empty()) first = rows.validation;
    EXPECT_EQ(rows.validation, first);
  }
  EXPECT_GT(count_of(first), 20);
}

TEST(Comparing, OneThatFailsDoesNotStopOthers) {
  const Table table = mixed_table(120, 23);
  CompareOptions compare;
  compare.with = "inverse-distance,mean";
  const Leaderboard all = ick::compare(table, {"y ~ linear(a)", "y ~ rbf(a) + mlp(b, layers=[999999])"},
                                       quick_options(), {}, compare, few_folds("random", 3));
  EXPECT_EQ(standing_named(all, "linear(a)").status, Status::complete);
  EXPECT_EQ(standing_named(all, "inverse-distance").status, Status::failed);
  EXPECT_NE(standing_named(all, "inverse-distance").failure.text().find("reads no place"), std::string::npos);
  EXPECT_EQ(all.standings.back().status, Status::failed);
}

TEST(Comparing, TreesOfDifferentColumnsAreDifferentFormulas) {
  const Table table = mixed_table(60, 24);
  CompareOptions compare;
  compare.with = "none";
  const ComparisonPlan plan = plan_comparison(table, {"y ~ boost(a)", "y ~ forest(a, b)"}, {}, compare);
  ASSERT_EQ(plan.candidates.size(), 2u);
  EXPECT_TRUE(plan.candidates[0].why_not.text().empty());
  EXPECT_TRUE(plan.candidates[1].why_not.text().empty());
}

TEST(Comparing, RefusesWhatCannotBeCompared) {
  const Table table = mixed_table(60, 24);
  const auto refused = [&](const std::vector<std::string>& formulas, const CompareOptions& compare = {}) {
    return message_of<UsageError>([&] { plan_comparison(table, formulas, {}, compare); });
  };
  EXPECT_EQ(refused({"y ~ linear(a)", "a ~ linear(b)"}),
            "formulas of different targets cannot be compared: \"y\" and \"a\"");
  EXPECT_NE(refused({"y ~ linear(a)", "y ~ linear(a) + weights(b)"}).find("give all of them the same weights"),
            std::string::npos);
  EXPECT_NE(refused({"y ~ linear(a)"}, {.with = "forrest"}).find("did you mean \"forest\""), std::string::npos);
  EXPECT_NE(refused({"y ~ linear(a)"}, {.score = "coverage"}).find("neither better when large nor when small"),
            std::string::npos);
  EXPECT_NE(refused({"y ~ linear(a)"}, {.score = "log_loss"}).find("is of classes, and the target is of numbers"),
            std::string::npos);
  EXPECT_NE(refused({}).find("a comparison needs a formula"), std::string::npos);
}

TEST(Comparing, UsualBaselinesAreThoseThatMakeSense) {
  const Table table = mixed_table(120, 25);
  const auto names = [&](const std::string& formula) {
    std::string text;
    for (const Candidate& each : plan_comparison(table, {formula}).candidates) {
      text += (text.empty() ? "" : " ") + (each.is_asked() ? "formula" : each.baseline);
    }
    return text;
  };
  EXPECT_EQ(names("y ~ mlp(a, b)"), "formula mean ridge forest");
  EXPECT_EQ(names("y ~ rbf(a)"), "formula mean ridge forest mlp");
  EXPECT_EQ(names("y ~ mlp(a) * rbf(b)"), "formula mean ridge forest network kernels");
}

}  // namespace
}  // namespace ick
