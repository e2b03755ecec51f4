#include "ick/ick.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "support/store_case.h"

// The public API, as somebody else's program uses it.
namespace ick {
namespace {

Table weeks(int rows) {
  std::vector<double> day, load, y;
  std::vector<std::string> site;
  for (int i = 0; i < rows; ++i) {
    day.push_back(i);
    load.push_back(std::fmod(0.37 * i, 1.0));
    site.push_back(i % 3 == 0 ? "a" : "b");
    y.push_back(3.0 * std::sin(0.8975979 * i) + load.back() + (i % 3 == 0) + 0.2 * std::fmod(0.618034 * i, 1.0));
  }
  return Table::from({Column::numbers("day", day), Column::numbers("load", load), Column::categories("site", site),
                      Column::numbers("y", y)});
}

constexpr const char* kFormula = "y ~ periodic(day, period=7) + linear(load) + categorical(site)";

TEST(Api, FitsSavesAndLoads) {
  const Table table = weeks(150);
  FitOptions options;
  options.holdout = parse_split("last(day)=20%");
  std::vector<std::string> phases;
  FitControl control;
  control.progress = [&](const Progress& p) { phases.push_back(p.phase); };
  const Fitted fitted = fit(table, kFormula, options, control);
  EXPECT_LT(fitted.report().holdout->rmse, 0.2);
  EXPECT_FALSE(phases.empty());
  ASSERT_FALSE(fitted.report().history.empty());
  EXPECT_EQ(fitted.report().history.front().epoch, 1);
  EXPECT_NEAR(fitted->noise_sd(), 0.06, 0.03);  // of evenly spread numbers up to 0.2: 0.2 / sqrt(12)
  EXPECT_EQ(fitted->formula(), kFormula);
  const ParameterValue period = fitted->parameter("term1.day.periodic.period");
  EXPECT_NEAR(period.values.at(0), 7.0, 0.2);
  EXPECT_THROW(fitted->parameter("term1.day.periodic.perod"), UsageError);

  const ScratchFolder folder;
  fitted.save(folder / "m");
  const std::shared_ptr<const Predictor> again = load(folder / "m");
  const Prediction before = fitted->predict(table), after = again->predict(table);
  EXPECT_EQ(before.mean, after.mean);
  EXPECT_EQ(before.sd, after.sd);
  EXPECT_NEAR(again->evaluate(table).scores.rmse, fitted->evaluate(table).scores.rmse, 1e-12);
}

// Draws of observations have the predictive mean and standard deviation; those of the function its own.
TEST(Api, DrawsAreOfThePredictiveDistribution) {
  const Table table = weeks(150);
  const Fitted fitted = fit(table, kFormula);
  const Prediction p = fitted->predict(table);
  constexpr std::int64_t kCount = 4000;
  for (const bool noise : {true, false}) {
    const auto drawn = fitted->draw(table, {.count = kCount, .seed = 3, .noise = noise});
    ASSERT_EQ(std::ssize(drawn), kCount);
    for (const std::size_t row : {0u, 70u, 149u}) {
      double sum = 0.0, squares = 0.0;
      for (const std::vector<double>& each : drawn) sum += each[row], squares += each[row] * each[row];
      const double mean = sum / kCount, sd = std::sqrt(squares / kCount - mean * mean);
      const double expected = noise ? p.sd[row] : p.function_sd[row];
      EXPECT_NEAR(mean, p.mean[row], 4.0 * expected / std::sqrt(kCount));
      EXPECT_NEAR(sd / expected, 1.0, 0.06);
    }
    EXPECT_EQ(drawn, fitted->draw(table, {.count = kCount, .seed = 3, .noise = noise}));
  }
}

// Few features leave much of the kernel out; draws have that, too, for every engine that draws numbers.
TEST(Api, DrawsHaveWhatFeaturesMiss) {
  const Table table = weeks(120);
  for (const char* posterior : {"ensemble", "nngp", "ntk", "laplace"}) {
    FitOptions options;
    options.posterior = posterior;
    options.epochs = 5;
    options.layers = {16};
    options.members = std::string(posterior) == "laplace" ? 1 : 40;
    const Fitted fitted = fit(table, "y ~ mlp(load) * rbf(day, points=4)", options);
    const Prediction p = fitted->predict(table);
    const auto drawn = fitted->draw(table, {.count = 2000, .seed = 5, .noise = false});
    for (const std::size_t row : {10u, 77u}) {
      double sum = 0.0, squares = 0.0;
      for (const auto& each : drawn) sum += each[row], squares += each[row] * each[row];
      const double mean = sum / 2000.0, sd = std::sqrt(squares / 2000.0 - mean * mean);
      EXPECT_NEAR(sd / p.function_sd[row], 1.0, 0.12) << posterior;
    }
  }
}

// Neighbouring rows of one draw belong to one function: their difference varies less than independent ones would.
TEST(Api, DrawsAreFunctions) {
  const Table table = weeks(150);
  const Fitted fitted = fit(table, "y ~ rbf(day, lengthscale=fixed(40))");
  const auto drawn = fitted->draw(table, {.count = 500, .seed = 1, .noise = false});
  const Prediction p = fitted->predict(table);
  double squares = 0.0;
  for (const auto& each : drawn) squares += std::pow(each[71] - each[70] - (p.mean[71] - p.mean[70]), 2.0);
  EXPECT_LT(std::sqrt(squares / 500.0), 0.3 * p.function_sd[70]);
}

TEST(Api, CanBeCancelled) {
  FitControl control;
  control.cancelled = [] { return true; };
  EXPECT_THROW(fit(weeks(60), "y ~ mlp(day, load)", {}, control), Interrupted);
}

TEST(Api, MessagesNameSettingsNotFlags) {
  FitOptions options;
  options.posterior = "nngp";
  options.members = 1;
  try {
    fit(weeks(60), "y ~ mlp(day)", options);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "posterior=nngp with one member has no spread; ask for members=30 or more (at least 2)");
  }
}

TEST(TableFrom, ChecksItsColumns) {
  EXPECT_THROW(Table::from({Column::numbers("a", {1.0}), Column::numbers("a", {2.0})}), UsageError);
  EXPECT_THROW(Table::from({Column::numbers("a", {1.0}), Column::numbers("b", {2.0, 3.0})}), UsageError);
  const Column when = Column::times("when", {"2019-05-16", "", "2019-05-17T12:00:00Z"}, "%Y-%m-%d");
  EXPECT_EQ(when.info.type, ColumnType::time);
  EXPECT_EQ(when.missing, 1);
  EXPECT_EQ(when.values[2] - when.values[0], 1.5);
  EXPECT_THROW(Column::times("when", std::vector<std::string>{"2019-05-16", "yesterday"}), DataError);
  const Column site = Column::categories("site", {"b", "", "a", "b"});
  EXPECT_EQ(site.info.levels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(site.values[3], 1.0);
  EXPECT_TRUE(std::isnan(site.values[1]));
  EXPECT_EQ(Column::numbers("n", {1.0, 2.0}).info.type, ColumnType::integer);
  EXPECT_EQ(Column::numbers("n", {1.0, 2.5}).info.type, ColumnType::number);
}

}  // namespace
}  // namespace ick
