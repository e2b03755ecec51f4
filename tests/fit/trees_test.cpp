#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "fit/grow_trees.h"
#include "ick/base/file.h"
#include "ick/evaluate/cross_validation.h"
#include "ick/fit/fit.h"
#include "ick/fit/update.h"
#include "ick/store/model_directory.h"
#include "support/message.h"
#include "support/store_case.h"
#include "support/table_case.h"
#include "support/train_case.h"

// boost(...) and forest(...) as terms.
namespace ick {
namespace {

// A step in a, a smooth wave in t, and noise; c says nothing.
double step_of(double a) { return a < -0.7 ? -1.0 : a < 0.1 ? 1.0 : a < 0.6 ? -0.5 : 2.0; }
double wave_of(double t) { return 1.5 * std::sin(2.5 * t); }

Table steps_and_wave(std::int64_t rows, std::uint64_t seed, double noise = 0.3) {
  Columns columns = {{"a", {}}, {"t", {}}, {"c", normal_numbers(rows, seed + 3)}, {"y", {}}};
  Random random(seed_for(seed, "steps and wave"));
  const std::vector<double> e = normal_numbers(rows, seed + 4);
  for (std::int64_t i = 0; i < rows; ++i) {
    const double a = 4.0 * random.uniform() - 2.0, t = 6.0 * random.uniform() - 3.0;
    columns[0].second.push_back(a), columns[1].second.push_back(t);
    columns[3].second.push_back(10.0 + step_of(a) + wave_of(t) + noise * e[static_cast<std::size_t>(i)]);
  }
  return make_table(columns);
}

FitOptions at_random() {
  FitOptions options;
  options.validation = parse_split("random=20%");
  return options;
}

// Rows of a table as XGBoost reads them, the target standardised by all rows.
TreeRows rows_by_hand(const Table& table, const std::vector<std::int64_t>& rows, double mean, double sd) {
  std::vector<float> values;
  std::vector<double> y;
  for (const std::int64_t i : rows) {
    const auto row = static_cast<std::size_t>(i);
    for (const char* name : {"a", "t"}) values.push_back(static_cast<float>(table.column(name).values[row]));
    y.push_back((table.column("y").values[row] - mean) / sd);
  }
  return {at::tensor(values).reshape({-1, 2}), at::tensor(y, at::kDouble), at::ones({std::ssize(rows)}, at::kDouble)};
}

// What stands for a row is the prediction of trees grown on the other folds, in a loop written out; elsewhere that of
// trees grown on all of them.
TEST(Trees, OffsetsOfRowsAreOfTreesThatHaveNotSeenThem) {
  const Table table = steps_and_wave(200, 1);
  FitOptions options = at_random();
  options.holdout = parse_split("random=20%");
  const FitPlan plan = plan_fit(table, parse_formula("y ~ boost(a, t, rounds=30, depth=3) + rbf(c)"), options);
  const FirstTrees grown = grow_trees(table, plan, {});
  const std::vector<int> fold_of = folds_of_trees(table, plan);
  const Numbers& found = grown.table.column(grown.trees->column).values;

  std::vector<std::int64_t> learned, held;
  for (std::int64_t i = 0; i < table.rows; ++i) (plan.holdout[i] ? held : learned).push_back(i);
  double mean = 0.0, square = 0.0;
  const auto n = static_cast<double>(learned.size());
  for (const std::int64_t i : learned) mean += table.column("y").values[i] / n;
  for (const std::int64_t i : learned) square += std::pow(table.column("y").values[i] - mean, 2) / n;
  const double sd = std::sqrt(square);

  const auto expect = [&](const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& at) {
    const TreeRows rows = rows_by_hand(table, from, mean, sd);
    Trees trees(plan.spec.trees->settings(options.seed), rows);
    for (int round = 0; round < 30; ++round) trees.add_round(rows);
    const at::Tensor predicted = trees.predict(rows_by_hand(table, at, mean, sd));
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_NEAR(found[at[i]], mean + sd * predicted[static_cast<std::int64_t>(i)].item<double>(), 1e-5);
    }
  };
  std::set<int> numbers;
  for (int k = 0; k < 5; ++k) {
    std::vector<std::int64_t> in, out;
    for (const std::int64_t i : learned) (fold_of[i] == k ? out : in).push_back(i);
    EXPECT_NEAR(static_cast<double>(out.size()), 32.0, 1.0);
    expect(in, out);
    for (const std::int64_t i : out) numbers.insert(plan.validation[i] ? k : -1);
  }
  EXPECT_EQ(numbers.size(), 2u);  // validation rows are a fold
  expect(learned, held);
}

// Where no second training learns from validation rows, neither do trees.
TEST(Trees, WithoutASecondTrainingTheyHaveNotSeenValidationRows) {
  Table table = steps_and_wave(200, 2);
  FitOptions options = at_random();
  options.refit = Refit::no;
  const Formula formula = parse_formula("y ~ boost(a, rounds=20) + rbf(t)");
  const FitPlan plan = plan_fit(table, formula, options);
  const FirstTrees before = grow_trees(table, plan, {});
  for (std::size_t i = 0; i < 200; ++i) {
    if (plan.validation[i]) set_value(table.columns[3], i, 1e3);
  }
  const FirstTrees after = grow_trees(table, plan_fit(table, formula, options), {});
  EXPECT_EQ(before.table.columns.back().values, after.table.columns.back().values);
}

// Each part of the function is of the kind that one of the terms is for: trees cut the wave of t into pieces, and a smooth
// kernel rounds the steps of a off. Together they err less than two thirds as much as either with all columns, so that
// less than half of the squares is left; grown once, without knowing of the wave, which is more than three times as large
// as the noise, trees would err as much as that.
TEST(Trees, WithAKernelTheyRecoverASum) {
  const Table table = steps_and_wave(400, 3), unseen = steps_and_wave(1000, 4, 0.0);
  const auto error = [&](const std::string& formula) {
    const PredictorFit fit = fit_predictor(table, parse_formula(formula), at_random());
    const Prediction p = fit.model->predict(unseen);
    double squares = 0.0;
    for (std::size_t i = 0; i < p.mean.size(); ++i) {
      squares += std::pow(p.mean[i] - unseen.column("y").values[i], 2) / 1000.0;
    }
    return std::sqrt(squares);
  };
  const double both = error("y ~ boost(a) + rbf(t)"), trees = error("y ~ boost(a, t)"), kernel = error("y ~ rbf(a, t)");
  EXPECT_LT(both, 2.0 / 3.0 * trees) << both << " against " << trees;
  EXPECT_LT(both, 2.0 / 3.0 * kernel) << both << " against " << kernel;
}

// Rows of a group share its effect and a number that tells the group: trees that have seen a group know its effect, and a
// new group's rows err by it.
TEST(Trees, IntervalsAreForGroupsThatTreesHaveNotSeen) {
  const std::int64_t groups = 60, of_each = 8;
  const auto made = [&](std::int64_t first) {
    const std::vector<double> effect = normal_numbers(2 * groups, 7), mark = normal_numbers(2 * groups, 8);
    const std::vector<double> e = normal_numbers(groups * of_each, 9 + static_cast<std::uint64_t>(first));
    Columns columns = {{"g", {}}, {"mark", {}}, {"x", normal_numbers(groups * of_each, 10)}, {"y", {}}};
    for (std::int64_t i = 0; i < groups * of_each; ++i) {
      const auto g = static_cast<std::size_t>(first + i / of_each);
      columns[0].second.push_back(static_cast<double>(g));
      columns[1].second.push_back(mark[g]);
      columns[3].second.push_back(effect[g] + 0.5 * columns[2].second[i] + 0.2 * e[i]);
    }
    return make_table(columns);
  };
  FitOptions options;
  options.validation = parse_split("group(g)=20%");
  for (const char* formula : {"y ~ forest(mark) + linear(x)", "y ~ forest(mark) + mlp(x)"}) {
    const Fit fit = fit_model(made(0), formula, options);
    EXPECT_NE(fit.report.calibrated_on.find("groups"), std::string::npos);
    const double coverage = fit.model.evaluate(made(groups)).scores.coverage.at("0.9");
    EXPECT_GT(coverage, 0.8) << formula;
    EXPECT_LT(coverage, 0.98) << formula;
  }
}

// Parts left out for calibration, by trees grown again without them, in a loop written out.
TEST(Trees, PartsLeftOutArePredictedByTreesGrownWithoutThem) {
  const Table table = steps_and_wave(120, 5);
  FitOptions options = at_random();
  const FitPlan plan = plan_fit(table, parse_formula("y ~ boost(a, t, rounds=10) + rbf(c)"), options);
  const FirstTrees grown = grow_trees(table, plan, {});
  const Encoder encoder = fit_encoder(
      grown.table,
      [&] {
        FitPlan own = plan;
        take_trees(grown, own);
        return encoder_plan(own.spec, own.options);
      }(),
      std::vector<bool>(120, true));
  const Dataset rows = open_rows(grown.table, encoder, std::vector<bool>(120, true));
  LeftOutParts parts;
  for (std::int64_t i = 0; i < 120; ++i) parts.cell_of.push_back(i / 20);
  for (std::int64_t k = 0; k < 6; ++k) parts.folds.push_back({{20 * k, 20 * k + 7}, {k}});
  const at::Tensor zero = at::zeros({2}, at::kDouble);
  LeftOutRows left =
      left_out_rows(parts, std::vector<FunctionMoments>(6, {zero, zero}), false, rows, encoder.target_scaling);
  grow_without(table, plan, grown, left);

  const auto [mean, sd] = grown.trees->encoder.target_scaling;
  for (std::int64_t k = 0; k < 6; ++k) {  // six parts by five trainings: the last two go together
    std::vector<std::int64_t> in;
    for (std::int64_t i = 0; i < 120; ++i) {
      if (k < 4 ? i / 20 != k : i / 20 < 4) in.push_back(i);
    }
    const TreeRows known = rows_by_hand(table, in, mean, sd);
    Trees trees(plan.spec.trees->settings(options.seed), known);
    for (int round = 0; round < 10; ++round) trees.add_round(known);
    const std::vector<std::int64_t> out = {20 * k, 20 * k + 7};
    const at::Tensor predicted = trees.predict(rows_by_hand(table, out, mean, sd));
    for (std::int64_t i = 0; i < 2; ++i) {
      const std::int64_t place = 2 * k + i;
      const double known_before = mean + sd * predicted[i].item<double>();
      const double target = table.column("y").values[static_cast<std::size_t>(out[static_cast<std::size_t>(i)])];
      const double scale = encoder.target_scaling.sd;
      EXPECT_NEAR(left.unseen.rows.offset[place].item<double>() * scale, known_before, 1e-5);
      EXPECT_NEAR(left.unseen.y[place].item<double>(), target - known_before, 1e-5);
      EXPECT_NEAR(left.unseen.rows.y[place].item<double>() * scale + encoder.target_scaling.mean, target - known_before,
                  1e-5);
    }
  }
}

TEST(Trees, ThreadsDoNotMatter) {
  const Table table = steps_and_wave(150, 6);
  for (const char* formula : {"y ~ boost(a) + rbf(t)", "y ~ forest(a, trees=40) + mlp(t)"}) {
    FitOptions options = at_random();
    options.members = 2, options.epochs = 3;
    options.threads = 1;
    const Fit one = fit_model(table, formula, options);
    options.threads = 2;
    const Fit two = fit_model(table, formula, options);
    EXPECT_EQ(first_difference(one.model.trees->sums.tensors(), two.model.trees->sums.tensors()), "");
    expect_same(one.model.predict(table), two.model.predict(table));
  }
}

TEST(Trees, AreSavedLoadedAndVerified) {
  Table table = mixed_table(150, 7);
  set_value(table.columns[1], 3, kGap);
  const Fit fit = fit_model(table, "log(y) ~ boost(., rounds=12) + rbf(b) + offset(floor)", at_random());
  std::vector<std::string> names;
  for (const ColumnInfo& info : fit.model.columns()) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "day", "a", "site", "floor"}));
  const ScratchFolder folder;
  save_model(fit.model, fit.report, folder / "m", table, {"table.csv", table.names(), 1});
  EXPECT_EQ(verify_model(folder / "m").largest_difference, 0.0);
  const StoredModel stored = load_model(folder / "m");
  expect_same(stored.model->predict(table), fit.model.predict(table));
  const std::string path = folder / "m/weights.safetensors", whole = read_file(path);
  for (const std::size_t place : {whole.size() / 4, whole.size() / 2, whole.size() - 3}) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_THROW(load_model(folder / "m"), DataError) << place;
  }
  EXPECT_EQ(stored.model->draw(table, {.count = 2}), fit.model.draw(table, {.count = 2}));
}

