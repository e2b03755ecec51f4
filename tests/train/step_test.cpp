#include "train/step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/parallel.h"
#include "support/train_case.h"
#include "train/trainer.h"

namespace ick {
namespace {

FitOptions options_of(const std::string& likelihood = "gaussian") {
  FitOptions options;
  options.epochs = 3, options.batch = 300, options.patience = 3;
  options.optimiser = Optimiser::adamw;
  options.learning_rate = 0.01;
  options.kernels = KernelTraining::learned;
  options.likelihood = likelihood;
  return options;
}

struct Outcome {
  double loss = 0.0;
  TensorState gradients;
};

Outcome differentiate(const TrainCase& on, FitOptions options, Path path, std::int64_t members,
                      const std::function<void(Batch&)>& change = {}) {
  options.path = path;
  ModelOptions of;
  of.members = members;
  of.layers = {9, 5};
  of.outputs = options.likelihood == "categorical" ? 3 : 1;
  Model model(on.spec, on.encoder, on.rows, of);
  const FitHooks hooks;
  Trainer trainer(model, likelihood_objective(model, options), options, on.rows, nullptr, 1.0, hooks, "train");
  EXPECT_EQ(trainer.fused(), path == Path::fused);
  Batch batch = batch_of(on.rows, 0, on.rows.size());
  if (change) change(batch);
  Outcome outcome;
  outcome.loss = trainer.differentiate(batch);
  for (const NamedTensor& each : all_parameters(model)) {
    outcome.gradients.emplace_back(each.path, each.value.grad().to(at::kDouble).clone());
  }
  return outcome;
}

void expect_equal(const Outcome& fused, const Outcome& reference) {
  EXPECT_NEAR(fused.loss, reference.loss, 2e-6 * (1.0 + std::abs(reference.loss)));
  ASSERT_EQ(fused.gradients.size(), reference.gradients.size());
  for (std::size_t i = 0; i < fused.gradients.size(); ++i) {
    const at::Tensor &one = fused.gradients[i].second, &other = reference.gradients[i].second;
    const double scale = other.abs().max().item<double>();
    EXPECT_GT(scale, 0.0) << fused.gradients[i].first;
    EXPECT_LT((one - other).abs().max().item<double>(), 2e-5 * scale) << fused.gradients[i].first;
  }
}

// 600 rows: three chunks, the last one short.
constexpr std::int64_t kRows = 600;

TEST(FusedStep, EqualsAutogradForEveryShapeOfModel) {
  for (const char* formula :
       {"y ~ mlp(a, b, c)",
        "y ~ mlp(a, b, activation=tanh) * rbf(t, points=6) * periodic(s, period=2) + matern32(u, points=5)",
        "y ~ mlp(a) * mlp(b, c, activation=relu) * rbf(t, points=7)",
        "y ~ mlp(a) * mlp(b) * mlp(c, layers=4) + linear(u)",
        "y ~ mlp(a, activation=silu) * rbf(t, features=fourier, points=10)",
        "y ~ rbf(t, points=9) + periodic(s, period=2)",
        "y ~ mlp(a, activation=erf) * rbf(t, features=hilbert, points=8) + mlp(b)"}) {
    SCOPED_TRACE(formula);
    const TrainCase on(generic_table(kRows), formula);
    for (const std::int64_t members : {1, 3}) {
      expect_equal(differentiate(on, options_of(), Path::fused, members),
                   differentiate(on, options_of(), Path::reference, members));
    }
  }
}

TEST(FusedStep, EqualsAutogradForEveryLoss) {
  const TrainCase on(generic_table(kRows), "y ~ mlp(a, b) * rbf(t, points=6)");
  for (const char* loss : {"gaussian", "mae", "huber", "gaussian_nll"}) {
    SCOPED_TRACE(loss);
    expect_equal(differentiate(on, options_of(loss), Path::fused, 2),
                 differentiate(on, options_of(loss), Path::reference, 2));
  }
  const auto classes = [](int count) {
    return [count](Batch& batch) { batch.y = batch.y.mul(10.0).round().abs().remainder(count); };
  };
  for (const std::string family : {"student", "poisson", "negative_binomial", "bernoulli", "probit", "categorical"}) {
    SCOPED_TRACE(family);
    FitOptions options = options_of();
    options.likelihood = family;
    const auto change = classes(family == "categorical" ? 3 : likelihood_named(family).has_classes() ? 2 : 4);
    expect_equal(differentiate(on, options, Path::fused, 2, change),
                 differentiate(on, options, Path::reference, 2, change));
  }
}

TEST(FusedStep, EqualsAutogradWithWeightsAndTargetsOfMembers) {
  const TrainCase on(generic_table(kRows), "y ~ mlp(a, b) * rbf(t, points=6)");
  const auto change = [](Batch& batch) {
    const std::vector<double> numbers = normal_numbers(2 * kRows, 5);
    const at::Tensor drawn = at::tensor(numbers).view({2, kRows});
    batch.weights = drawn.abs().to(at::kFloat);
    batch.y = batch.y + drawn;
  };
  for (const char* loss : {"gaussian", "gaussian_nll"}) {
    expect_equal(differentiate(on, options_of(loss), Path::fused, 2, change),
                 differentiate(on, options_of(loss), Path::reference, 2, change));
  }
}

TEST(FusedStep, LeavesToAutogradWhatItCannotDo) {
  const auto fits = [](const std::string& formula, bool own_kernels = false) {
    const TrainCase on(generic_table(50), formula);
    ModelOptions options;
    options.members = 2;
    options.outputs = own_kernels ? 3 : 1;
    options.own_kernels = own_kernels;
    return FusedStep::fits(Model(on.spec, on.encoder, on.rows, options));
  };
  EXPECT_TRUE(fits("y ~ mlp(a)"));
  EXPECT_FALSE(fits("y ~ mlp(a, dropout=0.5)"));
  EXPECT_FALSE(fits("y ~ mlp(a, norm=layer)"));
  EXPECT_TRUE(fits("y ~ mlp(a) * rbf(b)"));
  EXPECT_FALSE(fits("y ~ mlp(a) * rbf(b)", true));
  const TrainCase on(generic_table(50), "y ~ mlp(a)");
  const auto model = on.model(1);
  to_double(*model);
  EXPECT_FALSE(FusedStep::fits(*model));
}

// Ten steps: rounding has not yet grown into anything.
TEST(FusedStep, TrainsAsAutogradDoes) {
  const TrainCase on(generic_table(kRows), "y ~ mlp(a, b) * periodic(s, period=2) + rbf(t, points=6)");
  std::vector<at::Tensor> ends;
  for (const Path path : {Path::fused, Path::reference}) {
    const auto model = on.model(3);
    FitOptions options = options_of();
    options.path = path;
    const FitHooks hooks;
    Trainer trainer(*model, likelihood_objective(*model, options), options, on.rows, nullptr, 1.0, hooks, "train");
    for (int step = 0; step < 10; ++step) trainer.step(batch_of(on.rows, 60 * step, 60));
    at::NoGradGuard no_grad;
    ends.push_back((*model)(batch_of(on.rows, 0, kRows)));
  }
  EXPECT_LT((ends[0] - ends[1]).abs().max().item<double>(), 1e-4);
}

TEST(FusedStep, GivesTheSameBitsForAnyNumberOfWorkers) {
  const TrainCase on(generic_table(kRows), "y ~ mlp(a, b) * periodic(s, period=2) + rbf(t, points=6)");
  std::vector<TensorState> states;
  for (const int count : {1, 2, 3}) {
    set_workers(count);
    const auto model = on.model(3);
    const FitOptions options = options_of();
    const FitHooks hooks;
    Trainer trainer(*model, likelihood_objective(*model, options), options, on.rows, &on.rows, 1.0, hooks, "train");
    trainer.run();
    states.push_back(model->state());
  }
  set_workers(1);
  for (std::size_t s = 1; s < states.size(); ++s) {
    for (std::size_t i = 0; i < states[0].size(); ++i) {
      EXPECT_TRUE(at::equal(states[0][i].second, states[s][i].second)) << states[0][i].first;
    }
  }
}

}  // namespace
}  // namespace ick
