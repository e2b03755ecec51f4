#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "baseline/deep_networks.h"
#include "baseline/sparse_training.h"
#include "train/optimiser.h"

namespace ick {

// A sparse process and the networks that its kernel reads, up the bound together. Kernel parameters, noise, points and q
// move as in SparseTraining; the derivatives in what the process reads of a mini-batch go back through the networks,
//   d bound / d weights = sum_b d bound / d g(x_b) d g(x_b) / d weights,
// and Adam moves the weights, at each mini-batch.
class DeepTraining {
 public:
  static constexpr std::int64_t kBatch = 256, kPoints = 128;  // of few outputs: 256 points predict no better
  static constexpr std::int64_t kSteps = 2000;                // at most; the rates go to zero over as many
  static constexpr std::int64_t kUnwatched = 500;             // where there are no validation rows to stop by
  static constexpr double kRate = 2e-3;                       // of the weights' Adam, at the start

  DeepTraining(const DeepNetworks& networks, SparseTraining process, const Dataset& rows, std::uint64_t seed);

  using Tick = std::function<void()>;
  void run(std::int64_t steps, const Tick& tick);
  // Until validation rows get no likelier, and back to where they were likeliest: deep kernels overfit, and the bound does
  // not tell (Ober, Rasmussen and van der Wilk 2021).
  void run(const Dataset& validation, const Tick& tick);

  // One mini-batch: leaves the derivatives of -bound / n in the gradients of the weights.
  void follow(const Dataset& batch);

  std::int64_t steps() const { return steps_; }
  SparsePrediction solve(const Tick& tick) const;  // with the best q for all rows

 private:
  void step();
  double cost(const Dataset& unseen, const Tick& tick) const;

  const DeepNetworks& networks_;
  SparseTraining process_;
  const Dataset& rows_;
  BatchOrder order_;
  at::Generator dropout_;
  ParameterGroup weights_;
  std::int64_t steps_ = 0;
};

}  // namespace ick
