#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ick/dataset/encoder.h"
#include "ick/inference/draw.h"
#include "ick/model/model.h"

// Variance of the function in closed form, never negative, wider away from the data:
//   K** - K*x (Kxx + s^2)^-1 Kx*    (the paper's equation 17 with its inverse)
// through features psi, |psi|^2 <= K**, as a sum of two squares and what the features leave out:
//   A = I + Psi'Psi / s^2:   psi' A^-1 psi + (K** - |psi|^2)
namespace ick {

// For a model of kernels only, psi its own features: the posterior of the weights, mean A^-1 Psi'y / s^2 (P + 1) and
// the lower factor of A. Rows are read in blocks. O(n P^2). With `before` these are rows after those that it knows: the
// posterior of all of them together.
struct LinearPosterior {
  at::Tensor mean, factor;
};
LinearPosterior linear_posterior(const Model& model, const Dataset& rows, double noise_variance,
                                 const LinearPosterior& before = {});

// What rows add to it: Psi'Psi / s^2 (P + 1, P + 1) to A, and Psi'(y - Psi mean) / s^2 (P + 1), the mean zero when it is
// undefined.
struct LinearSums {
  at::Tensor precision, right;
};
LinearSums linear_sums(const Model& model, const Dataset& rows, double noise_variance, const at::Tensor& mean = {});

// Rows of each cell by their numbers: cell_of[i] is the cell of row i, -1 for none.
std::vector<at::Tensor> rows_of_cells(const std::vector<std::int64_t>& cell_of);

// For a model with networks, the posterior of its last layers (Laplace's approximation; Bayesian last layer): with
//   k(x, x') = v sum_t (phi . phi') / (H + 1) (z . z')
// of the hidden units phi and kernel features z of a trained member, psi is a Nystrom map of k on at most kLandmarks of
// the training rows, drawn by pivoted Cholesky. O(n r^2), r landmarks.
class DirectVariance {
 public:
  static constexpr std::int64_t kLandmarks = 1024;

  DirectVariance(const Model& model, const Dataset& rows, const Scales& scales, std::uint64_t seed);
  explicit DirectVariance(const TensorState& state);  // DataError when tensors are missing

  at::Tensor operator()(const Model& model, const Batch& batch) const;  // (B) in float64
  // The variance over v as |learned|^2 + left: (r, B) and (B) in float64. Rows share the r weights of `learned`.
  struct Parts {
    at::Tensor learned, left;
  };
  Parts parts(const Model& model, const Batch& batch) const;
  at::Tensor of_term(const Model& model, std::size_t t, const Batch& batch) const;  // the variance of one term: (B)
  double amplitude() const { return amplitude_; }
  TensorState state() const;

  // v and s^2 by marginal likelihood, of the same kernel.
  static Scales scales(const Model& model, const Dataset& rows, std::uint64_t seed,
                       std::optional<double> noise_variance = {});

 private:
  Parts parts(const std::vector<BilinearFeatures>& landmarks, const std::vector<BilinearFeatures>& rows) const;
  static at::Tensor missed(const at::Tensor& residual, const BilinearFeatures& pair);

  std::vector<BilinearFeatures> landmarks_;  // (1, r, .)
  at::Tensor cholesky_;                      // (r, r) of k between landmarks, over v
  at::Tensor factor_;                        // (r, r) of A
  double amplitude_ = 1.0;
};

}  // namespace ick