// New rows are what trees, which stay, leave of them: as with an offset(...) of these predictions.
TEST(Trees, UpdateTakesWhatTheyLeave) {
  const Table table = steps_and_wave(200, 8), later = steps_and_wave(50, 9);
  FitOptions options = at_random();
  options.posterior = "exact";
  const Fit fit = fit_model(table, "y ~ boost(a) + rbf(t)", options);
  const CompositePredictor updated = update_model(fit.model, fit.report, 0, later).model;
  CompositePredictor without = fit.model;
  without.trees = nullptr;
  std::optional<Table> made;
  const CompositePredictor expected = update_model(without, fit.report, 0, fit.model.readable(later, made)).model;
  std::optional<Table> unseen;
  expect_same(updated.predict(table), expected.predict(fit.model.readable(table, unseen)));
}

TEST(Trees, AFitResumedIsTheSame) {
  const Table table = steps_and_wave(120, 10);
  const Formula formula = parse_formula("y ~ boost(a, rounds=15) + mlp(t, layers=[6])");
  FitOptions options = at_random();
  options.members = 2, options.epochs = 4;
  int asked = 0;
  FitHooks counting;
  counting.interrupted = [&] { return ++asked > 1'000'000; };
  const Fit whole = fit_model(table, formula, options, counting);
  ASSERT_GT(asked, 6);
  const int all = asked;
  for (const int stop : {1, all / 3, all / 2, all - 1}) {
    std::optional<Checkpoint> kept;
    FitHooks hooks;
    asked = 0;
    hooks.interrupted = [&] { return ++asked > stop; };
    hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
    EXPECT_THROW(fit_model(table, formula, options, hooks), Interrupted);
    EXPECT_EQ(kept.has_value(), stop > 1);  // trees, which come first, are grown again
    const Fit resumed = fit_model(table, formula, options, {}, kept ? &*kept : nullptr);
    expect_same(resumed.model.predict(table), whole.model.predict(table));
  }
}

