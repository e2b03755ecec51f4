#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "ick/inference/function_posterior.h"
#include "neighbour/search.h"

namespace ick {

// A Gaussian process on any number of rows: features carry what is smooth, neighbours the rest (full-scale form of
// Vecchia's approximation; Gyger, Furrer and Sigrist 2025).
//   y = Phi w + r + noise,   w ~ N(0, I),   cov(r, r') = share k(x, x') - z(x) . z(x')
// Phi has the model's features z and a constant. Rows stand in a random order; given the m most telling rows before it,
// row i of r + noise has the mean c'r_N and the variance d. Rows whitened by that,
//   u_i = (y_i - c'y_N) / sqrt(d),   v_i = (phi_i - Phi_N'c) / sqrt(d),
// are a linear regression with noise one: A = I + V'V, w ~ N(A^-1 V'u, A^-1). A new row is predicted by its neighbours
// among all rows:
//   mean = phi'w + c'(y_N - Phi_N w),   variance = d + |A^-1/2 (phi - Phi_N'c)|^2
class NeighbourProcess {
 public:
  enum class Smooth {
    features,   // carry what is smooth
    elsewhere,  // it has been taken off y already: no features but the constant
  };
  // Conditions on rows x (n, D), y (n) with the variances of their noise (n), in float64. `model` is of kernels only,
  // one member, which fuses. The order is drawn by `seed`, or given: which row stands where, (n) in int64.
  NeighbourProcess(std::shared_ptr<const Model> model, const at::Tensor& x, const at::Tensor& y,
                   const at::Tensor& noise_variance, std::uint64_t seed, const std::function<void()>& tick = {},
                   Smooth smooth = Smooth::features);
  NeighbourProcess(std::shared_ptr<const Model> model, const at::Tensor& x, const at::Tensor& y,
                   const at::Tensor& noise_variance, const at::Tensor& order, const std::function<void()>& tick = {},
                   Smooth smooth = Smooth::features);
  // `before` given further rows as well, which stand behind its own: what all rows in that order give, from the work of
  // the new ones alone, since no row depends on those behind it. `model` has the kernels and features of the other.
  NeighbourProcess(const NeighbourProcess& before, std::shared_ptr<const Model> model, const at::Tensor& x,
                   const at::Tensor& y, const at::Tensor& noise_variance, std::uint64_t seed,
                   const std::function<void()>& tick = {});
  // What tensors() kept; DataError when it is not whole.
  NeighbourProcess(std::shared_ptr<const Model> model, const TensorState& tensors);

  // (B) each, of the function. `admits`: which rows may be neighbours; all when empty.
  FunctionMoments at(const at::Tensor& x, const NeighbourSearch::Admits& admits = {}) const;
  // f = w_0 + sum_t f_t,  f_t = phi_t'w + r_t, with r_t given the neighbours' r + noise: FunctionPosterior::parts().
  FunctionParts parts(const at::Tensor& x) const;
  // FunctionPosterior::left_out(), rows as they were given: the process of the rows that stay, in the same order.
  std::vector<FunctionMoments> left_out(const std::vector<std::int64_t>& cell_of,
                                        const std::vector<LeftOut>& folds) const;
  // Joint draws at the rows of x: (S, B). Rows are drawn one after the other, in a random order, given the training rows
  // and those drawn before that tell most. UsageError when these rows and draws do not fit into memory.
  at::Tensor draws(const at::Tensor& x, std::int64_t count, std::uint64_t seed, const at::Tensor& normals) const;

  TensorState tensors() const;
  std::int64_t size() const { return x_.size(0); }
  // As many features of all terms as so many rows should have, in so many columns; never none.
  static double features_for(double rows, double columns, double terms);
  // What it holds of them, and one, for each row.
  static double bytes_of_features(double features) { return 8.0 * (features + 1.0); }

  double log_likelihood() const { return log_likelihood_; }  // of the y given last, after those before; not restored
  const at::Tensor& weights() const { return weights_; }     // (P + 1), zero for features that are not used
  const at::Tensor& order() const { return order_; }         // which row of those given last stands where, in int64

 private:
  struct Whitened {
    at::Tensor features, y;  // (B, F + 1), (B)
    double log_d = 0.0;      // sum of log d
  };
  // Rows of a table by their numbers; of -1, where there is none and its weight is zero, the first.
  static at::Tensor rows_at(const at::Tensor& all, const std::vector<std::int64_t>& rows);
  void prepare();
  // Takes rows in, in the order they have, behind those there are.
  void take(const at::Tensor& x, const at::Tensor& y, const at::Tensor& noise_variance,
            const std::function<void()>& tick);
  int most() const;                              // neighbours of a prediction
  int most_before() const;                       // of a row in the order
  at::Tensor phi_of(const at::Tensor& x) const;  // (B, F + 1): features that are used, and one
  // Rows (B) of the order, given neighbours before them that are admitted.
  Whitened whiten(const NeighbourSearch& search, const at::Tensor& rows,
                  const NeighbourSearch::Admits& admits = {}) const;
  // V'V and V'u of such rows.
  struct Sums {
    at::Tensor precision, right;
  };
  Sums sums_of(const NeighbourSearch& search, const at::Tensor& rows, const NeighbourSearch::Admits& admits = {}) const;
  // At rows with these neighbours, for weights w ~ N(mean, (factor factor')^-1) and residual = y - Phi mean.
  struct Weights {
    at::Tensor mean, factor, residual;
  };
  FunctionMoments predict(const at::Tensor& x, const NeighbourSearch::Found& found, int most,
                          const Weights& weights) const;
  // c (B, most), variance (B) of rows with these neighbours, among `rows`
  std::pair<at::Tensor, at::Tensor> condition(const NeighbourRows& rows, const at::Tensor& x, const at::Tensor& phi,
                                              const NeighbourSearch::Found& found, int most) const;
  at::Tensor less_neighbours(const at::Tensor& phi, const at::Tensor& c, const NeighbourSearch::Found& found,
                             int most) const;
  NeighbourRows rows_of(const std::vector<double>& inputs, const at::Tensor& phi, const at::Tensor& noise) const;

  std::shared_ptr<const Model> model_;
  NeighbourKernel kernel_;
  std::int64_t features_ = 0;  // F: all of the model's, or none where they cannot be taken off
  at::Tensor order_;
  at::Tensor x_, y_, noise_;  // (n, D), (n), (n)
  at::Tensor phi_;            // (n, F + 1)
  std::vector<double> inputs_, theta_;
  Weights learned_;  // (F + 1), lower factor of A (F + 1, F + 1), (n)
  at::Tensor weights_;
  std::unique_ptr<NeighbourSearch> search_;
  double log_likelihood_ = 0.0;
};

}  // namespace ick
