#include "baseline/deep_training.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "baseline/process_task.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr std::int64_t kLook = 25;      // at validation rows: after as many steps, and whole epochs
constexpr std::int64_t kPatience = 10;  // looks without a better one

}  // namespace

DeepTraining::DeepTraining(const DeepNetworks& networks, SparseTraining process, const Dataset& rows,
                           std::uint64_t seed)
    : networks_(networks),
      process_(std::move(process)),
      rows_(rows),
      order_(rows.size(), kBatch, seed_for(seed, "deep batches")),
      dropout_(at::make_generator<at::CPUGeneratorImpl>(seed_for(seed, "deep dropout"))),
      weights_(flatten("networks", networks.weights(), 1.0, 0.0)) {}

void DeepTraining::follow(const Dataset& batch) {
  const at::AutoGradMode with_gradients(true);
  weights_.value.mutable_grad().zero_();
  const at::Tensor inputs = process_.process().kernel().inputs(process_x(networks_.through(batch, dropout_)));
  const ProcessNoise noise = noise_of_rows(batch);
  const at::Tensor slopes = process_.batch({inputs.detach(), batch.targets(), noise.weights, noise.error});
  inputs.backward(slopes / -static_cast<double>(rows_.size()));
}

void DeepTraining::step() {
  follow(rows_.select(order_.next()));
  const double done = static_cast<double>(steps_++) / kSteps;
  update(FitOptions{}, 0.5 * kRate * (1.0 + std::cos(std::numbers::pi * std::min(1.0, done))), weights_);
}

void DeepTraining::run(std::int64_t steps, const Tick& tick) {
  while (steps_ < steps) tick(), step();
}

// -log N(y; mean, variance + noise), the mean over rows
double DeepTraining::cost(const Dataset& unseen, const Tick& tick) const {
  const SparsePrediction prediction = solve(tick);
  const FunctionMoments found = prediction.at(prediction.kernel.inputs(process_x(networks_.through(unseen))));
  const at::Tensor variance = found.variance + noise_of_rows(unseen).variance(std::exp(process_.process().log_noise()));
  const at::Tensor squares = (unseen.targets() - found.mean).square() / variance;
  return 0.5 * (squares + (2.0 * std::numbers::pi * variance).log()).mean().item<double>();
}

void DeepTraining::run(const Dataset& validation, const Tick& tick) {
  const std::int64_t look = (kLook + order_.batches() - 1) / order_.batches() * order_.batches();
  const auto keep = [this] { return std::tuple(process_, weights_.value.detach().clone(), steps_); };
  auto best = keep();
  double least = HUGE_VAL;
  while (steps_ < kSteps && steps_ < std::get<2>(best) + kPatience * look) {
    run(steps_ + look, tick);
    if (const double found = cost(validation, tick); found < least) least = found, best = keep();
  }
  process_ = std::get<0>(best);
  weights_.value.detach().copy_(std::get<1>(best));
  steps_ = std::get<2>(best);
}

SparsePrediction DeepTraining::solve(const Tick& tick) const {
  const at::NoGradGuard no_gradient;
  const at::Tensor inputs = process_.process().kernel().inputs(process_x(networks_.through(rows_)));
  return solve_sparse(process_.process(), {inputs, rows_.targets(), noise_of_rows(rows_)}, tick);
}

}  // namespace ick
