#include "train/trainer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/train_case.h"

namespace ick {
namespace {

constexpr char kHybrid[] =
    "y ~ mlp(a, b, layers=[5, 4], activation=tanh) * rbf(t, points=6) * periodic(s, period=2) + matern32(u, points=5)";

FitOptions plain_options(std::int64_t epochs, std::int64_t batch) {
  FitOptions options;
  options.epochs = epochs, options.batch = batch, options.patience = epochs;
  options.optimiser = Optimiser::adamw;
  options.schedule = Schedule::constant;
  options.learning_rate = 0.01;
  return options;
}

TensorState values_of(const Model& model) {
  TensorState values;
  for (const NamedTensor& each : all_parameters(model)) values.emplace_back(each.path, each.value.detach().clone());
  return values;
}

TensorState gradients_of(const Model& model) {
  TensorState gradients;
  for (const NamedTensor& each : all_parameters(model)) gradients.emplace_back(each.path, each.value.grad().clone());
  return gradients;
}

// One loop over members and rows, from the definitions of the losses.
double naive_loss(const std::string& loss, const at::Tensor& f, const at::Tensor& y, double log_noise) {
  double total = 0.0;
  for (std::int64_t e = 0; e < f.size(0); ++e) {
    double mean = 0.0;
    for (std::int64_t i = 0; i < f.size(1); ++i) {
      const double r = f[e][i].item<double>() - y[i].item<double>(), size = std::abs(r);
      double each = 0.0;
      if (loss == "mse") each = r * r;
      if (loss == "mae") each = size;
      if (loss == "huber") each = size < 1.0 ? 0.5 * r * r : size - 0.5;
      if (loss == "gaussian_nll") {
        const double s = std::exp(0.5 * log_noise);
        each = -std::log(std::exp(-0.5 * r * r / (s * s)) / (s * std::sqrt(2.0 * std::numbers::pi)));
      }
      mean += each / static_cast<double>(f.size(1));
    }
    total += mean;
  }
  return total;
}

// A trainer in float64 of two members.
struct LossCase {
  std::unique_ptr<Model> model;
  FitOptions options = plain_options(1, 24);
  FitHooks hooks;
  std::optional<Trainer> trainer;

