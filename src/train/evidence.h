#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <vector>

#include "ick/model/model.h"
#include "train/lbfgs.h"

// The marginal likelihood of a Gaussian process: what kernel parameters are learned by where it can be had.
namespace ick {

// -log N(y; 0, share K(x, x) + s^2 I) / n, differentiable in the kernel's parameters and log s^2. x (n, D), y (n), all
// in float64; `log_noise` () is log s^2. NumericError when no Cholesky factor can be had.
at::Tensor exact_evidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y,
                          const at::Tensor& log_noise);

// The same for a model of kernels only, through its features, O(n P^2):
//   A = I + Phi'Phi / s^2
//   -2 log p = n log(2 pi s^2) + log|A| + y'y / s^2 - |A^-1/2 Phi'y|^2 / s^4 + sum_i residual_i / s^2
// The last term makes it Titsias' bound (2009) for Nystrom features: parameters are not rewarded for what the features
// cannot carry.
at::Tensor linear_evidence(const Model& model, const at::Tensor& x, const at::Tensor& y, const at::Tensor& log_noise);

// Adds to the cost per row what keeps parameters that the data do not determine near their start: each raw number has
// the prior N(start, deviation^2). Three by default, a factor of twenty either way for one that is positive.
void add_weak_prior(const std::vector<double>& at, const std::vector<double>& start, double rows,
                    Evaluation& evaluation, const std::vector<double>& deviations = {});

// Deviations for a kernel of these products and the noise behind it: small for what the formula states, which is where
// its writer expects it.
std::vector<double> prior_deviations(const Kernel& kernel, const SumOfProducts& products);
inline const double kStartLogNoise = std::log(0.1);  // log s^2 of standardised targets

// Lower Cholesky factor of a symmetric matrix, with a little more on the diagonal if it needs it. NumericError when
// all fails.
at::Tensor lower_factor(const at::Tensor& matrix);

// The posterior of the weights: mean A^-1 Phi'y / s^2 (P + 1) and the lower factor L of A = L L^T. Rows are read in
// blocks.
struct LinearPosterior {
  at::Tensor mean, factor;
};
LinearPosterior linear_posterior(const Model& model, const at::Tensor& x, const at::Tensor& y, double noise_variance);

}  // namespace ick
