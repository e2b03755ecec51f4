#include "ick/baseline/baseline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/ick.h"
#include "ick/store/model_directory.h"
#include "support/message.h"
#include "support/store_case.h"
#include "support/table_case.h"

namespace ick {
namespace {

FitOptions options_of(const std::string& model) {
  FitOptions options;
  options.model = model;
  options.validation = parse_split("random=20%");
  return options;
}

TEST(Baseline, MeanIsTheMeanOfAllRowsThatAreNotHeldOut) {
  const Table table = mixed_table(200, 5);
  FitOptions options = options_of("mean");
  options.holdout = parse_split("random=25%");
  const Fitted fitted = fit(table, "y ~ mlp(a, b)", options);
  const std::vector<bool> held = held_out(table, options.holdout, seed_for(0, "holdout"));
  double sum = 0.0, squares = 0.0, rows = 0.0;
  const Numbers& y = table.column("y").values;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!held[i]) sum += y[i], rows += 1.0;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (held[i]) squares += std::pow(y[i] - sum / rows, 2);
  }
  const Prediction p = fitted->predict(table);
  for (const double each : p.mean) EXPECT_NEAR(each, sum / rows, 1e-12);
  const FitReport& report = fitted.report();
  EXPECT_EQ(report.holdout_rows, 50);
  EXPECT_NEAR(report.holdout->rmse, std::sqrt(squares / 50.0), 1e-12);
  EXPECT_EQ(report.training_rows + report.validation_rows, 150);
  EXPECT_EQ(report.calibrated_on, "5 folds");
  EXPECT_NEAR(report.holdout->coverage.at("0.9"), 0.9, 0.1);
  EXPECT_TRUE(fitted->columns().empty());
}

TEST(Baseline, WeightsOffsetsAndTransformsAreThoseOfTheFormula) {
  Table table = mixed_table(120, 6);
  table.columns.push_back(column_of("w", {}));
  std::vector<double> w;
  for (std::int64_t i = 0; i < table.rows; ++i) w.push_back(1.0 + static_cast<double>(i % 5));
  table.columns.back().values = w;
  FitOptions options = options_of("mean");
  options.validation = Split{};
  const Fitted fitted = fit(table, "log(y) ~ mlp(a) + weights(w) + offset(b)", options);
  double sum = 0.0, weight = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    sum += w[i] * (std::log(table.column("y").values[i]) - table.column("b").values[i]), weight += w[i];
  }
  const Prediction p = fitted->predict(table);
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(p.location[i], sum / weight + table.column("b").values[i], 1e-12);
    EXPECT_LT(p.lower[i], p.mean[i]);
    EXPECT_GT(p.lower[i], 0.0);
  }
}

TEST(Baseline, MeanOfClassesIsTheirShares) {
  const Table table = mixed_table(150, 7);
  const Fitted fitted = fit(table, "site ~ mlp(a)", options_of("mean"));
  const Prediction p = fitted->predict(table);
  std::vector<double> counts(3, 0.0);
  for (const double code : table.column("site").values) counts[static_cast<std::size_t>(code)] += 1.0;
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(p.probability[c][7], (counts[c] + 1.0 / 3.0) / 151.0, 1e-12);
  EXPECT_TRUE(fitted.report().class_validation);
  EXPECT_FALSE(fitted.report().validation);
}

TEST(Baseline, IsSavedLoadedAndVerified) {
  const Table table = mixed_table(100, 8);
  const Fitted fitted = fit(table, "y ~ mlp(a)", options_of("mean"));
  const ScratchFolder folder;
  fitted.save(folder / "m");
  EXPECT_TRUE(verify_model(folder / "m").passed);
  const auto loaded = load(folder / "m");
  EXPECT_EQ(loaded->kind(), "baseline");
  const Prediction before = fitted->predict(table), after = loaded->predict(table);
  EXPECT_EQ(before.mean, after.mean);
  EXPECT_EQ(before.upper, after.upper);
}

TEST(Baseline, SaysWhichCanServe) {
  const Table table = mixed_table(100, 9);
  for (const BaselineChoice& each : baselines_for(table, "y ~ mlp(a, b)")) {
    if (each.name == "mean") {
      EXPECT_EQ(each.why_not, "");
    }
    EXPECT_FALSE(each.text.empty());
  }
  FitOptions options = options_of("mean");
  options.likelihood = "poisson";
  options.noise_formula = "";
  EXPECT_NE(message_of<UsageError>([&] {
              fit(mixed_table(100, 9), "floor ~ mlp(a)", options);
            }).find("its noise is Gaussian, and this is likelihood=poisson"),
            std::string::npos);
  options.model = "maen";
  EXPECT_NE(message_of<UsageError>([&] { fit(table, "y ~ mlp(a)", options); }).find("did you mean \"mean\""),
            std::string::npos);
}

TEST(Baseline, SettingsThatHaveNoEffectAreSaid) {
  FitOptions options = options_of("mean");
  options.epochs = 7;
  options.seed = 3;
  std::string said;
  FitControl control;
  control.remark = [&](const Message& remark) { said += remark.text() + "\n"; };
  fit(mixed_table(100, 9), "y ~ mlp(a)", options, control);
  EXPECT_EQ(said, "epochs has no effect with model=mean\n");
}

}  // namespace
}  // namespace ick
