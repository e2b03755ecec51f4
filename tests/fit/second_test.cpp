#include "fit/second.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/seed.h"
#include "ick/inference/engine.h"

namespace ick {
namespace {

// 300 days of a line with little noise.
Table line() {
  Column t, y;
  t.info.name = "t", y.info.name = "y";
  t.info.type = ColumnType::time;
  std::vector<double> times, values;
  Random random(3);
  for (int i = 0; i < 300; ++i) times.push_back(15'000.0 + i), values.push_back(0.1 * i + random.normal());
  t.values = times, y.values = values;
  Table table;
  table.rows = 300;
  table.columns = {t, y};
  return table;
}

FitOptions with_refit(Refit refit) {
  FitOptions options;
  options.refit = refit;
  return options;
}

// The plan of a line, its first model, and what is said of another as its second.
std::string said_of(const Table& other_rows, const std::string& formula, bool wild = false, bool first_wild = false) {
  const Table table = line();
  const FitPlan plan = plan_fit(table, parse_formula("y ~ linear(t)"), {});
  const Fit first = fit_model(table, parse_formula("y ~ linear(t)"), with_refit(Refit::no));
  const Fit second = fit_model(other_rows, parse_formula(formula), with_refit(Refit::yes));
  const Encoder& encoder = first.model.encoder;
  const Dataset unseen = open_rows(table, encoder, plan.validation);
  const at::Tensor mean = moments_at(*first.model.posterior, *first.model.likelihood, unseen).mean;
  return why_second_is_wrong(table, plan, {*first.model.posterior, encoder, first_wild},
                             {*second.model.posterior, second.model.encoder, wild},
                             mean * encoder.target_scaling.sd + encoder.target_scaling.mean);
}

TEST(Second, TheSameFormulaOnAllRowsIsRight) { EXPECT_EQ(said_of(line(), "y ~ linear(t)"), ""); }

TEST(Second, RowsThatWereAddedAreToBePredictedAsBefore) {
  Table other = line();
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) values.push_back(other.columns[1].values[i] + (i >= 240 ? 3.0 : 0.0));
  other.columns[1].values = values;
  EXPECT_EQ(said_of(other, "y ~ linear(t)"),
            "it predicts the rows that were added worse than the model that had not seen them");
}

// A short lengthscale knows its rows, and falls back to their mean after them, where the line goes on.
TEST(Second, AfterTheLastRowTheFirstModelVouches) {
  EXPECT_EQ(said_of(line(), "y ~ rbf(t, lengthscale=10d)"),
            "after its last row it departs from the first model by more than that one erred after its own");
}

TEST(Second, IsNotToBeWildWhereTheFirstIsNot) {
  EXPECT_EQ(said_of(line(), "y ~ linear(t)", /*wild=*/true),
            "between its rows it predicts far beyond the range of the target");
  EXPECT_EQ(said_of(line(), "y ~ linear(t)", /*wild=*/true, /*first_wild=*/true), "");
}

// An engine whose second training is spoiled: one is kept all the same, the first.
std::shared_ptr<const FunctionPosterior> spoiled(Stage& stage, const StageRun& run) {
  const std::shared_ptr<const FunctionPosterior> posterior = engine_named("ensemble").fit(stage, run);
  if (run.before == nullptr) return posterior;
  for (const NamedTensor& each : stage.model().network_parameters()) {
    if (each.path == "bias") each.value.detach().add_(3.0);
  }
  return posterior;
}

TEST(Second, ASpoiledOneIsPutAside) {
  Engine engine = engine_named("ensemble");
  engine.name = "spoiled";
  engine.fit = spoiled;
  add_engine(engine);
  FitOptions options;
  options.epochs = 3, options.members = 1;
  const std::string formula = "y ~ mlp(t, layers=8)";
  options.refit = Refit::no;
  const Fit first = fit_model(line(), formula, options);
  options.refit = Refit::yes;
  const auto mentions = [](const Fit& fit) {
    for (const Message& each : fit.report.remarks) {
      if (each.text().find("a second training, with them, was put aside") != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_FALSE(mentions(fit_model(line(), formula, options)));
  options.posterior = "spoiled";
  const Fit kept = fit_model(line(), formula, options);
  EXPECT_TRUE(mentions(kept));
  EXPECT_EQ(kept.report.options.refit, Refit::no);
  EXPECT_EQ(kept.model.predict(line()).mean, first.model.predict(line()).mean);
  EXPECT_EQ(kept.model.predict(line()).upper, first.model.predict(line()).upper);
}

// Members of another posterior, drawn together in a second training: half as far from their mean.
class Narrow : public FunctionPosterior {
 public:
  explicit Narrow(std::shared_ptr<const FunctionPosterior> of)
      : FunctionPosterior(of->shared_model()), of_(std::move(of)) {}
  const Engine& engine() const override { return engine_named("narrow"); }
  FunctionMoments at(const Batch& batch, const Likelihood& likelihood) const override {
    const FunctionMoments found = of_->at(batch, likelihood);
    return {found.mean, 0.25 * found.variance};
  }
  at::Tensor draws(const Batch& batch, const Likelihood& likelihood, std::int64_t count,
                   std::uint64_t seed) const override {
    const at::Tensor mean = of_->at(batch, likelihood).mean;
    return mean + 0.5 * (of_->draws(batch, likelihood, count, seed) - mean);
  }

 private:
  std::shared_ptr<const FunctionPosterior> of_;
};

// Its function's variance at the rows that the first training learns from, in the target's units squared.
double median_variance(const CompositePredictor& model, const Table& table, const std::vector<bool>& rows) {
  const double sd = model.encoder.target_scaling.sd;
  const Dataset some = open_rows(table, model.encoder, rows);
  const at::Tensor sorted = std::get<0>(moments_at(*model.posterior, *model.likelihood, some).variance.sort());
  return sorted[(some.size() - 1) / 2].item<double>() * sd * sd;
}

TEST(Second, ItsMembersSpreadAsThoseOfTheFirst) {
  Engine engine = engine_named("ensemble");
  engine.name = "narrow";
  engine.fit = [](Stage& stage, const StageRun& run) -> std::shared_ptr<const FunctionPosterior> {
    const std::shared_ptr<const FunctionPosterior> posterior = engine_named("ensemble").fit(stage, run);
    return run.before == nullptr ? posterior : std::make_shared<Narrow>(posterior);
  };
  add_engine(engine);
  const Table table = line();
  const std::string formula = "y ~ mlp(t, layers=8)";
  FitOptions options;
  options.epochs = 3, options.members = 4;
  options.validation = parse_split("t >= 2011-09-23");  // rows of a condition cannot be left out in turn
  const FitPlan plan = plan_fit(table, parse_formula(formula), options);
  options.refit = Refit::no;
  const Fit first = fit_model(table, formula, options);
  EXPECT_EQ(first.model.spread, 1.0);
  options.refit = Refit::yes;
  options.posterior = "narrow";
  const CompositePredictor model = fit_model(table, formula, options).model;
  const double before = median_variance(first.model, table, plan.training),
               own = median_variance(model, table, plan.training);
  EXPECT_GT(before, own);
  EXPECT_NEAR(model.spread, before / own, 1e-9 * before / own);

  // as many draws as members: their moments are those of the prediction
  const Prediction p = model.predict(table);
  const auto drawn = model.draw(table, {.count = 4, .seed = 5, .noise = false});
  for (std::size_t i = 0; i < 300; i += 50) {
    double mean = 0.0, square = 0.0;
    for (const auto& each : drawn) mean += each[i] / 4.0, square += each[i] * each[i] / 4.0;
    EXPECT_NEAR(mean, p.mean[i], 1e-4);
    EXPECT_NEAR(std::sqrt(square - mean * mean), p.function_sd[i], 1e-3 * p.function_sd[i]);
  }
}

}  // namespace
}  // namespace ick
