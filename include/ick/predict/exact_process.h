#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "ick/predict/composite.h"

// The Gaussian process that a model approximates, computed without features and without networks: the oracle.
namespace ick {

// Its covariance, in standardised units of the target:
//   k(x, x') = v (sum_t share prod_a K_ta(x_a, x_a') k_t(x, x') + b)
// K_ta the NNGP (for an engine of tangents: NTK) kernel of a term's network, k_t its kernels; b = 1 for models with a
// bias. UsageError for networks without a kernel in closed form, or more than one in a term of an ntk.
class ExactProcess {
 public:
  ExactProcess(const CompositePredictor& model, double amplitude) : model_(model), amplitude_(amplitude) {}

  at::Tensor covariance(const Dataset& a, const Dataset& b) const;  // (n, m) in float64
  at::Tensor variance(const Dataset& rows) const;                   // (n)

  // Mean and variance of the function at `rows` given the targets of `training`, whose noise has these variances (n).
  std::pair<at::Tensor, at::Tensor> posterior(const Dataset& training, const at::Tensor& noise,
                                              const Dataset& rows) const;

 private:
  const CompositePredictor& model_;
  double amplitude_;
};

// A model beside the exact process with its kernels' parameters and noise.
struct Comparison {
  std::int64_t training_rows = 0, rows = 0;  // conditioned on, compared at
  bool same_rows = false;  // the model knows the same training rows: it was solved again on them, or there are no more
  double mean_difference = 0.0;      // rms, in the target's units (of the logarithm for log targets)
  double relative_difference = 0.0;  // rms, in the exact process's sd of an observation
  double sd_ratio = 0.0;             // mean of the model's sd of the function over the exact one
  double sd_difference = 0.0;        // mean of |ratio - 1|
  bool scored = false;               // the compared rows have targets:
  Scores model, exact;               // scores on them; intervals are Gaussian for both
};

// In the model's encoding: `training` with targets, `compared` of the rows of `table`, with targets or without. With
// `solve_again` models in closed form (nngp, ntk, exact, neighbours) are given these training rows instead of their
// own.
Comparison compare_with_exact(const CompositePredictor& model, const Table& table, const Dataset& training,
                              const Dataset& compared, bool solve_again);

// New rows where there are none: points on lines from one of `rows` to a near one. A near one is, of some that are
// drawn, the nearest in numbers and times of `columns`, over their sds; levels, texts and gaps are those of the first.
Table points_between(const Table& table, const std::vector<std::int64_t>& rows, const std::vector<ColumnInfo>& columns,
                     std::int64_t count, std::uint64_t seed);

}  // namespace ick