  LossCase(const TrainCase& on, const std::string& loss) : model(on.model(2)) {
    to_double(*model);
    options.likelihood = loss;
    trainer.emplace(*model, likelihood_objective(*model, options), options, on.rows, nullptr, 1.0, hooks, "train");
  }
};

TEST(TrainerLoss, IsTheDefinitionAndItsGradientThatOfDifferences) {
  const TrainCase on(generic_table(24), kHybrid);
  for (const std::string loss : {"mse", "mae", "huber", "gaussian_nll"}) {
    SCOPED_TRACE(loss);
    LossCase of(on, loss);
    const Batch batch = batch_of(on.rows, 0, 24);
    const at::Tensor f = (*of.model)(batch).detach();
    const at::Tensor losses = of.trainer->loss(batch);
    EXPECT_NEAR(losses.sum().item<double>(), naive_loss(loss, f, batch.y, std::log(0.1)), 1e-11);
    losses.sum().backward();
    for (const NamedTensor& each : all_parameters(*of.model)) {
      const bool is_kernel = each.path == "kernel";
      const GradientCheck check = check_parameter(
          each.value, [&] { return of.trainer->loss(batch).sum(); },
          is_kernel ? free_columns(of.model->kernel()) : at::Tensor());
      EXPECT_GT(check.largest, 1e-4) << each.path;
      EXPECT_LT(check.error, 1e-6) << each.path;
    }
  }
}

// Members that see other targets, and rows more than once or not at all.
TEST(TrainerLoss, OfRowsThatMembersSeeDifferently) {
  const TrainCase on(generic_table(24), kHybrid);
  for (const std::string loss : {"mse", "mae", "huber", "gaussian_nll"}) {
    SCOPED_TRACE(loss);
    LossCase of(on, loss);
    Batch batch = batch_of(on.rows, 0, 24);
    batch.y = at::stack({on.rows.y, on.rows.y.flip(0)});
    const at::Tensor f = (*of.model)(batch).detach(), losses = of.trainer->loss(batch);
    for (std::int64_t e = 0; e < 2; ++e) {
      const double expected = naive_loss(loss, f.narrow(0, e, 1), batch.y[e], std::log(0.1));
      EXPECT_NEAR(losses[e].item<double>(), expected, 1e-11);
    }
    // Weights that are counts: the rows written out as often, the others not, over all rows.
    at::Tensor counts = at::zeros({2, 24}, at::kDouble);
    for (std::int64_t i = 0; i < 24; ++i) counts[0][(7 * i * i) % 24] += 1.0, counts[1][i] = 1.0;
    batch.weights = counts;
    const at::Tensor weighted = of.trainer->loss(batch);
    std::vector<std::int64_t> again;
    for (std::int64_t i = 0; i < 24; ++i) again.push_back((7 * i * i) % 24);
    const at::Tensor index = at::tensor(again, at::kLong);
    const double expected =
        naive_loss(loss, f.narrow(0, 0, 1).index_select(1, index), batch.y[0].index_select(0, index), std::log(0.1));
    EXPECT_NEAR(weighted[0].item<double>(), expected, 1e-11);
    EXPECT_NEAR(weighted[1].item<double>(), losses[1].item<double>(), 1e-11);
  }
}

TEST(TrainerLoss, GaussianLearnsTheNoise) {
  const TrainCase on(generic_table(64), "y ~ mlp(a, layers=[4])");
  const auto model = on.model(2);
  FitOptions options = plain_options(400, 64);
  options.likelihood = "gaussian_nll";
  options.learning_rate = 0.05, options.kernel_rate = 1.0;
  const FitHooks hooks;
  Trainer trainer(*model, likelihood_objective(*model, options), options, on.rows, nullptr, 1.0, hooks, "train");
  EXPECT_NEAR(trainer.noise(), std::sqrt(0.1), 1e-12);
  trainer.run();
  // At the optimum s^2 is the mean square of the residuals, for each member.
  const at::Tensor residual = (*model)(batch_of(on.rows, 0, 64)).detach().to(at::kDouble) - on.rows.y;
  EXPECT_NEAR(trainer.noise(), residual.square().mean().sqrt().item<double>(), 0.01);
}

// -log p(y | f, s), with f = model + shift and a scale, both of its own: neither is known to gradient descent.
class ShiftedObjective : public Objective {
 public:
  explicit ShiftedObjective(std::int64_t members)
      : shift_(at::zeros({members}, at::kDouble).requires_grad_(true)),
        log_variance_(at::zeros({members}, at::kDouble).requires_grad_(true)) {}

  at::Tensor loss(const Model& model, const Batch& batch, const std::optional<at::Generator>&) const override {
    const at::Tensor r = batch.y - model(batch).to(at::kDouble) - shift_.unsqueeze(1);
    const at::Tensor t = log_variance_.unsqueeze(1);
    return (0.5 * t + 0.5 * r.square() * (-t).exp()).mean(1);
  }
  std::vector<at::Tensor> parameters() const override { return {shift_, log_variance_}; }
  Sum validate(const at::Tensor& f, const Batch& batch) const override {
    const at::Tensor r = batch.y - f.to(at::kDouble).mean(0) - shift_.detach().mean();
    return {r.abs().sum().item<double>(), static_cast<double>(r.size(0))};
  }
  double score(double mean_cost, double unit) const override { return unit * mean_cost; }
  std::string_view measure() const override { return "mae"; }
  double noise() const override { return (0.5 * log_variance_.detach()).exp().mean().item<double>(); }

  at::Tensor shift() const { return shift_.detach(); }

