#include "baseline/sparse_training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "ick/base/seed.h"
#include "ick/kernel/constraint.h"
#include "train/evidence.h"
#include "train/fused_update.h"

namespace ick {

namespace {

// Of a natural-gradient step: q remembers some ten batches, or all rows where these are no more.
constexpr double kLeastRate = 0.1;

at::Tensor unit_of(const at::Tensor& inputs) {  // (inputs)
  const at::Tensor sd = inputs.std(0, false);
  return at::where(sd > 0, sd, at::ones_like(sd));
}

}  // namespace

SparseBatch SparseRows::batch(const at::Tensor& index) const {
  const ProcessNoise some = noise.select(index);
  return {inputs.index_select(0, index), y.index_select(0, index), some.weights, some.error};
}

BatchOrder::BatchOrder(std::int64_t rows, std::int64_t most, std::uint64_t seed)
    : order_(static_cast<std::size_t>(rows)), count_(std::min(most, rows)), first_(rows), random_(seed) {
  std::iota(order_.begin(), order_.end(), 0);
}

at::Tensor BatchOrder::next() {
  const std::int64_t n = std::ssize(order_);
  if (first_ + count_ > n) {
    for (std::int64_t i = n - 1; i > 0; --i) std::swap(order_[i], order_[random_.below(i + 1)]);
    first_ = 0;
  }
  first_ += count_;
  return at::tensor(at::ArrayRef<std::int64_t>(order_).slice(first_ - count_, count_), at::kLong);
}

SparseTraining::SparseTraining(const ParameterSet& parameters, ProcessKernel kernel, at::Tensor points,
                               double log_noise, SparseRows rows, const Settings& settings)
    : columns_(parameters.columns()),
      rows_(std::move(rows)),
      settings_(settings),
      process_(std::move(kernel), std::move(points), log_noise, settings.products),
      q_(Variational::prior(process_.points().size(0))),
      scale_(unit_of(rows_.inputs)),
      numbers_(numbers_of(parameters.raw())) {
  columns_.push_back({Constraint::real(), settings.held_noise, kNoisePrior});
  numbers_.push_back(log_noise);
  for (const double each : numbers_of(process_.points() / scale_)) numbers_.push_back(each);
  first_.assign(numbers_.size(), 0.0), second_.assign(numbers_.size(), 0.0);
}

double SparseTraining::scale_of(const SparseBatch& batch) const {
  return static_cast<double>(rows_.size()) / static_cast<double>(batch.y.size(0));
}

SparseProcess::Seen SparseTraining::follow(const SparseBatch& batch) {
  const SparseProcess::Seen seen = process_.see(batch);
  const double share = static_cast<double>(batch.y.size(0)) / static_cast<double>(rows_.size());
  SparseProcess::follow(seen, scale_of(batch), std::max(kLeastRate, share), q_);
  return seen;
}

SparseProcess::Slopes SparseTraining::slopes_at(const SparseBatch& batch, const SparseProcess::Seen& seen) const {
  SparseProcess::Slopes slopes;
  process_.bound(q_, batch, seen, scale_of(batch), &slopes);
  return slopes;
}

void SparseTraining::step(const SparseProcess::Slopes& slopes) {
  const std::size_t known = columns_.size();
  std::vector<double> d_natural = slopes.theta;
  d_natural.push_back(slopes.log_noise);
  std::vector<double> gradient(known, 0.0);
  for (std::size_t i = 0; i < known; ++i) {
    if (columns_[i].fixed) continue;
    gradient[i] =
        columns_[i].prior.slope(numbers_[i]) - d_natural[i] * constrain_slope(columns_[i].constraint, numbers_[i]);
  }
  for (const double each : numbers_of(-slopes.points * scale_)) gradient.push_back(each);
  const double done = static_cast<double>(steps_) / static_cast<double>(settings_.steps);
  AdamSettings adam;
  adam.rate = 0.5 * settings_.rate * (1.0 + std::cos(std::numbers::pi * std::min(1.0, done)));
  adam.step = ++steps_;
  fused_adam(adam, std::ssize(numbers_), gradient.data(), numbers_.data(), first_.data(), second_.data());

  std::vector<double> theta;
  for (std::size_t i = 0; i + 1 < known; ++i) theta.push_back(constrain(columns_[i].constraint, numbers_[i]));
  ProcessKernel kernel = process_.kernel();
  kernel.set_theta(std::move(theta));
  const at::Tensor points = at::tensor(at::ArrayRef<double>(numbers_).slice(known), at::kDouble);
  process_ = SparseProcess(std::move(kernel), points.view_as(process_.points()) * scale_, numbers_[known - 1],
                           settings_.products);
}

void SparseTraining::batch(const at::Tensor& index) {
  const SparseBatch some = rows_.batch(index);
  const SparseProcess::Seen seen = follow(some);
  if (++batches_ % kBatchesPerStep == 0) step(slopes_at(some, seen));
}

at::Tensor SparseTraining::batch(const SparseBatch& some) {
  const SparseProcess::Slopes slopes = slopes_at(some, follow(some));
  const at::Tensor of_rows = process_.row_slopes(some, slopes);
  step(slopes);
  return of_rows;
}

void SparseTraining::run(const std::function<void()>& tick) {
  BatchOrder order(rows_.size(), kBatch, seed_for(settings_.seed, "sparse batches"));
  while (steps_ < settings_.steps) {
    tick();
    batch(order.next());
  }
}

SparsePrediction solve_sparse(const SparseProcess& process, const SparseRows& rows, const std::function<void()>& tick) {
  const SparseProcess exact(process.kernel(), process.points(), process.log_noise(), at::kDouble);
  Variational q = Variational::prior(process.points().size(0));
  for (std::int64_t first = 0; first < rows.size(); first += SparseTraining::kBatch) {
    tick();
    const std::int64_t last = std::min(first + SparseTraining::kBatch, rows.size());
    const SparseProcess::Seen seen = exact.see(rows.batch(at::arange(first, last, at::kLong)));
    q.precision += seen.gram, q.right += seen.right;
  }
  return prediction_of(exact, q);
}

}  // namespace ick
