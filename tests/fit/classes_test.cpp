#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "ick/base/error.h"
#include "ick/fit/fit.h"
#include "support/image_case.h"
#include "support/message.h"
#include "support/train_case.h"
#include "train/trainer.h"

// Models of classes and counts, and of images, from table to prediction.
namespace ick {
namespace {

// Class 0, 1 or 2 by the angle of (a, b), turned with t.
Table wheel(std::int64_t rows, std::uint64_t seed) {
  Random random(seed_for(seed, "wheel"));
  std::vector<double> a, b, t, sector, side, count;
  for (std::int64_t i = 0; i < rows; ++i) {
    a.push_back(random.normal()), b.push_back(random.normal()), t.push_back(3.0 * random.uniform());
    const double angle = std::atan2(b.back(), a.back()) + 1.2 * std::sin(2.0 * t.back());
    const double turn = angle / 6.283185307179586 + 2.0;
    sector.push_back(std::floor(3.0 * (turn - std::floor(turn))));
    side.push_back(std::sin(angle) + 0.2 * random.normal() > 0.0);
    const double rate = std::exp(1.0 + 0.8 * std::sin(2.0 * t.back()) + 0.3 * a.back());
    double sum = -std::log(random.uniform());
    double n = 0.0;
    while (sum < rate) sum -= std::log(random.uniform()), n += 1.0;
    count.push_back(n);
  }
  return table_of({column_of("a", a), column_of("b", b), column_of("t", t),
                   column_of("sector", sector, ColumnType::category, {"east", "north", "west"}),
                   column_of("side", side, ColumnType::integer), column_of("count", count, ColumnType::integer)});
}

FitOptions quick() {
  FitOptions options;
  options.members = 2;
  options.epochs = 60;
  options.holdout = parse_split("random=25%");
  options.validation = parse_split("random=20%");
  return options;
}

// Of the model that was calibrated, over splits: one has 225 rows and 135 to calibrate on, an sd of 0.03. A set has the
// most probable class in any case: it covers no less than the accuracy.
TEST(ClassFit, SetsHoldTheShareAskedFor) {
  constexpr int kSplits = 6;
  double covered = 0.0, right = 0.0;
  for (std::uint64_t seed = 1; seed <= kSplits; ++seed) {
    FitOptions options = quick();
    options.refit = Refit::no;
    options.epochs = 15;
    options.seed = seed;
    const Fit fit = fit_model(wheel(900, seed), "sector ~ mlp(a, b) * rbf(t)", options);
    covered += fit.report.class_holdout->coverage.at("0.9") / kSplits;
    right += fit.report.class_holdout->accuracy / kSplits;
  }
  EXPECT_GE(covered, right);
  EXPECT_NEAR(covered, std::max(0.9, right), 0.03);
}

TEST(ClassFit, LearnsSeveralClasses) {
  const Table table = wheel(900, 1);
  const Fit composite = fit_model(table, "sector ~ mlp(a, b) * rbf(t)", quick());
  EXPECT_EQ(composite.model.likelihood->name, "categorical");
  ASSERT_TRUE(composite.report.class_holdout.has_value());
  EXPECT_FALSE(composite.report.holdout.has_value());
  const ClassScores& scores = *composite.report.class_holdout;
  EXPECT_GT(scores.accuracy, 0.85);
  EXPECT_LT(scores.calibration_error, 0.08);
  EXPECT_GT(scores.coverage.at("0.9"), 0.83);
  const Fit blind = fit_model(table, "sector ~ mlp(a, b)", quick());
  EXPECT_GT(scores.accuracy, blind.report.class_holdout->accuracy + 0.1);
}

TEST(ClassFit, PredictionsAreProbabilities) {
  const Table table = wheel(400, 2);
  const Fit made = fit_model(table, "sector ~ mlp(a, b) * rbf(t)", quick());
  const Prediction p = made.model.predict(table);
  ASSERT_EQ(p.probability.size(), 3u);
  EXPECT_TRUE(p.mean.empty());
  for (std::size_t i = 0; i < 400; ++i) {
    double sum = 0.0, largest = 0.0;
    for (std::size_t c = 0; c < 3; ++c) sum += p.probability[c][i], largest = std::max(largest, p.probability[c][i]);
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_EQ(p.probability[p.most_probable[i]][i], largest);
    EXPECT_TRUE(p.in_set[p.most_probable[i]][i]);
  }
}

TEST(ClassFit, LearnsTwoClassesByEitherLink) {
  const Table table = wheel(900, 3);
  for (const char* likelihood : {"bernoulli", "probit"}) {
    FitOptions options = quick();
    options.likelihood = likelihood;
    const Fit made = fit_model(table, "side ~ mlp(a, b) * rbf(t)", options);
    EXPECT_EQ(made.model.likelihood->name, likelihood);
    EXPECT_EQ(made.model.model().outputs(), 1);
    EXPECT_GT(made.report.class_holdout->accuracy, 0.85);
  }
}

TEST(ClassFit, KernelsAloneClassifyToo) {
  FitOptions options = quick();
  const Fit made = fit_model(wheel(600, 4), "side ~ rbf(a, b, t)", options);
  EXPECT_EQ(made.report.options.optimiser, Optimiser::adamw);
  EXPECT_GT(made.report.class_holdout->accuracy, 0.8);
}

TEST(ClassFit, ClassesMayHaveKernelsOfTheirOwn) {
  FitOptions options = quick();
  options.own_kernels = true;
  const Fit made = fit_model(wheel(500, 5), "sector ~ mlp(a, b) * rbf(t, points=8)", options);
  const at::Tensor raw = made.model.model().kernel().parameters().raw();
  EXPECT_EQ(raw.size(0), 2 * 3);  // members times classes
  EXPECT_GT((raw - raw.narrow(0, 0, 1)).abs().max().item<double>(), 1e-3);
  EXPECT_GT(made.report.class_holdout->accuracy, 0.75);
}

TEST(ClassFit, OfOwnKernelsEachClassReadsItsOwn) {
  const Table table = wheel(30, 6);
  FitOptions options;
  options.likelihood = "categorical";
  const ModelSpec spec = make_spec(parse_formula("sector ~ rbf(t, points=4)"), table.names());
  const Encoder encoder = fit_encoder(table, encoder_plan(spec, options), std::vector<bool>(30, true));
  const Dataset rows = encode(table, encoder, true);
  ModelOptions model_options;
  model_options.members = 2, model_options.outputs = 3, model_options.own_kernels = true;
  Model model(spec, encoder, rows, model_options);
  const at::NoGradGuard no_grad;
  at::Tensor raw = model.kernel().parameters().raw().detach();
  raw.add_(at::arange(6, at::kDouble).unsqueeze(1) * 0.1);
  const Batch batch = batch_of(rows, 0, 30);
  const at::Tensor f = model(batch), z = model.features_at(batch.x)[0];  // (E, B, C), (E C, B, p)
  const at::Tensor weight = parameter_of(model, "term1.weight").view({2, 3, 4});
  for (std::int64_t e = 0; e < 2; ++e) {
    for (std::int64_t c = 0; c < 3; ++c) {
      const at::Tensor expected = z[e * 3 + c].matmul(weight[e][c]);
      EXPECT_LT((f[e].select(1, c) - expected).abs().max().item<double>(), 1e-5);
    }
  }
}

TEST(ClassFit, CountsHaveARateAndADispersion) {
  FitOptions options = quick();
  options.likelihood = "poisson";
  const Table table = wheel(1200, 7);
  const Fit made = fit_model(table, "count ~ mlp(a) * rbf(t)", options);
  const double dispersion = made.model.noise * made.model.noise;
  EXPECT_NEAR(dispersion, 1.0, 0.3);
  ASSERT_TRUE(made.report.holdout.has_value());
  EXPECT_NEAR(made.report.holdout->coverage.at("0.9"), 0.9, 0.06);
  EXPECT_LT(made.report.holdout->msll, -0.1);
  const Prediction p = made.model.predict(table);
  for (const double each : p.lower) EXPECT_GE(each, 0.0);
}

TEST(ClassFit, StudentIsNotPulledByRowsFarOff) {
  Table table = generic_table(600, 8);
  Random random(1);
  const std::vector<double> clean = table.columns[6].values.copy();
  std::vector<double> y = clean;
  for (std::size_t i = 0; i < y.size(); i += 12) y[i] += 60.0 * (random.uniform() + 0.5);
  table.columns[6].values = y;
  const auto error = [&](const char* likelihood) {
    FitOptions options = quick();
    options.holdout = {};
    options.likelihood = likelihood;
    const Prediction p = fit_model(table, "y ~ mlp(a, b, c, t, s, u)", options).model.predict(table);
    double squares = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) squares += (p.mean[i] - clean[i]) * (p.mean[i] - clean[i]);
    return std::sqrt(squares / static_cast<double>(y.size()));
  };
  EXPECT_LT(error("student"), 0.5 * error("gaussian"));
}

TEST(ClassPlan, LikelihoodFollowsFromTheTarget) {
  const Table table = wheel(300, 9);
  const auto likelihood = [&](const std::string& formula) {
    return plan_fit(table, parse_formula(formula), {}).options.likelihood;
  };
  EXPECT_EQ(likelihood("sector ~ mlp(a)"), "categorical");
  EXPECT_EQ(likelihood("side ~ mlp(a)"), "bernoulli");
  EXPECT_EQ(likelihood("count ~ mlp(a)"), "gaussian");  // more than ten values
  EXPECT_EQ(likelihood("a ~ mlp(b)"), "gaussian");
  FitOptions options;
  options.likelihood = "gaussian";
  EXPECT_EQ(plan_fit(table, parse_formula("side ~ mlp(a)"), options).options.likelihood, "gaussian");
}

std::string refusal(const Table& table, const std::string& formula, const FitOptions& options = {}) {
  return message_of([&] { plan_fit(table, parse_formula(formula), options); });
}

TEST(ClassPlan, WhatCannotBeIsSaid) {
  Table table = wheel(300, 10);
  EXPECT_NE(refusal(table, "log(side) ~ mlp(a)",
                    [] {
                      FitOptions options;
                      options.likelihood = "bernoulli";
                      return options;
                    }())
                .find("log() of the target is for numbers"),
            std::string::npos);
  FitOptions options;
  options.posterior = "nngp";
  EXPECT_NE(refusal(table, "sector ~ mlp(a)", options).find("likelihood=gaussian"), std::string::npos);
  options = {};
  options.likelihood = "bernoulli";
  EXPECT_NE(refusal(table, "sector ~ mlp(a)", options).find("of two classes"), std::string::npos);
  options.likelihood = "poisson";
  EXPECT_NE(refusal(table, "a ~ mlp(b)", options).find("counts, whole numbers from 0"), std::string::npos);

  Table one = table;
  one.columns[3].values = std::vector<double>(one.columns[3].values.size(), 2.0);
  EXPECT_NE(refusal(one, "sector ~ mlp(a)").find("is \"west\" in every training row"), std::string::npos);

  Table rare = table;
  std::vector<double> sectors = rare.columns[3].values.copy();
  for (double& value : sectors) value = std::min(value, 1.0);
  sectors[7] = 2.0;
  rare.columns[3].values = sectors;
  set_value(rare.columns[2], 7, 99.0);
  options = {};
  options.holdout = parse_split("t >= 50");
  EXPECT_NE(refusal(rare, "sector ~ mlp(a)", options).find("no model can predict a class it has not seen"),
            std::string::npos);
}

TEST(ImageFit, TheCompositeLearnsWhatNeitherSourceTells) {
  const ImageFolder folder;
  const Table table = bars_table(folder, 700, 11);
  FitOptions options = quick();
  options.epochs = 25;
  const std::string network = "cnn(row, idx=\"bars.idx\", channels=[8, 8], layers=16)";
  const Fit composite = fit_model(table, "y ~ " + network + " * rbf(t)", options);
  const Fit image = fit_model(table, "y ~ " + network, options), time = fit_model(table, "y ~ rbf(t)", options);
  EXPECT_LT(composite.report.holdout->rmse, 0.3 * image.report.holdout->rmse);
  EXPECT_LT(composite.report.holdout->rmse, 0.3 * time.report.holdout->rmse);
  EXPECT_NEAR(composite.report.holdout->coverage.at("0.9"), 0.9, 0.09);
}

TEST(ImageFit, ClassifiesAndGoesOnWhereItStopped) {
  const ImageFolder folder;
  const Table table = bars_table(folder, 300, 12);
  FitOptions options = quick();
  options.epochs = 6;
  options.checkpoint_seconds = 0.0;
  const Formula formula =
      parse_formula("three ~ cnn(row, t, idx=\"bars.idx\", channels=[6], layers=12, dropout=0.1, flip=both, shift=1)");
  const Fit whole = fit_model(table, formula, options);
  EXPECT_GT(whole.report.class_holdout->accuracy, 0.8);
  for (const int stop_at : {5, 40}) {
    std::optional<Checkpoint> kept;
    int asked = 0;
    FitHooks hooks;
    hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
    hooks.interrupted = [&] { return ++asked > stop_at; };
    EXPECT_THROW(fit_model(table, formula, options, hooks), Interrupted);
    ASSERT_TRUE(kept.has_value());
    const Fit resumed = fit_model(table, formula, options, {}, &*kept);
    EXPECT_EQ(first_difference(resumed.model.model().state(), whole.model.model().state()), "") << stop_at;
    EXPECT_EQ(resumed.model.temperature, whole.model.temperature);
  }
}

}  // namespace
}  // namespace ick