 private:
  at::Tensor shift_, log_variance_;
};

TEST(TrainerObjective, MayBeAnyAndBringParametersOfItsOwn) {
  const TrainCase on(generic_table(64), "y ~ linear(a)");
  const auto model = on.model(2);
  FitOptions options = plain_options(600, 64);
  options.learning_rate = 0.03, options.kernel_rate = 1.0, options.patience = 600;
  FitHooks hooks;
  std::string measure;
  double score = 0.0;
  hooks.progress = [&](const Progress& p) { measure = p.measure, score = p.validation; };
  auto objective = std::make_unique<ShiftedObjective>(2);
  const ShiftedObjective& own = *objective;
  Trainer trainer(*model, std::move(objective), options, on.rows, &on.rows, 2.0, hooks, "train");
  EXPECT_FALSE(trainer.fused());
  trainer.run();
  EXPECT_GT(own.shift().abs().min().item<double>(), 0.0);
  const at::Tensor f = (*model)(batch_of(on.rows, 0, 64)).detach().to(at::kDouble) + own.shift().unsqueeze(1);
  EXPECT_NEAR(trainer.noise(), (f - on.rows.y).square().mean(1).sqrt().mean().item<double>(), 0.02);
  EXPECT_EQ(measure, "mae");
  EXPECT_GT(score, 0.0);
  // and what it learned is in a checkpoint
  const Checkpoint kept = trainer.checkpoint();
  auto again = std::make_unique<ShiftedObjective>(2);
  const ShiftedObjective& restored = *again;
  const auto other = on.model(2);
  Trainer resumed(*other, std::move(again), options, on.rows, &on.rows, 2.0, FitHooks(), "train");
  resumed.restore(kept);
  EXPECT_TRUE(restored.shift().equal(own.shift()));
}

TEST(TrainerClip, BringsEachMemberDownByItself) {
  const TrainCase on(generic_table(24), kHybrid);
  const Batch batch = batch_of(on.rows, 0, 24);
  FitOptions options = plain_options(1, 24);
  const FitHooks hooks;
  const auto free = on.model(3), held = on.model(3);
  Trainer(*free, likelihood_objective(*free, options), options, on.rows, nullptr, 1.0, hooks, "train").step(batch);
  const TensorState gradients = gradients_of(*free);
  std::vector<double> squares(3, 0.0);
  for (const auto& [path, gradient] : gradients) {
    for (std::int64_t e = 0; e < 3; ++e) {
      const at::Tensor one = gradient[e].to(at::kDouble).contiguous().flatten();
      for (std::int64_t i = 0; i < one.numel(); ++i) squares[e] += std::pow(one.data_ptr<double>()[i], 2);
    }
  }
  std::sort(squares.begin(), squares.end());
  options.clip = std::sqrt(0.5 * (squares[0] + squares[1]));  // one member stays below it
  ASSERT_GT(std::sqrt(squares[1]), 1.01 * options.clip);
  Trainer(*held, likelihood_objective(*held, options), options, on.rows, nullptr, 1.0, hooks, "train").step(batch);
  int changed = 0;
  const TensorState clipped = gradients_of(*held);
  for (std::int64_t e = 0; e < 3; ++e) {
    double square = 0.0;
    for (const auto& [path, gradient] : gradients) square += gradient[e].to(at::kDouble).square().sum().item<double>();
    const double factor = std::min(1.0, options.clip / std::sqrt(square));
    changed += factor < 1.0;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      const at::Tensor expected = gradients[k].second[e].to(at::kDouble) * factor;
      const at::Tensor found = clipped[k].second[e].to(at::kDouble);
      EXPECT_TRUE(at::allclose(found, expected, 1e-6, 1e-12)) << gradients[k].first << ", member " << e;
    }
  }
  EXPECT_EQ(changed, 2);
}

// With absolute residuals and targets far above the model the gradient of the bias is -1: plain descent moves it by
// the learning rate itself.
std::vector<double> rates_of(Schedule schedule, std::int64_t epochs, std::int64_t steps) {
  Table table = generic_table(4 * steps);
  const TrainCase on(table, "y ~ mlp(a, layers=[2])");
  Dataset rows = on.rows;
  rows.y = rows.y + 1e6;
  const auto model = on.model();
  to_double(*model);
  FitOptions options = plain_options(epochs, 4);
  options.optimiser = Optimiser::sgd;
  options.momentum = 0.0, options.weight_decay = 0.0;
  options.likelihood = "mae";
  options.schedule = schedule;
  options.learning_rate = 0.25;
  const at::Tensor bias = parameter_of(*model, "bias");
  std::vector<double> path;
  FitHooks hooks;
  hooks.interrupted = [&] {
    path.push_back(bias.item<double>());
    return false;
  };
  Trainer trainer(*model, likelihood_objective(*model, options), options, rows, nullptr, 1.0, hooks, "train");
  trainer.run();
  path.push_back(bias.item<double>());
  std::vector<double> rates;
  for (std::size_t i = 1; i < path.size(); ++i) rates.push_back((path[i] - path[i - 1]) / 0.25);
  return rates;
}

TEST(TrainerSchedule, FollowsItsFormula) {
  const double pi = std::numbers::pi;
  const std::vector<double> constant = rates_of(Schedule::constant, 2, 5);
  ASSERT_EQ(constant.size(), 10u);
  for (const double rate : constant) EXPECT_NEAR(rate, 1.0, 1e-12);

  const std::vector<double> cosine = rates_of(Schedule::cosine, 4, 5);
  ASSERT_EQ(cosine.size(), 20u);
  EXPECT_NEAR(cosine[0], 1.0, 1e-12);
  EXPECT_NEAR(cosine[5], 0.505 + 0.495 * std::cos(pi / 4.0), 1e-12);
  EXPECT_NEAR(cosine[10], 0.505, 1e-12);
  EXPECT_NEAR(cosine[19], 0.505 + 0.495 * std::cos(0.95 * pi), 1e-12);

  // 40 steps: up during the first 4, from a tenth; half way down at 4 + 36 / 2.
  const std::vector<double> cycle = rates_of(Schedule::onecycle, 8, 5);
  ASSERT_EQ(cycle.size(), 40u);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(cycle[i], 0.1 + 0.225 * i, 1e-12);
  EXPECT_NEAR(cycle[4], 1.0, 1e-12);
  EXPECT_NEAR(cycle[13], 0.505 + 0.495 * std::cos(pi / 4.0), 1e-12);
  EXPECT_NEAR(cycle[22], 0.505, 1e-12);
  EXPECT_NEAR(cycle[39], 0.505 + 0.495 * std::cos(35.0 / 36.0 * pi), 1e-12);
}

// With targets that are the model's own values every gradient is zero, and only decay moves anything.
TEST(TrainerDecay, IsOfWeightsAlone) {
  for (const Optimiser optimiser : {Optimiser::adamw, Optimiser::adam, Optimiser::sgd}) {
    SCOPED_TRACE(choice_name(optimiser));
    const TrainCase on(generic_table(24), std::string(kHybrid) + " + mlp(c, layers=[3], norm=layer)");
    const auto model = on.model();
    for (const NamedTensor& each : model->network_parameters()) {  // biases that start at zero could not shrink
      if (!each.decays) each.value.detach().add_(0.3);
    }
    FitOptions options = plain_options(1, 24);
    options.optimiser = optimiser;
    options.weight_decay = 0.5;
    const FitHooks hooks;
    Trainer trainer(*model, likelihood_objective(*model, options), options, on.rows, nullptr, 1.0, hooks, "train");
    Batch batch = batch_of(on.rows, 0, 24);
    batch.y = (*model)(batch).detach()[0].to(at::kDouble);
    const auto before = by_path(values_of(*model));
    EXPECT_EQ(trainer.step(batch), 0.0);
    int decayed = 0;
    for (const auto& [path, value] : values_of(*model)) {
      if (path.ends_with("weight")) {
        ++decayed;
        EXPECT_TRUE((value.abs() < before.at(path).abs()).all().item<bool>()) << path;
        if (optimiser == Optimiser::adam) continue;  // its step has one size
        EXPECT_TRUE(at::allclose(value, before.at(path) * (1.0 - 0.01 * 0.5), 1e-6, 0.0)) << path;
      } else {
        EXPECT_TRUE(at::equal(value, before.at(path))) << path;
      }
    }
    EXPECT_EQ(decayed, 6);  // 3 and 2 layers, and the weights of the term without networks
  }
}

// Rows of each batch, in order: with one input for each row, a row was read where the first layer has a gradient.
std::vector<std::set<std::int64_t>> batches_of(std::uint64_t seed, std::int64_t rows, std::int64_t batch,
                                               std::int64_t epochs) {
  Table table = generic_table(rows);
  Column& column = table.columns[0];
  column.info.type = ColumnType::category;
  std::vector<double> codes;
  for (std::int64_t i = 0; i < rows; ++i) {
    column.info.levels.push_back(std::to_string(i));
    codes.push_back(static_cast<double>(i));
  }
  column.values = codes;
  const TrainCase on(table, "y ~ mlp(a, layers=[3], activation=tanh)");
  const auto model = on.model();
  FitOptions options = plain_options(epochs, batch);
  options.seed = seed;
  const at::Tensor weight = parameter_of(*model, "term1.mlp1.layer1.weight");
  std::vector<std::set<std::int64_t>> batches;
  const auto look = [&] {
    std::set<std::int64_t>& found = batches.emplace_back();
    for (std::int64_t i = 0; i < rows; ++i) {
      if (weight.grad()[0][i].abs().max().item<double>() > 0.0) found.insert(i);
    }
    return false;
  };
  FitHooks hooks;
  hooks.interrupted = look;
  Trainer trainer(*model, likelihood_objective(*model, options), options, on.rows, nullptr, 1.0, hooks, "train");
  trainer.run();
  look();
  batches.erase(batches.begin());  // seen before the first step
  return batches;
}

TEST(TrainerOrder, IsAPermutationOfItsOwnForEachEpochAndSeed) {
  const auto first = batches_of(1, 19, 6, 3), other = batches_of(2, 19, 6, 3);
  ASSERT_EQ(first.size(), 12u);
  for (const auto& batches : {first, other}) {
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      std::set<std::int64_t> all;
      std::size_t count = 0;
      for (std::size_t step = 0; step < 4; ++step) {
        const auto& rows = batches[4 * epoch + step];
        EXPECT_EQ(rows.size(), step < 3 ? 6u : 1u);
        count += rows.size();
        all.insert(rows.begin(), rows.end());
      }
      EXPECT_EQ(count, 19u);
      EXPECT_EQ(all.size(), 19u);
    }
  }
  EXPECT_NE(first[0], first[4]);
  EXPECT_NE(first[4], first[8]);
  EXPECT_NE(first[0], other[0]);
  EXPECT_EQ(first, batches_of(1, 19, 6, 3));
}

