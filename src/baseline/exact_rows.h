#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>

#include "baseline/process_kernel.h"
#include "baseline/sparse_process.h"

namespace ick {

// Rows that an exact process is conditioned on: as its kernel sees them, (n, inputs), and the variances of their noise (n).
struct ExactRows {
  ProcessKernel kernel;
  at::Tensor inputs, noise;

  std::int64_t size() const { return inputs.size(0); }
};

// By the Cholesky factor of C = K + D, O(n^3):
//   mean = k_*x C^-1 y,   variance = k_** - k_*x C^-1 k_x*,   log p(y) = -(y'C^-1 y + log|C| + n log(2 pi)) / 2
class DenseProcess {
 public:
  explicit DenseProcess(ExactRows rows);        // NumericError where C has no factor
  at::Tensor solve(const at::Tensor& y) const;  // C^-1 y (n)
  double log_likelihood(const at::Tensor& y) const;
  at::Tensor variance(const at::Tensor& inputs) const;  // of rows (m, inputs): (m)

 private:
  ExactRows rows_;
  at::Tensor factor_;  // (n, n)
};

// C^-1 y by preconditioned conjugate gradients, O(n^2) for each step, from the covariances in memory. The sparse process
// with inducing points Z is the preconditioner, by Woodbury's identity, and gives the start:
//   P = K_xz K_zz^-1 K_zx + D = A'A + D,   P^-1 = D^-1 - D^-1 A' (I + A D^-1 A')^-1 A D^-1
struct Solved {
  at::Tensor solution;  // (n)
  int steps = 0;
  double residual = 0.0;    // |C a - y| / |y|
  SparsePrediction sparse;  // whose variances stand for those of the exact process
};
// `sparse` has noise zero: that of each row comes on top of it. Until the residual is `tolerance`, or NumericError after kMostConjugateSteps.
inline constexpr int kMostConjugateSteps = 1000;
Solved solve_by_gradients(const ExactRows& rows, const at::Tensor& y, const SparseProcess& sparse, double tolerance,
                          const std::function<void()>& tick);

at::Tensor mean_of(const ExactRows& rows, const at::Tensor& solution, const at::Tensor& inputs);  // k_*x a (m)

}  // namespace ick