TEST(Trees, AloneTheyAreABaseline) {
  const Table table = steps_and_wave(200, 11);
  const PredictorFit alone = fit_predictor(table, parse_formula("y ~ boost(a, t)"), at_random());
  FitOptions options = at_random();
  options.model = "boosting";
  const PredictorFit baseline = fit_predictor(table, parse_formula("y ~ mlp(a, t)"), options);
  EXPECT_EQ(alone.model->kind(), "baseline");
  EXPECT_EQ(alone.model->predict(table).mean, baseline.model->predict(table).mean);
  const PredictorFit few = fit_predictor(table, parse_formula("y ~ boost(a, t, rounds=3)"), at_random());
  EXPECT_NE(few.model->predict(table).mean, baseline.model->predict(table).mean);
}

TEST(Trees, DamageIsSeen) {
  const Table table = steps_and_wave(100, 13);
  const FitPlan plan = plan_fit(table, parse_formula("y ~ boost(a, rounds=3) + rbf(t)"), at_random());
  const std::shared_ptr<const GrownTrees> trees = grow_trees(table, plan, {}).trees;
  const GrownTrees& grown = *trees;
  const TensorState whole = grown.sums.tensors();
  const at::Tensor bytes = find_tensor(whole, "trees0");
  const auto refused = [&](const TensorState& state) {
    return !message_of<DataError>([&] { TreeSums::restore(state, grown.encoder); }).empty();
  };
  EXPECT_FALSE(refused(whole));
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{"trees0", bytes}}));
  EXPECT_TRUE(refused({whole[0], {"trees0", bytes.to(at::kFloat)}}));
  EXPECT_TRUE(refused({{"calendar", at::tensor({0.0, 7.0}, at::kDouble)}, {"trees0", bytes}}));  // no time is read
}

