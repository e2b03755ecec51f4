#pragma once

#include <optional>
#include <vector>

#include "kernel/fused.h"

// The marginal likelihood of an exact Gaussian process and its derivatives in one go, without autograd, in float64.
namespace ick {

// A product of kernels and the rows as its factors see them: x (n, inputs).
struct FusedTerm {
  FusedProduct product;
  std::vector<double> x;
  int inputs = 0;
};

//   C = share sum_t K_t + s^2 I,   C A = Y,   Y (n, M)
//   -log p / n = log(2 pi) / 2 + log|C| / 2n + tr(Y'A) / 2nM
//   d/dC       = (C^-1 - A A' / M) / 2n
// Everything is symmetric: kernels, their derivatives and C^-1 are computed for pairs with j >= i only. Workers share
// out blocks of rows; the blocks are the same for any number of them.
class FusedEvidence {
 public:
  FusedEvidence(std::vector<FusedTerm> terms, int parameters, double share, const std::vector<double>& y, int rows);

  struct Value {
    double cost = 0.0;            // -log p / n
    std::vector<double> d_theta;  // of natural parameters
    double d_log_noise = 0.0;     // of log s^2
  };
  // Nothing when there is no Cholesky factor, though a little is added to the diagonal if it needs it.
  std::optional<Value> operator()(const double* theta, double log_noise) const;

 private:
  struct Block;  // points of the rows from `first` on against the rows from `first` on

  int blocks() const;
  Block block(int number) const;
  FusedPoints points(const FusedTerm& term, const Block& block) const;
  FusedRows lines(std::size_t term, const Block& block) const;

  std::vector<FusedTerm> terms_;
  int parameters_;
  double share_;
  int rows_, columns_;                                   // n, M
  std::vector<double> y_;                                // (n, M)
  std::vector<std::vector<std::vector<double>>> lines_;  // of each term and block: (inputs, width)
};

}  // namespace ick
