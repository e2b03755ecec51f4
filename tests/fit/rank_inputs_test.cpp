#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/fit/fit.h"
#include "ick/store/model_directory.h"
#include "support/store_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

// y is a wave of z, and a network reads exp(spread z).
Table wave(double spread) {
  Columns columns = {{"x", {}}, {"y", {}}};
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const double z = random.normal();
    columns[0].second.push_back(std::exp(spread * z));
    columns[1].second.push_back(std::sin(2.0 * z) + 0.1 * random.normal());
  }
  return make_table(columns);
}

constexpr char kFormula[] = "y ~ mlp(x, layers=[16, 16])";

FitOptions few_epochs() {
  FitOptions options;
  options.epochs = 60;
  options.members = 2;
  options.refit = Refit::no;
  return options;
}

bool says_ranks(const Fit& fit) {
  for (const Message& each : fit.report.remarks) {
    if (each.text().find("networks read numbers by their ranks") == 0) return true;
  }
  return false;
}

double rmse_of(const Fit& fit) { return fit.report.validation->rmse; }

TEST(RankInputs, AreTakenWhereValidationRowsAreBetterPredicted) {
  const Table table = wave(3.0);
  FitOptions options = few_epochs();
  const Fit chosen = fit_model(table, kFormula, options);
  EXPECT_TRUE(says_ranks(chosen));
  EXPECT_EQ(chosen.report.options.inputs, NumberInputs::ranks);
  options.inputs = NumberInputs::standard;
  const Fit standard = fit_model(table, kFormula, options);
  EXPECT_FALSE(says_ranks(standard));
  options.inputs = NumberInputs::ranks;
  const Fit asked = fit_model(table, kFormula, options);
  EXPECT_FALSE(says_ranks(asked));
  EXPECT_EQ(rmse_of(asked), rmse_of(chosen));  // the same fit
  EXPECT_LT(rmse_of(chosen), 0.7 * rmse_of(standard));
  EXPECT_LT(rmse_of(chosen), 0.2);  // noise 0.1
  EXPECT_EQ(rmse_of(fit_model(table, "y ~ mlp(rank(x), layers=[16, 16])", options)), rmse_of(chosen));
}

TEST(RankInputs, AreNotTakenOfSymmetricColumns) {
  Columns columns = {{"x", {}}, {"y", {}}};
  for (int i = 0; i < 300; ++i) columns[0].second.push_back(i), columns[1].second.push_back(2.0 * i + i % 3);
  const Fit line = fit_model(make_table(columns), kFormula, few_epochs());
  EXPECT_FALSE(says_ranks(line));
  EXPECT_EQ(line.report.options.inputs, NumberInputs::standard);
}

TEST(RankInputs, AreKeptWithTheModel) {
  const Table table = wave(3.0);
  FitOptions options = few_epochs();
  options.inputs = NumberInputs::ranks;
  options.epochs = 5;
  const Fit fit = fit_model(table, kFormula, options);
  const ScratchFolder folder;
  save_model(fit, folder / "m", table, {"wave.csv", table.names(), 1});
  expect_same(load_model(folder / "m").model->predict(table), fit.model.predict(table));
  EXPECT_TRUE(verify_model(folder / "m").passed);
}

// In its second training, which has to know what the first has chosen.
TEST(RankInputs, AreTheSameAfterAnInterruption) {
  const Table table = wave(3.0);
  FitOptions options = few_epochs();
  options.refit = Refit::yes;
  options.epochs = 20;
  const Formula formula = parse_formula(kFormula);
  int steps = 0;
  FitHooks count;
  count.interrupted = [&] { return ++steps < 0; };
  const Fit whole = fit_model(table, formula, options, count);
  ASSERT_TRUE(says_ranks(whole));
  std::vector<std::string> phases;
  for (const int stop : {steps / 8, steps / 3, steps / 2, 2 * steps / 3}) {
    Checkpoint kept;
    int asked = 0;
    FitHooks hooks;
    hooks.interrupted = [&] { return ++asked > stop; };
    hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
    EXPECT_THROW(fit_model(table, formula, options, hooks), Interrupted);
    phases.push_back(kept.phase);
    const Fit resumed = fit_model(table, formula, options, {}, &kept);
    expect_same(resumed.model.predict(table), whole.model.predict(table));
  }
  EXPECT_EQ(phases.front(), "train");
  EXPECT_EQ(phases.back(), "refit");
}

}  // namespace
}  // namespace ick