// Folds at random: the sum of both is better than either part alone in each of them.
TEST(Trees, AreCrossValidated) {
  const Table table = steps_and_wave(150, 14);
  FoldOptions folds;
  folds.folds = 3;
  folds.by = parse_fold_rule("random");
  const auto rmse = [&](const std::string& formula) {
    return cross_validate(table, formula, {}, {}, folds).average.at("rmse").mean;
  };
  const double both = rmse("y ~ boost(a, rounds=60) + rbf(t)");
  EXPECT_LT(both, rmse("y ~ boost(a, rounds=60)"));
  EXPECT_LT(both, rmse("y ~ rbf(t)"));
}

TEST(Trees, WhatCannotBeIsRefused) {
  const Table table = mixed_table(80, 12);
  const auto refusal = [&](const std::string& formula) {
    return message_of<UsageError>([&] { fit_model(table, formula, at_random()); });
  };
  EXPECT_EQ(
      refusal("y ~ mlp(a) * boost(b)"),
      "formula column 14: boost(...) stands in a product; trees have no covariance to multiply, and are added, as "
      "in boost(a) + rbf(x)");
  EXPECT_EQ(
      refusal("y ~ (forest(b) + rbf(a)) * rbf(day)"),
      "formula column 6: forest(...) stands in a product; trees have no covariance to multiply, and are added, as "
      "in forest(a) + rbf(x)");
  EXPECT_EQ(refusal("y ~ boost(a) + forest(b) + rbf(day)"),
            "formula column 16: the formula has trees already, boost(a); name all their columns in one term");
  EXPECT_EQ(refusal("y ~ boost() + rbf(a)"),
            "formula column 5: boost has no column; name at least one, as in boost(x), or all others, as in boost(.)");
  EXPECT_EQ(refusal("y ~ boost(a, depht=3) + rbf(b)"),
            "formula column 14: boost has no argument named \"depht\"; did you mean \"depth\"?");
  EXPECT_EQ(refusal("y ~ boost(a, depth=2.5) + rbf(b)"),
            "formula column 14: depth of boost must be a whole number from 1 to 64");
  EXPECT_EQ(refusal("y ~ boost(rank(a)) + rbf(b)"),
            "formula column 11: rank(...) stands among the columns of boost, and trees read columns as they are; only "
            "networks read transformed columns");
  Table with_text = table;
  with_text.columns.push_back(text_column("note", std::vector<std::string>(80, "a")));
  EXPECT_EQ(message_of<DataError>([&] { plan_fit(with_text, parse_formula("y ~ boost(note) + rbf(b)"), {}); }),
            "column \"note\" holds text; a tree takes numbers, times or categories (declare it with "
            "types=\"note=category\")");
  EXPECT_EQ(refusal("y ~ boost(y) + rbf(b)"),
            "formula column 11: \"y\" is the target; a model may not read what it is to predict");
  EXPECT_EQ(refusal("site ~ boost(a) + rbf(b)"),
            "formula column 8: trees beside other terms are for numbers, and this is likelihood=categorical; use "
            "model=boosting, trees alone");
  FitOptions noise = at_random();
  noise.noise_formula = "sigma ~ boost(a)";
  EXPECT_NE(message_of<UsageError>([&] {
              fit_model(table, parse_formula("y ~ rbf(b)"), noise);
            }).find("boost(...) is for the target's formula"),
            std::string::npos);
}

}  // namespace
}  // namespace ick
