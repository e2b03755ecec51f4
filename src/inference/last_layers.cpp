#include "inference/last_layers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "inference/bilinear.h"
#include "model/lower_factor.h"

namespace ick {

namespace {

constexpr char kMatrix[] = "last_layers.matrix", kRight[] = "last_layers.right";

// All members, in float64. Kernels that members share have one leading axis for all.
Pairs pairs_of(const Model& model, const Dataset& rows, std::int64_t first, std::int64_t count) {
  Pairs pairs = in_double(model.last_layers(batch_of(rows, first, count), LayerPrior::even));
  for (BilinearFeatures& each : pairs) each.right = each.right.expand({model.members(), -1, -1});
  return pairs;
}

at::Tensor triangle(std::int64_t size) { return at::tril_indices(size, size, 0, at::kLong); }  // (2, numbers)

}  // namespace

double LastLayerSums::bytes_of(const Model& model, const Dataset& rows) {
  const at::NoGradGuard no_grad;
  const auto weights = static_cast<double>(weights_of(pairs_of(model, rows, 0, 1)));
  return 8.0 * static_cast<double>(model.members()) * weights * (0.5 * (weights + 1.0) + 1.0);
}

LastLayerSums LastLayerSums::of_prior(const Model& model, const Dataset& like,
                                      const std::vector<at::Tensor>& precision) {
  const at::NoGradGuard no_grad;
  const Pairs pairs = pairs_of(model, like, 0, 1);
  const std::int64_t members = model.members(), count = weights_of(pairs);
  LastLayerSums sums{at::zeros({members, count, count}, at::kDouble), at::zeros({members, count}, at::kDouble)};
  std::int64_t first = 0;
  for (std::size_t b = 0; b < pairs.size(); ++b) {
    const std::int64_t left = precision[b].size(1), right = pairs[b].right.size(2), size = left * right;
    const at::Tensor block = sums.matrix.narrow(1, first, size).narrow(2, first, size);
    block.view({members, left, right, left, right}).diagonal(0, 2, 4).copy_(precision[b].unsqueeze(3));
    first += size;
  }
  return sums;
}

void LastLayerSums::add(const Model& model, const Dataset& rows) {
  constexpr double kNumbers = 4e6;  // of features at once
  const at::NoGradGuard no_grad;
  const auto wanted = static_cast<std::int64_t>(kNumbers / static_cast<double>(right.numel()));
  const std::int64_t step = rows.block(std::clamp<std::int64_t>(wanted, 16, 4096));
  matrix = matrix.clone(), right = right.clone();
  for (std::int64_t first = 0; first < rows.size(); first += step) {
    const std::int64_t count = std::min(step, rows.size() - first);
    const at::Tensor phi = written_out(pairs_of(model, rows, first, count));  // (E, B, P)
    const at::Tensor y = batch_of(rows, first, count).y.to(at::kDouble).view({1, count, 1});
    matrix.baddbmm_(phi.transpose(1, 2), phi);
    right.add_(phi.transpose(1, 2).matmul(y).squeeze(2));
  }
}

at::Tensor LastLayerSums::weights() const {
  return at::cholesky_solve(right.unsqueeze(2), lower_factor(matrix)).squeeze(2);
}

void LastLayerSums::solve_into(Model& model, const Dataset& like) const {
  const at::NoGradGuard no_grad;
  const Pairs pairs = pairs_of(model, like, 0, 1);
  if (right.size(0) != model.members() || right.size(1) != weights_of(pairs)) {
    throw DataError("what it keeps of its last layers is not of this model");
  }
  model.set_last_layers(0, split(weights(), pairs), LayerPrior::even);
}

TensorState LastLayerSums::tensors() const {
  if (!defined()) return {};
  const at::Tensor at = triangle(right.size(1)), flat = at[0] * right.size(1) + at[1];
  return {{kMatrix, matrix.flatten(1).index_select(1, flat)}, {kRight, right}};
}

LastLayerSums LastLayerSums::restore(const TensorState& tensors) {
  const at::Tensor kept = find_tensor(tensors, kMatrix), right = find_tensor(tensors, kRight);
  if (!kept.defined() && !right.defined()) return {};
  const bool whole = kept.defined() && right.defined() && kept.dim() == 2 && right.dim() == 2 &&
                     kept.size(0) == right.size(0) && kept.scalar_type() == at::kDouble &&
                     right.scalar_type() == at::kDouble && kept.size(1) == right.size(1) * (right.size(1) + 1) / 2;
  if (!whole) throw DataError("what it keeps of its last layers does not fit together");
  const std::int64_t members = right.size(0), count = right.size(1);
  const at::Tensor at = triangle(count);
  at::Tensor matrix = at::zeros({members, count * count}, at::kDouble);
  matrix.index_copy_(1, at[0] * count + at[1], kept);
  matrix.index_copy_(1, at[1] * count + at[0], kept);
  return {matrix.view({members, count, count}), right.contiguous()};
}

}  // namespace ick