TEST(TrainerStop, GoesBackToTheBestEpoch) {
  const TrainCase on(generic_table(60), "y ~ mlp(a, b, c, s, t, layers=[32, 16]) * rbf(u, points=8)");
  const Dataset training = on.rows.select(at::arange(0, 40, at::kLong));
  const Dataset validation = on.rows.select(at::arange(40, 60, at::kLong));
  const auto model = on.model(2);
  FitOptions options = plain_options(60, 10);
  options.learning_rate = 0.02;
  options.patience = 12;
  std::vector<double> scores;  // of the validation rows, after each epoch
  std::vector<TensorState> states;
  FitHooks hooks;
  hooks.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.epoch, std::ssize(scores) + 1);
    scores.push_back(progress.validation);
    states.push_back(model->state());
    EXPECT_EQ(progress.best, *std::min_element(scores.begin(), scores.end()));
  };
  constexpr double kUnit = 2.5;
  Trainer trainer(*model, likelihood_objective(*model, options), options, training, &validation, kUnit, hooks, "train");
  trainer.run();
  const auto best = std::min_element(scores.begin(), scores.end());
  EXPECT_EQ(trainer.best_epoch(), best - scores.begin() + 1);
  EXPECT_EQ(trainer.epochs_done(), std::ssize(scores));
  ASSERT_LT(trainer.epochs_done(), 60) << "patience was never put to the test";
  EXPECT_EQ(trainer.epochs_done() - trainer.best_epoch(), 12);
  EXPECT_EQ(first_difference(model->state(), states[trainer.best_epoch() - 1]), "");
  EXPECT_NE(first_difference(model->state(), states.back()), "");

  // Twice: whatever the last step left behind must not come back.
  for (int repeat = 0; repeat < 2; ++repeat) {
    const at::Tensor f = (*model)(batch_of(validation, 0, 20)).detach().to(at::kDouble).mean(0);
    // Validation goes the fast path, in float32.
    EXPECT_NEAR(kUnit * (f - validation.y).square().mean().sqrt().item<double>(), *best, 1e-6 * *best);
  }
}

