#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/fit/fit.h"
#include "support/train_case.h"

namespace ick {
namespace {

constexpr char kHybrid[] =
    "y ~ mlp(a, b, layers=[6, 4]) * rbf(t, points=8) * periodic(s, period=2) + mlp(c, layers=[4])";

FitOptions small_options() {
  FitOptions options;
  options.seed = 3;
  options.members = 2;
  options.epochs = 4;
  options.batch = 16;
  options.learning_rate = 0.01;
  options.warm_start = false;
  return options;
}

void expect_same(const Fit& a, const Fit& b) {
  EXPECT_EQ(first_difference(a.model.model().state(), b.model.model().state()), "");
  EXPECT_EQ(a.model.noise, b.model.noise);
  EXPECT_EQ(a.model.posterior->amplitude(), b.model.posterior->amplitude());
  EXPECT_EQ(a.model.calibration.scores(), b.model.calibration.scores());
  EXPECT_EQ(first_difference(support_state(a.model.support), support_state(b.model.support)), "");
  EXPECT_EQ(first_difference(a.model.posterior->tensors(), b.model.posterior->tensors()), "");
  EXPECT_EQ(a.report.epochs, b.report.epochs);
  EXPECT_EQ(a.report.best_epoch, b.report.best_epoch);
  ASSERT_EQ(a.report.validation.has_value(), b.report.validation.has_value());
  if (!a.report.validation) return;
  const Scores &left = *a.report.validation, &right = *b.report.validation;
  EXPECT_EQ(left.rows, right.rows);
  EXPECT_EQ(left.coverage, right.coverage);
  EXPECT_EQ(left.width, right.width);
  EXPECT_EQ(left.pit, right.pit);
  for (const auto field :
       {&Scores::rmse, &Scores::mae, &Scores::r2, &Scores::spearman, &Scores::nlpd, &Scores::msll, &Scores::crps}) {
    EXPECT_EQ(left.*field, right.*field);
  }
}

// Runs a fit that is interrupted when it asks for the nth time, as often as `stops` says, each time resumed.
struct Interrupting {
  const Table& table;
  const Formula formula;
  const FitOptions options;
  std::vector<std::string> phases = {};  // of the checkpoints resumed

