#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ick/model/model.h"

// Last layers of networks that were solved in closed form, and what further rows need of those before to solve them
// again: hidden units, kernels and the prior are held.
namespace ick {

// Precision of the prior with which solve_last_layers() solves, over that of the noise: of each pair of
// Model::last_layers() under LayerPrior::even lambda C^-1, (E, I, I), for each of its J columns; I = 1 where it has no
// left side.
std::vector<at::Tensor> last_layer_precision(const Model& model, const Dataset& rows, std::uint64_t seed,
                                             double linear_share);

// Normal equations of all members, in float64, over P weights w in the order of written_out():
//   A = Phi'Phi + lambda C^-1,   b = Phi'y,   w = A^-1 b
struct LastLayerSums {
  at::Tensor matrix, right;  // (E, P, P), (E, P)

  static double bytes_of(const Model& model, const Dataset& rows);  // that a model folder would keep
  // No rows yet, for a model whose rows look like those of `like`.
  static LastLayerSums of_prior(const Model& model, const Dataset& like, const std::vector<at::Tensor>& precision);

  void add(const Model& model, const Dataset& rows);
  at::Tensor weights() const;                                // (E, P)
  void solve_into(Model& model, const Dataset& like) const;  // DataError when the model has other weights

  bool defined() const { return matrix.defined(); }
  TensorState tensors() const;                               // lower triangles
  static LastLayerSums restore(const TensorState& tensors);  // undefined when nothing was kept; DataError if not whole
};

// More than that a model does not keep: most folders have less than a megabyte.
inline constexpr double kMostLastLayerBytes = 32e6;

}  // namespace ick
