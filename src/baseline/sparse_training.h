#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "baseline/process_task.h"
#include "baseline/sparse_process.h"
#include "ick/base/seed.h"
#include "ick/kernel/parameter.h"

namespace ick {

// Rows of a sparse process: as its kernel sees them, (n, inputs), targets (n), and the noise of rows.
struct SparseRows {
  at::Tensor inputs, y;
  ProcessNoise noise;

  std::int64_t size() const { return inputs.size(0); }
  SparseBatch batch(const at::Tensor& index) const;  // (B) in int64
};

// Mini-batches of at most `most` of the rows 0 .. rows - 1, which each epoch takes in another order; what is left over at
// the end of one is in the next.
class BatchOrder {
 public:
  BatchOrder(std::int64_t rows, std::int64_t most, std::uint64_t seed);

  at::Tensor next();                                                    // (B) in int64
  std::int64_t batches() const { return std::ssize(order_) / count_; }  // of an epoch

 private:
  std::vector<std::int64_t> order_;
  std::int64_t count_, first_;
  Random random_;
};

// Stochastic training: q follows each mini-batch by a natural-gradient step, kernel parameters, noise and inducing points
// each kBatchesPerStep-th one by a step of Adam (Kingma and Ba 2015), up the bound plus the logarithms of the priors. By a
// count of products such a step costs as much as four of q.
class SparseTraining {
 public:
  static constexpr std::int64_t kBatch = 1024, kPoints = 512, kBatchesPerStep = 3;

  struct Settings {
    std::int64_t steps = 300;  // of Adam in all
    double rate = 0.02;  // of it at the start, in the logarithm of a parameter, in sds of an input; to zero as a cosine
    bool held_noise = false;
    std::uint64_t seed = 0;
    at::ScalarType products = at::kFloat;  // of the process
  };
  // `parameters` are those of the kernel, one member, whose present values count.
  SparseTraining(const ParameterSet& parameters, ProcessKernel kernel, at::Tensor points, double log_noise,
                 SparseRows rows, const Settings& settings);

  void run(const std::function<void()>& tick);
  // One mini-batch: `index` (B) of the rows.
  void batch(const at::Tensor& index);
  // The same of rows whose inputs move with what they are made by: q and then all the rest follow them. Returns the
  // derivatives of the bound in the inputs, (B, inputs), see SparseProcess::row_slopes().
  at::Tensor batch(const SparseBatch& some);

  const SparseProcess& process() const { return process_; }
  const SparseRows& rows() const { return rows_; }

 private:
  double scale_of(const SparseBatch& batch) const;       // n / B
  SparseProcess::Seen follow(const SparseBatch& batch);  // by q
  SparseProcess::Slopes slopes_at(const SparseBatch& batch, const SparseProcess::Seen& seen) const;
  void step(const SparseProcess::Slopes& slopes);

  std::vector<ParameterSet::Column> columns_;  // of raw parameters, and last of log s^2
  SparseRows rows_;
  Settings settings_;
  SparseProcess process_;
  Variational q_;
  at::Tensor scale_;                    // (inputs) sd of each: the unit of points
  std::vector<double> numbers_;         // raw parameters, log s^2, points in their units
  std::vector<double> first_, second_;  // what Adam keeps of them
  std::int64_t batches_ = 0, steps_ = 0;
};

// The best q for all rows: kernel, points and noise held. In float64.
SparsePrediction solve_sparse(const SparseProcess& process, const SparseRows& rows, const std::function<void()>& tick);

}  // namespace ick
