#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ick/likelihood/likelihood.h"
#include "net/fused_mlp.h"

// The composite model on the fast path: one member on a chunk of rows, on one thread, without allocation.
//   f_c(x) = bias_c + sum_t share_t sum_k prod_a f_tack(x_a) z_tk(x)
namespace ick {

struct FusedNetworkShape {
  std::vector<int> widths;  // inputs, hidden layers, outputs
  std::string activation;
  int source = 0;  // which of the batch's inputs it reads
};

struct FusedTermShape {
  std::vector<FusedNetworkShape> networks;  // none: weights of its own
  int features = 1;                         // p
  bool kernels = false;                     // else z = 1
  float share = 1.0F;
};

// A member's rows of a batch, turned on their side and zero in the padding.
struct FusedRowsOf {
  std::span<const float* const> inputs;    // of each source, (F, rows)
  std::span<const float* const> features;  // of each term, (p, rows); null without kernels
  int rows = 0;                            // <= kChunkRows
};

// What a chunk's rows are to be.
struct FusedTarget {
  const Likelihood* likelihood = nullptr;
  const double* y = nullptr;       // (rows)
  const double* offset = nullptr;  // (rows) added to the one function; null: nothing
  const double* error = nullptr;   // (rows) known variances, added to s^2; null: none
  const float* weights = nullptr;  // (rows) in the loss; null: all one
  double log_scale = 0.0;          // log s^2, of likelihoods that learn one
  double each = 1.0;               // share of a row in the mean over the batch
};

// Sums over the rows of a chunk.
struct FusedCost {
  double loss = 0.0, d_log_scale = 0.0;
};

class FusedModel {
 public:
  FusedModel(std::vector<FusedTermShape> terms, int outputs, bool with_gradients);

  // A member's parameters, read wherever they are, in order: for each term the weights and biases of each layer of each
  // network, or its own weights (C p); last the bias (C).
  void load(std::span<const float* const> parameters);

  const double* forward(const FusedRowsOf& rows);  // f (rows, C)

  // After forward(): the loss, and its derivatives in f for the way back.
  FusedCost cost(const FusedTarget& target, int rows);

  // After cost(): sets gradients, ordered as the parameters, and d_features (p, rows) of each term unless null.
  void backward(const FusedRowsOf& rows, std::span<float* const> gradients, std::span<float* const> d_features);

 private:
  struct Term {
    FusedTermShape shape;
    std::vector<FusedMlp> networks;
    std::vector<const float*> outputs;  // of each network, (C p, rows)
    const float* weight = nullptr;      // without networks, (C p)
    FloatColumns product;               // of several networks, (C p, rows); of weights, (C, rows)
  };
  static constexpr std::size_t kNone = ~std::size_t{0};
  static const float* product_of(Term& term, int rows, std::size_t but = kNone);
  void turn_slopes(int rows);
  void features_backward(Term& term, int rows, float* d_features);
  void outputs_backward(Term& term, std::size_t a, const FusedRowsOf& rows, const float* features);

  std::vector<Term> terms_;
  const float* bias_ = nullptr;    // (C)
  std::vector<double> f_, slope_;  // (rows, C): f, d/df
  FloatColumns signal_;            // (C, rows): d/df, zero in the padding
  std::vector<FusedLayer> layers_;
  std::vector<FusedLayerGradient> gradients_;
  int outputs_;
};

}  // namespace ick