TEST(TrainerStop, EndsWithTheLastEpochWithoutValidationRows) {
  const TrainCase on(generic_table(20), "y ~ mlp(a, layers=[3])");
  const auto model = on.model();
  FitOptions options = plain_options(7, 8);
  options.patience = 2;
  TensorState last;
  int epochs = 0;
  FitHooks hooks;
  hooks.progress = [&](const Progress& progress) {
    EXPECT_TRUE(std::isnan(progress.validation));
    EXPECT_TRUE(std::isnan(progress.best));
    last = model->state();
    ++epochs;
  };
  Trainer trainer(*model, likelihood_objective(*model, options), options, on.rows, nullptr, 1.0, hooks, "train");
  trainer.run();
  EXPECT_EQ(epochs, 7);
  EXPECT_EQ(first_difference(model->state(), last), "");

  const auto shorter = on.model();
  const FitHooks none;
  Trainer first(*shorter, likelihood_objective(*shorter, options), options, on.rows, nullptr, 1.0, none, "train");
  first.run(3);
  EXPECT_EQ(first.epochs_done(), 3);
}

TEST(TrainerStop, ALossThatIsNotFiniteIsAnError) {
  const TrainCase on(generic_table(20), "y ~ mlp(a, layers=[3]) * rbf(t, points=4)");
  Dataset broken = on.rows;
  broken.y = on.rows.y.clone();
  broken.y[13] = std::numeric_limits<double>::quiet_NaN();
  const FitOptions options = plain_options(2, 20);
  const FitHooks hooks;
  const auto model = on.model();
  Trainer trainer(*model, likelihood_objective(*model, options), options, broken, nullptr, 1.0, hooks, "train");
  EXPECT_THROW(trainer.run(), NumericError);
}

