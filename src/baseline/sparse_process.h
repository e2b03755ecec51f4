#pragma once

#include <ATen/core/Tensor.h>

#include "baseline/process_kernel.h"
#include "ick/inference/function_posterior.h"

namespace ick {

// The variational distribution q(v) = N(m, S) of a sparse process in natural parameters, in float64.
struct Variational {
  at::Tensor precision;  // S^-1 (p, p)
  at::Tensor right;      // S^-1 m (p)

  static Variational prior(std::int64_t points);  // N(0, I)
};

// Rows of a mini-batch as the kernel sees them, (B, inputs), their targets (B), and weights and known errors (B) of their
// noise (s^2 + e_i) / w_i. All in float64.
struct SparseBatch {
  at::Tensor inputs, y, weights, error;
};

// Sparse variational Gaussian process (Titsias 2009; Hensman, Fusi and Lawrence 2013), whitened, with p inducing points Z:
//   K_zz + jitter = L L',   A = L^-1 K_zx (p, B),   f(x) = a'v + rest,   v ~ N(0, I),   q(v) = N(m, S)
//   bound = scale sum_b [log N(y_b; a_b'm, 1 / beta_b) - beta_b (k_bb - |a_b|^2 + a_b'S a_b) / 2] - KL(q | prior)
// with beta_b = w_b / (s^2 + e_b), and scale = n / B for a batch of B rows of n. Large products are in `products`, the
// Cholesky factors in float64.
class SparseProcess {
 public:
  SparseProcess(ProcessKernel kernel, at::Tensor points, double log_noise, at::ScalarType products = at::kFloat,
                double jitter = kSparseJitter);

  const ProcessKernel& kernel() const { return kernel_; }
  const at::Tensor& points() const { return points_; }  // Z (p, inputs)
  double log_noise() const { return log_noise_; }       // log s^2

  // What a batch says of v.
  struct Seen {
    at::Tensor projected;  // A (p, B)
    at::Tensor gram;       // A beta A' (p, p), in float64
    at::Tensor right;      // A beta y (p), in float64
  };
  Seen see(const SparseBatch& batch) const;

  // A natural-gradient step of q (Salimbeni, Eleftheriadis and Hensman 2018), in closed form for Gaussian noise:
  //   S^-1 <- (1 - rate) S^-1 + rate (I + scale A beta A'),   S^-1 m <- (1 - rate) S^-1 m + rate scale A beta y
  // With rate 1 and all rows it is the best q there is.
  static void follow(const Seen& seen, double scale, double rate, Variational& q);

  // The bound at q and, when asked for, its derivatives with q(v) held.
  struct Slopes {
    std::vector<double> theta;  // of natural kernel parameters
    at::Tensor points;          // (p, inputs)
    double log_noise = 0.0;     // of log s^2
    at::Tensor between;         // of K_zx (p, B)
  };
  double bound(const Variational& q, const SparseBatch& batch, const Seen& seen, double scale,
               Slopes* slopes = nullptr) const;
  // The same in the batch's inputs, (B, inputs), but for what k(x, x) changes with them: nothing where the kernels that
  // read them are stationary.
  at::Tensor row_slopes(const SparseBatch& batch, const Slopes& slopes) const;

  at::Tensor back(const at::Tensor& of) const;  // L^-T times (p, m), in float64

  static constexpr double kSparseJitter = 1e-6;  // of the mean diagonal: what products in float32 can carry

 private:
  at::Tensor precision_of(const SparseBatch& batch) const;  // beta (B)

  ProcessKernel kernel_;
  at::Tensor points_;
  double log_noise_;
  at::ScalarType products_;
  double jitter_;             // that was enough
  at::Tensor inverse_;        // L^-1 (p, p), lower, in float64
  at::Tensor inverse_short_;  // the same in `products`
};

// What is kept of it to predict: mean = alpha'k_zx, variance = k_xx - k_xz Q k_zx with alpha = L^-T m and
// Q = L^-T (I - S) L^-1.
struct SparsePrediction {
  ProcessKernel kernel;
  at::Tensor points;     // (p, inputs)
  at::Tensor alpha;      // (p)
  at::Tensor reduction;  // Q (p, p)

  FunctionMoments at(const at::Tensor& inputs) const;  // of rows (n, inputs)
};

SparsePrediction prediction_of(const SparseProcess& process, const Variational& q);

}  // namespace ick