  Fit run(const std::vector<int>& stops) {
    Checkpoint kept;
    bool has_one = false;
    for (const int stop : stops) {
      const Checkpoint from = kept;
      int asked = 0;
      FitHooks hooks;
      hooks.interrupted = [&] { return ++asked > stop; };
      hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
      EXPECT_THROW(fit_model(table, formula, options, hooks, has_one ? &from : nullptr), Interrupted);
      has_one = true;
      phases.push_back(kept.phase);
    }
    return fit_model(table, formula, options, {}, has_one ? &kept : nullptr);
  }
};

struct ResumeCase {
  std::string name, formula;
  Optimiser optimiser = Optimiser::adamw;
  std::string likelihood = "gaussian";
  std::string posterior = "ensemble";
  Perturbation perturbation = Perturbation::none;
};

std::vector<ResumeCase> resume_cases() {
  return {{"adamw", kHybrid},
          {"adam", kHybrid, Optimiser::adam},
          {"sgd", kHybrid, Optimiser::sgd},
          {"dropout", "y ~ mlp(a, b, layers=[6, 4], dropout=0.3) * rbf(t, points=8) + mlp(c, layers=[4], dropout=0.1)"},
          {"gaussian", kHybrid, Optimiser::adamw, "gaussian_nll"},
          {"trained points", "y ~ mlp(a, layers=[4]) * rbf(t, s, points=6, train_points=yes)", Optimiser::adam},
          {"kernels only", "y ~ rbf(t, points=6) + periodic(s, period=2, points=5)", Optimiser::adamw},
          {"laplace", kHybrid, Optimiser::adamw, "gaussian", "laplace"},
          {"bootstrap", kHybrid, Optimiser::adamw, "gaussian", "ensemble", Perturbation::bootstrap},
          {"noise", kHybrid, Optimiser::adamw, "gaussian", "ensemble", Perturbation::noise},
          {"networks only", "y ~ mlp(a, b, layers=[5], norm=layer) * mlp(c, layers=[4])", Optimiser::sgd}};
}

TEST(Resume, EqualsAFitWithoutInterruption) {
  const Table table = generic_table(60);
  for (const ResumeCase& each : resume_cases()) {
    SCOPED_TRACE(each.name);
    FitOptions options = small_options();
    options.optimiser = each.optimiser;
    options.likelihood = each.likelihood;
    options.posterior = each.posterior;
    options.perturbation = each.perturbation;
    if (each.perturbation == Perturbation::noise) options.noise = 0.4;
    if (each.posterior == "laplace") options.members = 1;
    options.patience = 2;
    int steps = 0;
    FitHooks count;
    count.interrupted = [&] { return ++steps < 0; };
    const Fit whole = fit_model(table, parse_formula(each.formula), options, count);
    ASSERT_GT(whole.report.validation_rows, 0);
    const int in_training = static_cast<int>(whole.report.epochs) * 3;  // 48 rows in batches of 16
    ASSERT_GT(steps, in_training);
    // Before the first step, inside epochs and between them, and in the second training, its first step included.
    for (const int stop : {0, 1, 3, 5, in_training - 1, in_training, steps - 1}) {
      SCOPED_TRACE("stopped at step " + std::to_string(stop));
      Interrupting fits{table, parse_formula(each.formula), options};
      const Fit resumed = fits.run({stop});
      EXPECT_EQ(fits.phases, std::vector<std::string>{stop < in_training ? "train" : "refit"});
      expect_same(resumed, whole);
    }
  }
}

TEST(Resume, ManyTimesOver) {
  const Table table = generic_table(60);
  const Fit whole = fit_model(table, kHybrid, small_options());
  Interrupting fits{table, parse_formula(kHybrid), small_options()};
  expect_same(fits.run({2, 2, 1, 0, 9, 3, 1}), whole);
  EXPECT_EQ(fits.phases.back(), "refit");
}

// Stopped in training, in folds and in the second training: folds are trained again.
TEST(Resume, NeighboursBesideNetworks) {
  const Table table = generic_table(60);
  FitOptions options = small_options();
  options.epochs = 2;
  options.neighbours = Neighbours::yes;
  const std::string formula = "y ~ mlp(a, b, layers=[4]) + matern32(t, s, points=5)";
  int asked = 0;
  FitHooks count;
  count.interrupted = [&] { return ++asked < 0; };
  const Fit whole = fit_model(table, parse_formula(formula), options, count);
  ASSERT_FALSE(whole.model.posterior->tensors().empty());
  for (const int stop : {1, asked / 5, asked / 2, 4 * asked / 5, asked - 1}) {
    SCOPED_TRACE("stopped at step " + std::to_string(stop) + " of " + std::to_string(asked));
    Interrupting fits{table, parse_formula(formula), options};
    expect_same(fits.run({stop}), whole);
  }
}

TEST(Resume, AfterAnInterruptedWarmStart) {
  const Table table = generic_table(40);
  FitOptions options = small_options();
  options.warm_start = true;
  options.epochs = 2;
  const std::string formula = "y ~ mlp(a, layers=[4]) * rbf(t, points=6)";
  const Fit whole = fit_model(table, formula, options);
  Interrupting fits{table, parse_formula(formula), options};
  const Fit resumed = fits.run({4});
  EXPECT_EQ(fits.phases, std::vector<std::string>{"start"});
  expect_same(resumed, whole);
}

// Their number is not the plan's: it was found after the warm start, and is in the checkpoint.
TEST(Resume, WithFeaturesThatWereAdded) {
  const Table table = generic_table(120);
  FitOptions options = small_options();
  options.warm_start = true;
  options.epochs = 2;
  const std::string formula = "y ~ mlp(a, layers=[4]) * periodic(s, period=2, lengthscale=0.1) + rbf(t, points=5)";
  int steps = 0;
  FitHooks count;
  count.interrupted = [&] { return ++steps < 0; };
  const Fit whole = fit_model(table, parse_formula(formula), options, count);
  EXPECT_GT(whole.model.model().spec().terms[0].features, 16);
  EXPECT_EQ(whole.model.model().features_of(0), whole.model.model().spec().terms[0].features);
  EXPECT_EQ(whole.model.model().spec().terms[1].features, 5);
  for (const int before_the_end : {17, 3, 1}) {  // of some 26 steps
    Interrupting fits{table, parse_formula(formula), options};
    const Fit resumed = fits.run({steps - before_the_end});
    EXPECT_EQ(resumed.model.model().spec().terms[0].features, whole.model.model().spec().terms[0].features);
    expect_same(resumed, whole);
  }
}

TEST(Resume, FromACheckpointThatDidNotStopTheFit) {
  const Table table = generic_table(60);
  FitOptions options = small_options();
  options.checkpoint_seconds = 0.0;  // at every step
  std::vector<Checkpoint> kept;
  FitHooks hooks;
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept.push_back(checkpoint); };
  const Fit whole = fit_model(table, parse_formula(kHybrid), options, hooks);
  ASSERT_GT(kept.size(), 20u);
  for (std::size_t i = 0; i < kept.size(); i += 5) {
    SCOPED_TRACE(kept[i].phase + ", checkpoint " + std::to_string(i));
    expect_same(fit_model(table, parse_formula(kHybrid), options, {}, &kept[i]), whole);
  }
}

TEST(Resume, RefusesTheCheckpointOfAnotherFit) {
  const Table table = generic_table(60);
  Checkpoint kept;
  FitHooks hooks;
  int asked = 0;
  hooks.interrupted = [&] { return ++asked > 4; };
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
  EXPECT_THROW(fit_model(table, parse_formula(kHybrid), small_options(), hooks), Interrupted);
  for (const char* other :
       {"y ~ mlp(a, b, layers=[6, 5]) * rbf(t, points=8) * periodic(s, period=2) + mlp(c, layers=[4])",
        "y ~ mlp(a, b, layers=[6, 4]) * rbf(t, points=8)", "y ~ mlp(a)"}) {
    EXPECT_THROW(fit_model(table, parse_formula(other), small_options(), {}, &kept), DataError) << other;
  }
  Checkpoint torn = kept;
  torn.numbers.erase("epoch");
  EXPECT_THROW(fit_model(table, parse_formula(kHybrid), small_options(), {}, &torn), DataError);
}

// A checkpoint of the second training needs what the first has found.
TEST(Resume, RefusesACheckpointWithoutItsOutcome) {
  const Table table = generic_table(60);
  Checkpoint kept;
  FitHooks hooks;
  hooks.interrupted = [&] { return kept.phase == "refit"; };
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
  FitOptions often = small_options();
  often.checkpoint_seconds = 0.0;
  EXPECT_THROW(fit_model(table, parse_formula(kHybrid), often, hooks), Interrupted);
  ASSERT_EQ(kept.phase, "refit");
  const auto refused = [&](const Checkpoint& torn) {
    try {
      fit_model(table, parse_formula(kHybrid), small_options(), {}, &torn);
      return false;
    } catch (const DataError&) {
      return true;
    }
  };
  ASSERT_FALSE(refused(kept));
  int parts = 0;
  for (const auto& [name, value] : kept.numbers) {
    if (!name.starts_with("outcome.")) continue;
    Checkpoint torn = kept;
    torn.numbers.erase(name);
    EXPECT_TRUE(refused(torn)) << name;
    ++parts;
  }
  for (std::size_t i = 0; i < kept.tensors.size(); ++i) {
    if (!kept.tensors[i].first.starts_with("outcome.")) continue;
    Checkpoint torn = kept;
    torn.tensors.erase(torn.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(refused(torn)) << kept.tensors[i].first;
    ++parts;
  }
  EXPECT_EQ(parts, 16);
}

TEST(SameSeed, SameBits) {
  const Table table = generic_table(60);
  FitOptions options = small_options();
  options.warm_start = true;
  for (const std::string formula :
       {"y ~ mlp(a, b, layers=[6, 4], dropout=0.2) * rbf(t, points=8) * periodic(s, points=8)",
        "y ~ rbf(t, s, points=12) + linear(u)"}) {
    SCOPED_TRACE(formula);
    const Fit first = fit_model(table, formula, options);
    expect_same(first, fit_model(table, formula, options));
    FitOptions another = options;
    another.seed = 4;
    EXPECT_NE(first_difference(first.model.model().state(), fit_model(table, formula, another).model.model().state()),
              "");
  }
}

// One thread or two: the fused path shares out members, and no sum of it depends on how. The warm start, on composed
// tensors, is left out: torch sums long tensors in as many parts as there are threads.
TEST(SameSeed, SameBitsOnOneThreadOrTwo) {
  const Table table = generic_table(60);
  const int threads = at::get_num_threads();
  FitOptions options = small_options();
  options.epochs = 2;
  at::set_num_threads(1);
  const Fit one = fit_model(table, kHybrid, options);
  at::set_num_threads(2);
  const Fit two = fit_model(table, kHybrid, options);
  at::set_num_threads(threads);
  expect_same(one, two);
}

}  // namespace
}  // namespace ick
