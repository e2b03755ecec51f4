#include "baseline/sparse_training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

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

SparseTraining::SparseTraining(const ParameterSet& parameters, ProcessKernel kernel, at::Tensor points,
                               double log_noise, SparseRows rows, const Settings& settings)
    : columns_(parameters.columns()),
      rows_(std::move(rows)),
      settings_(settings),
      process_(std::move(kernel), std::move(points), log_noise),
      q_(Variational::prior(process_.points().size(0))),
      scale_(unit_of(rows_.inputs)),
      numbers_(numbers_of(parameters.raw())) {
  columns_.push_back({Constraint::real(), settings.held_noise, kNoisePrior});
  numbers_.push_back(log_noise);
  for (const double each : numbers_of(process_.points() / scale_)) numbers_.push_back(each);
  first_.assign(numbers_.size(), 0.0), second_.assign(numbers_.size(), 0.0);
}

void SparseTraining::step(const SparseBatch& batch, const SparseProcess::Seen& seen, double scale) {
  SparseProcess::Slopes slopes;
  process_.bound(q_, batch, seen, scale, &slopes);
  const std::size_t known = columns_.size();
  std::vector<double> d_natural = std::move(slopes.theta);
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
  process_ = SparseProcess(std::move(kernel), points.view_as(process_.points()) * scale_, numbers_[known - 1]);
}

void SparseTraining::batch(const at::Tensor& index) {
  const SparseBatch some = rows_.batch(index);
  const SparseProcess::Seen seen = process_.see(some);
  const auto n = static_cast<double>(rows_.size()), count = static_cast<double>(index.size(0));
  SparseProcess::follow(seen, n / count, std::max(kLeastRate, count / n), q_);
  if (++batches_ % kBatchesPerStep == 0) step(some, seen, n / count);
}

void SparseTraining::run(const std::function<void()>& tick) {
  const std::int64_t n = rows_.size(), count = std::min(kBatch, n);
  Random random(seed_for(settings_.seed, "sparse batches"));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  while (steps_ < settings_.steps) {
    for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    // what is left over at the end of an epoch is in the next one
    for (std::int64_t first = 0; first + count <= n && steps_ < settings_.steps; first += count) {
      tick();
      batch(at::tensor(at::ArrayRef<std::int64_t>(order).slice(first, count), at::kLong));
    }
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
