#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ick/base/seed.h"
#include "ick/fit/fit.h"
#include "inference/engines.h"
#include "inference/stage.h"

namespace ick {
namespace {

// y = a b for two weeks of hours: nothing goes by the time of day.
Table product_of_numbers() {
  Random random(8);
  Table table;
  table.rows = 336;
  for (const char* const name : {"hour", "a", "b", "y"}) {
    Column& column = table.columns.emplace_back();
    column.info.name = name;
    std::vector<double> values;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      const std::string of = name;
      values.push_back(of == "hour" ? static_cast<double>(i)
                       : of == "y"  ? table.columns[1].values[i] * table.columns[2].values[i] + 0.01 * random.normal()
                                    : random.normal());
    }
    column.values = values;
  }
  return table;
}

struct Trained {
  Table table = product_of_numbers();
  FitOptions options;
  FitPlan plan;
  FitHooks hooks;
  std::unique_ptr<Stage> stage;

  explicit Trained(const std::string& formula) {
    options.epochs = 2, options.layers = {8}, options.members = 2;
    plan = plan_fit(table, parse_formula(formula), options);
    stage = std::make_unique<Stage>(table, plan, plan.training, "train", hooks);
    descend_and_polish(*stage, {});
  }
  const Parameter& parameter(const std::string& name) const {
    return stage->model().kernel().parameters().find("term1.hour.periodic." + name);
  }
  static at::Tensor raw(const Stage& of, const Parameter& each) {
    return of.model().kernel().parameters().raw().detach().select(1, each.first);
  }
};

// A lengthscale that was found far from its prior's mode goes back to it in the other start; the rest stays as found.
TEST(UsualLengthscales, AreThePriorsAndTheRestIsTakenOver) {
  const Trained first("y ~ mlp(a, b) * periodic(hour, period=24)");
  const Parameter &length = first.parameter("lengthscale"), &variance = first.parameter("variance");
  Trained::raw(*first.stage, length).fill_(length.prior[0].centre + 0.6);
  EXPECT_FALSE(first.stage->has_unusual_lengthscales());
  Trained::raw(*first.stage, length).fill_(length.prior[0].centre + std::log(20.0));
  EXPECT_TRUE(first.stage->has_unusual_lengthscales());
  EXPECT_TRUE(first.stage->has_unusual_lengthscales(/*at_edge=*/true));  // of 10 with 1% probability
  Trained::raw(*first.stage, length).fill_(length.prior[0].centre + 1.0);
  EXPECT_TRUE(first.stage->has_unusual_lengthscales());
  EXPECT_FALSE(first.stage->has_unusual_lengthscales(/*at_edge=*/true));

  Stage other(first.table, first.plan, first.plan.training, "train", first.hooks);
  other.start_with_usual_lengthscales();
  descend_and_polish(other, {nullptr, first.stage.get()});
  EXPECT_FALSE(other.has_unusual_lengthscales());
  EXPECT_LT((Trained::raw(other, length) - length.prior[0].centre).abs().max().item<double>(), 1e-12);
  EXPECT_TRUE(Trained::raw(other, variance).equal(Trained::raw(*first.stage, variance)));
}

TEST(UsualLengthscales, AreNotForWhatTheFormulaStates) {
  EXPECT_FALSE(Trained("y ~ mlp(a, b) * periodic(hour, period=24, lengthscale=30)").stage->has_unusual_lengthscales());
  const Trained alone("y ~ mlp(a, b) + periodic(hour, period=24)");  // no network multiplies it
  const Parameter& length = alone.stage->model().kernel().parameters().find("term2.hour.periodic.lengthscale");
  Trained::raw(*alone.stage, length).fill_(length.prior[0].centre + std::log(20.0));
  EXPECT_FALSE(alone.stage->has_unusual_lengthscales());
}

}  // namespace
}  // namespace ick
