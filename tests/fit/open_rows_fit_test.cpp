#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "ick/fit/estimate.h"
#include "ick/fit/fit.h"
#include "support/train_case.h"
#include "train/warm_start.h"

namespace ick {
namespace {

// A fit whose rows are encoded again for each batch gives the same model, bit for bit, and the same report.
void expect_same_fit(const Table& table, const std::string& formula, FitOptions options) {
  options.holdout = parse_split("random=20%");
  options.seed = 3;
  const Fit held = fit_model(table, formula, options);
  options.held_bytes = 0.0;
  const Fit open = fit_model(table, formula, options);
  EXPECT_EQ(first_difference(held.model.model().state(), open.model.model().state()), "");
  EXPECT_EQ(first_difference(support_state(held.model.support), support_state(open.model.support)), "");
  EXPECT_EQ(held.model.noise, open.model.noise);
  EXPECT_EQ(held.model.posterior->amplitude(), open.model.posterior->amplitude());
  EXPECT_EQ(first_difference(held.model.posterior->tensors(), open.model.posterior->tensors()), "");
  EXPECT_EQ(held.report.polished, open.report.polished);
  EXPECT_EQ(held.report.best_epoch, open.report.best_epoch);
  EXPECT_EQ(held.report.notes.filled, open.report.notes.filled);
  ASSERT_EQ(held.report.holdout.has_value(), open.report.holdout.has_value());
  if (held.report.holdout) {
    EXPECT_EQ(held.report.holdout->rmse, open.report.holdout->rmse);
  }
  if (held.report.class_holdout) {
    EXPECT_EQ(held.report.class_holdout->log_loss, open.report.class_holdout->log_loss);
  }
}

FitOptions short_training() {
  FitOptions options;
  options.members = 2;
  options.epochs = 3;
  options.batch = 32;
  options.layers = {8, 6};
  return options;
}

TEST(FitOfOpenRows, Ensemble) {
  expect_same_fit(generic_table(200), "y ~ mlp(a, b) * periodic(t, points=5) + mlp(c)", short_training());
}

TEST(FitOfOpenRows, EnsembleThatLearnsItsKernels) {
  FitOptions options = short_training();
  options.kernels = KernelTraining::learned;
  options.perturbation = Perturbation::bootstrap;
  expect_same_fit(generic_table(150), "y ~ mlp(a, b) * rbf(t, points=5)", options);
}

TEST(FitOfOpenRows, KernelsAlone) {
  FitOptions options;
  options.epochs = 4;
  expect_same_fit(generic_table(150), "y ~ rbf(t, points=6) + periodic(s, points=5)", options);
}

TEST(FitOfOpenRows, Draws) {
  for (const std::string posterior : {"nngp", "ntk"}) {
    FitOptions options;
    options.posterior = posterior;
    options.members = 4;
    options.layers = {12};
    expect_same_fit(generic_table(120), "y ~ mlp(a, b) * rbf(t, points=4)", options);
  }
}

TEST(FitOfOpenRows, Laplace) {
  FitOptions options = short_training();
  options.members = 1;
  options.posterior = "laplace";
  expect_same_fit(generic_table(150), "y ~ mlp(a, b) * rbf(t, points=5)", options);
}

TEST(FitOfOpenRows, WithoutValidationRows) {
  FitOptions options = short_training();
  options.validation = Split{};
  expect_same_fit(generic_table(100), "y ~ mlp(a, b)", options);
}

TEST(FitOfOpenRows, Classes) {
  Table table = generic_table(200);
  std::vector<double> classes;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    classes.push_back(std::floor(1.5 + std::tanh(table.columns[6].values[static_cast<std::size_t>(i)] - 3.0)));
  }
  table.columns[6].values = classes;
  FitOptions options = short_training();
  options.likelihood = "categorical";
  expect_same_fit(table, "y ~ mlp(a, b, c)", options);
}

// 70,000 rows at t in (0, 1000), the ends in rows of their own.
Table long_table(double frequency) {
  Random random(seed_for(9, "long table"));
  std::vector<double> t, y;
  for (std::int64_t i = 0; i < 70'000; ++i) {
    t.push_back(1000.0 * random.uniform());
    y.push_back(std::sin(2.0 * std::numbers::pi * frequency * t.back()) + 0.5 * random.normal());
  }
  t[31'234] = -17.0, t[68'999] = 1012.0;
  return make_table({{"t", t}, {"y", y}});
}

// Far more cycles than rows that are looked at: neighbours among these show them.
TEST(ManyRows, FrequenciesAreFound) {
  constexpr double kFrequency = 1.37;
  const Table table = long_table(kFrequency);
  TrainCase on(table, "y ~ periodic(t)");
  const Dataset open = open_rows(table, on.encoder, std::vector<bool>(table.rows, true), nullptr, 0.0);
  find_frequencies(on.spec, on.rows, likelihood_named("gaussian"), 4, on.encoder);
  const std::vector<double> found = on.encoder.kernel_columns[0].summary.frequencies;
  ASSERT_FALSE(found.empty());
  EXPECT_NEAR(found[0], kFrequency, 1e-3);
  find_frequencies(on.spec, open, likelihood_named("gaussian"), 4, on.encoder);
  EXPECT_EQ(on.encoder.kernel_columns[0].summary.frequencies, found);
}

// A grid is that of all rows, though only some are looked at.
TEST(ManyRows, GridsReachTheEnds) {
  const Table table = long_table(0.01);
  const TrainCase on(table, "y ~ rbf(t, points=8)");
  const Dataset open = open_rows(table, on.encoder, std::vector<bool>(table.rows, true), nullptr, 0.0);
  const at::Tensor points = by_path(on.model()->state()).at("term1.map.points");
  EXPECT_EQ(points.min().item<double>(), -17.0);
  EXPECT_EQ(points.max().item<double>(), 1012.0);
  const Model other(on.spec, on.encoder, open, {});
  EXPECT_TRUE(at::equal(by_path(other.state()).at("term1.map.points"), points));
}

// Rows that are not held take little, however many numbers they become.
TEST(ManyRows, AreNotCounted) {
  const Table table = generic_table(2000);
  FitOptions options = short_training();
  const double held = estimate_fit(table, parse_formula("y ~ mlp(a, b, c, t, s, u)"), options).bytes;
  options.held_bytes = 0.0;
  const double open = estimate_fit(table, parse_formula("y ~ mlp(a, b, c, t, s, u)"), options).bytes;
  // by hand: of each of 2000 rows twice 6 numbers of 4 bytes and a target of 8, against 8 bytes
  EXPECT_DOUBLE_EQ(held - open, 2000.0 * (2.0 * (6.0 * 4.0 + 8.0) - 8.0));
}

}  // namespace
}  // namespace ick
