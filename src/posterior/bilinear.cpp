#include "posterior/bilinear.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>

#include "ick/base/error.h"

namespace ick {

std::int64_t weights_of(const Pairs& pairs) {
  std::int64_t count = 0;
  for (const BilinearFeatures& each : pairs)
    count += each.right.size(2) * (each.left.defined() ? each.left.size(2) : 1);
  return count;
}

// sum_b (left_a left_b') . (right_a right_b')
at::Tensor gram(const Pairs& a, const Pairs& b) {
  at::Tensor total;
  for (std::size_t i = 0; i < a.size(); ++i) {
    at::Tensor part = a[i].right.matmul(b[i].right.transpose(1, 2));
    if (a[i].left.defined()) part = part.mul(a[i].left.matmul(b[i].left.transpose(1, 2)));
    total = total.defined() ? total.add_(part) : part;
  }
  return total;
}

at::Tensor diagonal(const Pairs& pairs) {
  at::Tensor total;
  for (const BilinearFeatures& each : pairs) {
    at::Tensor part = each.right.square().sum(2);
    if (each.left.defined()) part = part * each.left.square().sum(2);
    total = total.defined() ? total + part : part;
  }
  return total;
}

at::Tensor product(const Pairs& pairs, const PairWeights& w) {
  at::Tensor total;
  for (std::size_t b = 0; b < pairs.size(); ++b) {
    const BilinearFeatures& each = pairs[b];
    const at::Tensor part = each.left.defined() ? each.left.matmul(w[b]).mul_(each.right).sum(2)
                                                : each.right.matmul(w[b].transpose(1, 2)).squeeze(2);
    total = total.defined() ? total + part : part;
  }
  return total;
}

PairWeights transposed(const Pairs& pairs, const at::Tensor& a) {
  PairWeights weights;
  for (const BilinearFeatures& each : pairs) {
    const at::Tensor weighted = each.right * a.unsqueeze(2);  // (C, n, J)
    weights.push_back(each.left.defined() ? each.left.transpose(1, 2).matmul(weighted) : weighted.sum(1, true));
  }
  return weights;
}

at::Tensor written_out(const Pairs& pairs) {
  std::vector<at::Tensor> blocks;
  for (const BilinearFeatures& each : pairs) {
    if (!each.left.defined()) {
      blocks.push_back(each.right);
      continue;
    }
    const at::Tensor products = each.left.unsqueeze(3) * each.right.unsqueeze(2);  // (C, n, I, J)
    blocks.push_back(products.flatten(2));
  }
  return at::cat(blocks, 2);
}

PairWeights split(const at::Tensor& w, const Pairs& pairs) {
  PairWeights weights;
  std::int64_t first = 0;
  for (const BilinearFeatures& each : pairs) {
    const std::int64_t left = each.left.defined() ? each.left.size(2) : 1, right = each.right.size(2);
    weights.push_back(w.narrow(1, first, left * right).reshape({w.size(0), left, right}));
    first += left * right;
  }
  return weights;
}

namespace {

template <class Change>
Pairs changed(const Pairs& pairs, Change change) {
  Pairs result;
  for (const BilinearFeatures& each : pairs) {
    result.push_back({each.left.defined() ? change(each.left) : at::Tensor(), change(each.right)});
  }
  return result;
}

PairWeights solve_over_rows(const Pairs& pairs, const at::Tensor& left_over, const at::Tensor& lambda) {
  at::Tensor matrix = gram(pairs, pairs);
  matrix.diagonal(0, 1, 2).add_(lambda);
  return transposed(pairs, at::cholesky_solve(left_over.unsqueeze(2), lower_factor(matrix)).squeeze(2));
}

// Phi is written out a block of rows at a time.
PairWeights solve_over_weights(const Pairs& pairs, const at::Tensor& left_over, const at::Tensor& lambda) {
  constexpr std::int64_t kBlock = 1024;
  const std::int64_t members = left_over.size(0), rows = left_over.size(1), count = weights_of(pairs);
  at::Tensor matrix = at::zeros({members, count, count}, left_over.options());
  at::Tensor right = at::zeros({members, count, 1}, left_over.options());
  for (std::int64_t first = 0; first < rows; first += kBlock) {
    const std::int64_t some = std::min(kBlock, rows - first);
    const at::Tensor phi =
        written_out(changed(pairs, [&](const at::Tensor& all) { return all.narrow(1, first, some); }));
    matrix.baddbmm_(phi.transpose(1, 2), phi);
    right.baddbmm_(phi.transpose(1, 2), left_over.narrow(1, first, some).unsqueeze(2));
  }
  matrix.diagonal(0, 1, 2).add_(lambda);
  return split(at::cholesky_solve(right, lower_factor(matrix)).squeeze(2), pairs);
}

// (Phi Phi' + lambda) a = b for all members at once (Hestenes and Stiefel 1952). What is asked of the answer is that of
// draws from a posterior: a ten-thousandth of b is far below their spread.
PairWeights solve_by_gradients(const Pairs& pairs, const at::Tensor& left_over, const at::Tensor& lambda,
                               const std::function<void()>& tick) {
  constexpr double kTolerance = 1e-4;
  constexpr int kMostSteps = 2000;
  const at::Tensor least = kTolerance * left_over.norm(2, {1}, true);
  at::Tensor a = at::zeros_like(left_over), residual = left_over.clone(), direction = residual.clone();
  at::Tensor square = residual.square().sum(1, true);  // (C, 1)
  for (int step = 0; step < kMostSteps; ++step) {
    if ((square.sqrt() <= least).all().item<bool>()) return transposed(pairs, a);
    if (tick) tick();
    const at::Tensor image = product(pairs, transposed(pairs, direction)) + lambda * direction;
    const at::Tensor along = square / (direction * image).sum(1, true).clamp_min(1e-300);
    a.add_(along * direction);
    residual.sub_(along * image);
    const at::Tensor next = residual.square().sum(1, true);
    direction = residual + next / square.clamp_min(1e-300) * direction;
    square = next;
  }
  throw NumericError("the posterior of the last layers was not found in " + std::to_string(kMostSteps) +
                     " steps of conjugate gradients; state a larger --noise, or use --posterior ensemble");
}

}  // namespace

Pairs rows_of(const Pairs& pairs, const at::Tensor& index) {
  return changed(pairs, [&](const at::Tensor& all) { return all.index_select(1, index); });
}

Pairs joined(const std::vector<Pairs>& blocks) {
  if (blocks.size() == 1) return blocks[0];
  Pairs all;
  for (std::size_t b = 0; b < blocks[0].size(); ++b) {
    std::vector<at::Tensor> left, right;
    for (const Pairs& each : blocks) {
      if (each[b].left.defined()) left.push_back(each[b].left);
      right.push_back(each[b].right);
    }
    all.push_back({left.empty() ? at::Tensor() : at::cat(left, 1), at::cat(right, 1)});
  }
  return all;
}

Pairs in_double(const Pairs& pairs) {
  return changed(pairs, [](const at::Tensor& all) { return all.to(at::kDouble); });
}

PairWeights solve_ridge(const Pairs& pairs, const at::Tensor& t, const at::Tensor& lambda, const PairWeights& w0,
                        RidgeWay way, const std::function<void()>& tick) {
  if (way == RidgeWay::automatic) {
    const std::int64_t rows = t.size(1), weights = weights_of(pairs);
    way = rows <= weights ? RidgeWay::rows : RidgeWay::weights;
    if (std::min(rows, weights) > kMostFactored) way = RidgeWay::conjugate_gradients;
  }
  const at::Tensor left_over = t - product(pairs, w0);
  PairWeights step = way == RidgeWay::rows      ? solve_over_rows(pairs, left_over, lambda)
                     : way == RidgeWay::weights ? solve_over_weights(pairs, left_over, lambda)
                                                : solve_by_gradients(pairs, left_over, lambda, tick);
  for (std::size_t b = 0; b < step.size(); ++b) step[b] = step[b] + w0[b];
  return step;
}

at::Tensor lower_factor(const at::Tensor& matrices) {
  const at::Tensor size = matrices.diagonal(0, -2, -1).mean(-1, true).unsqueeze(-1);
  at::Tensor with_jitter = matrices;
  for (double jitter = 1e-10; jitter < 1e-3; jitter *= 100.0) {
    const auto [factor, info] = at::linalg_cholesky_ex(with_jitter);
    if (info.eq(0).all().item<bool>() && factor.diagonal(0, -2, -1).isfinite().all().item<bool>()) return factor;
    with_jitter = matrices + jitter * size * at::eye(matrices.size(-1), matrices.options());
  }
  throw NumericError("a covariance of the training rows has no Cholesky factor; bound the kernel's parameters");
}

}  // namespace ick