// A term with two networks and a kernel, one of a network alone, one of weights alone.
constexpr char kMixedTerms[] =
    "y ~ mlp(a, layers=[5]) * mlp(b, layers=[3]) * rbf(t, points=4) + mlp(c, layers=[4]) + matern32(u, points=6)";

// Features computed once give the steps that features computed at every step give.
TEST(HeldKernels, TakeTheSameSteps) {
  const TrainCase data(generic_table(64), kMixedTerms);
  std::vector<double> losses[2];
  for (int held = 0; held < 2; ++held) {
    const auto model = data.model(3);
    const at::Tensor kernel = model->kernel().parameters().raw().detach().clone();
    FitOptions options;
    options.optimiser = Optimiser::adamw;
    options.epochs = 5, options.batch = 16, options.patience = 5, options.learning_rate = 0.01;
    options.kernels = held == 1 ? KernelTraining::held : KernelTraining::learned;
    options.kernel_rate = 0.0;
    FitHooks hooks;
    hooks.progress = [&](const Progress& p) { losses[held].push_back(p.loss); };
    Trainer trainer(*model, likelihood_objective(*model, options), options, data.rows, nullptr, 1.0, hooks, "train");
    trainer.run();
    EXPECT_TRUE(at::equal(kernel, model->kernel().parameters().raw().detach()));
  }
  ASSERT_EQ(losses[0].size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 1e-5 * losses[0][i]);
}

TEST(TrainerMembers, DoNotKnowOfEachOther) {
  const TrainCase on(generic_table(30), kHybrid);
  const FitOptions options = plain_options(3, 8);
  const FitHooks hooks;
  const auto alone = on.model(1), among = on.model(3);
  EXPECT_EQ(on.model(1)->state().size(), on.model(3)->state().size());
  Trainer one(*alone, likelihood_objective(*alone, options), options, on.rows, nullptr, 1.0, hooks, "train");
  Trainer three(*among, likelihood_objective(*among, options), options, on.rows, nullptr, 1.0, hooks, "train");
  one.run();
  three.run();
  for (const NamedTensor& each : all_parameters(*alone)) {
    const at::Tensor twin = parameter_of(*among, each.path);
    EXPECT_TRUE(at::allclose(each.value[0], twin[0], 1e-5, 1e-6)) << each.path;
    EXPECT_FALSE(at::allclose(twin[0], twin[1], 1e-3, 1e-4)) << each.path;
  }
}

}  // namespace
}  // namespace ick
