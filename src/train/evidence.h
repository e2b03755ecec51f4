#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ick/kernel/spread.h"
#include "ick/model/model.h"
#include "ick/train/lasting_noise.h"
#include "train/lbfgs.h"

// The marginal likelihood of a Gaussian process: what kernel parameters are learned by where it can be had.
namespace ick {

// -log N(y; 0, share K(x, x) + s^2 I) / n, differentiable in the kernel's parameters and log s^2. x (n, D), y (n), or
// (n, M) for the mean over M columns, all in float64; `log_noise` () is log s^2. NumericError when there is no factor.
at::Tensor exact_evidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y,
                          const at::Tensor& log_noise);

std::vector<double> numbers_of(const at::Tensor& tensor);  // in the order of its rows

// The same of rows that stay, by the fast path: its derivatives are found along with it. `kernel` has one member. The
// one above is what it is tested against.
class FusedEvidence;
class ExactEvidence {
 public:
  ExactEvidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y);
  at::Tensor operator()(const at::Tensor& log_noise) const;  // with the kernel's present parameters

 private:
  Kernel kernel_;
  double share_;
  at::Tensor x_, y_;
  std::shared_ptr<const FusedEvidence> fused_;  // null for kernels of other programs
};

// The same for a model of kernels only, through its features, O(n P^2):
//   A = I + Phi'Phi / s^2
//   -2 log p = n log(2 pi s^2) + log|A| + y'y / s^2 - |A^-1/2 Phi'y|^2 / s^4 + sum_i residual_i / s^2
// The last term makes it Titsias' bound (2009) for Nystrom features: parameters are not rewarded for what the features
// cannot carry.
// Rows with weights w_i or known errors e_i have the noise (s^2 + e_i) / w_i. Where errors last, Phi and y are whitened
// first, and rows have neither weights nor errors of their own.
at::Tensor linear_evidence(const Model& model, const Dataset& rows, const at::Tensor& log_noise,
                           const LastingNoise& lasting = {});

inline const double kStartLogNoise = std::log(0.1);  // log s^2 of standardised targets

// Hardly below a thousandth of the target's sd, hardly above three times it.
inline const Prior kNoisePrior = {kStartLogNoise, (kStartLogNoise - std::log(1e-6)) / kPriorTail,
                                  (std::log(10.0) - kStartLogNoise) / kPriorTail};

// A marginal likelihood times the priors of the parameters, as a function of raw kernel parameters and, last, log s^2:
// its best is the maximum a posteriori.
class EvidenceSearch {
 public:
  // `evidence` is the cost per row for the kernel's present parameters, differentiable in them and in log s^2 ().
  using Evidence = std::function<at::Tensor(const at::Tensor& log_noise)>;

  // It starts at the kernel's present parameters. With `log_noise` the noise is held there.
  EvidenceSearch(Kernel& kernel, std::int64_t rows, Evidence evidence, std::optional<double> log_noise = {});

  const std::vector<double>& start() const { return start_; }
  CostAndGradient operator()(const std::vector<double>& at);  // leaves the kernel's parameters there
  void place(const std::vector<double>& at) const;            // sets the kernel's parameters
  // `units`, when given, measure the numbers: a step of one means as much in each.
  LbfgsResult search(const std::vector<double>& from, int iterations, const LbfgsProgress& progress = {},
                     const std::vector<double>& units = {});
  // What is known of the raw parameters where a search has ended, Laplace's approximation: with A the second derivatives of
  //   `told` times the cost per row, told the rows that it is of, and of the priors,
  // S the sds of the priors and S A S = V diag(l) V', the covariance S V diag(1 / max(l, 1)) V' S: no number is known less
  // than before. The noise is learned along with them, unless it is held. Empty where `at` is no mode.
  RawSpread spread(const std::vector<double>& at, std::int64_t told);

 private:
  at::Tensor curvature(const std::vector<double>& at, const std::vector<std::int64_t>& free, double told);

  Kernel& kernel_;
  double rows_;
  Evidence evidence_;
  std::vector<double> start_;
  std::vector<ParameterSet::Column> columns_;  // of raw parameters, and last of log s^2
  std::vector<double> walls_;                  // of raw parameters, see kWall
};

}  // namespace ick
