#include "train/optimiser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <vector>

#include "support/train_case.h"

namespace ick {
namespace {

at::Tensor numbers(std::int64_t count, std::uint64_t seed, at::ScalarType type) {
  return at::tensor(normal_numbers(count, seed)).to(type);
}

std::unique_ptr<torch::optim::Optimizer> torchs(const FitOptions& options, double decay, const at::Tensor& value) {
  const std::vector<at::Tensor> values = {value};
  const double rate = options.learning_rate;
  if (options.optimiser == Optimiser::sgd) {
    return std::make_unique<torch::optim::SGD>(
        values, torch::optim::SGDOptions(rate).momentum(options.momentum).weight_decay(decay));
  }
  if (options.optimiser == Optimiser::adam) {
    return std::make_unique<torch::optim::Adam>(values, torch::optim::AdamOptions(rate).weight_decay(decay));
  }
  return std::make_unique<torch::optim::AdamW>(values, torch::optim::AdamWOptions(rate).weight_decay(decay));
}

TEST(Optimisers, TakeTheStepsThatTorchTakes) {
  for (const Optimiser optimiser : {Optimiser::adam, Optimiser::adamw, Optimiser::sgd}) {
    for (const auto& [type, bound] : {std::pair{at::kFloat, 1e-6}, std::pair{at::kDouble, 1e-14}}) {
      SCOPED_TRACE(choice_name(optimiser));
      FitOptions options;
      options.optimiser = optimiser;
      options.learning_rate = 0.03;
      const at::Tensor one = numbers(11, 1, type).requires_grad_(true), two = numbers(24, 2, type).requires_grad_(true);
      const at::Tensor theirs = at::cat({one.detach(), two.detach()}).clone().requires_grad_(true);
      ParameterGroup group = flatten("decaying", {one, two}, 1.0, 0.01);
      const auto optimiser_of_torch = torchs(options, 0.01, theirs);
      for (int step = 0; step < 20; ++step) {
        const at::Tensor gradient = numbers(35, 100 + step, type);
        group.value.mutable_grad().copy_(gradient);
        theirs.mutable_grad() = gradient.clone();
        update(options, options.learning_rate, group);
        optimiser_of_torch->step();
      }
      EXPECT_LT((at::cat({one.detach(), two.view(-1).detach()}) - theirs.detach()).abs().max().item<double>(), bound);
    }
  }
}

TEST(Optimisers, GoOnFromACheckpoint) {
  for (const Optimiser optimiser : {Optimiser::adamw, Optimiser::sgd}) {
    FitOptions options;
    options.optimiser = optimiser;
    const auto run = [&](ParameterGroup& group, int from, int to) {
      for (int step = from; step < to; ++step) {
        group.value.mutable_grad().copy_(numbers(6, 100 + step, at::kFloat));
        update(options, 0.05, group);
      }
    };
    const at::Tensor start = numbers(6, 3, at::kFloat);
    ParameterGroup whole = flatten("steady", {start.clone().requires_grad_(true)}, 1.0, 0.0);
    run(whole, 0, 8);

    ParameterGroup before = flatten("steady", {start.clone().requires_grad_(true)}, 1.0, 0.0);
    run(before, 0, 5);
    Checkpoint checkpoint;
    save(before, options, checkpoint);
    ParameterGroup after = flatten("steady", {at::zeros({6}).requires_grad_(true)}, 1.0, 0.0);
    restore(after, options, 5, checkpoint);
    run(after, 5, 8);
    EXPECT_TRUE(at::equal(whole.value.detach(), after.value.detach()));
  }
}

}  // namespace
}  // namespace ick
