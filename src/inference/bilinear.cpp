#include "inference/bilinear.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>

#include "ick/base/error.h"
#include "model/lower_factor.h"

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

// Phi'Phi and Phi't of some members: (C, P, P), (C, P, 1)
struct NormalEquations {
  at::Tensor matrix, right;

  NormalEquations(std::int64_t members, std::int64_t count, const at::TensorOptions& options)
      : matrix(at::zeros({members, count, count}, options)), right(at::zeros({members, count, 1}, options)) {}

  // Phi is written out a block of rows at a time.
  void add(const Pairs& pairs, const at::Tensor& t) {
    constexpr std::int64_t kBlock = 1024;
    for (std::int64_t first = 0; first < t.size(1); first += kBlock) {
      const std::int64_t some = std::min(kBlock, t.size(1) - first);
      const at::Tensor phi =
          written_out(changed(pairs, [&](const at::Tensor& all) { return all.narrow(1, first, some); }));
      matrix.baddbmm_(phi.transpose(1, 2), phi);
      right.baddbmm_(phi.transpose(1, 2), t.narrow(1, first, some).unsqueeze(2));
    }
  }

  at::Tensor solve(const at::Tensor& lambda) {  // (C, P)
    matrix.diagonal(0, 1, 2).add_(lambda);
    return at::cholesky_solve(right, lower_factor(matrix)).squeeze(2);
  }
};

PairWeights solve_over_weights(const Pairs& pairs, const at::Tensor& left_over, const at::Tensor& lambda) {
  NormalEquations equations(left_over.size(0), weights_of(pairs), left_over.options());
  equations.add(pairs, left_over);
  return split(equations.solve(lambda), pairs);
}

constexpr int kMostSteps = 2000;  // of conjugate gradients

// x with `image`(x) = right for all members at once, (C, m), to `tolerance` of the right side (Hestenes and Stiefel
// 1952).
at::Tensor conjugate_gradients(const at::Tensor& right, double tolerance,
                               const std::function<at::Tensor(const at::Tensor&)>& image_of,
                               const std::function<void()>& tick) {
  const at::Tensor least = tolerance * right.norm(2, {1}, true);
  at::Tensor x = at::zeros_like(right), residual = right.clone(), direction = residual.clone();
  at::Tensor square = residual.square().sum(1, true);  // (C, 1)
  for (int step = 0; step < kMostSteps; ++step) {
    if ((square.sqrt() <= least).all().item<bool>()) return x;
    if (tick) tick();
    const at::Tensor image = image_of(direction);
    const at::Tensor along = square / (direction * image).sum(1, true).clamp_min(1e-300);
    x.add_(along * direction);
    residual.sub_(along * image);
    const at::Tensor next = residual.square().sum(1, true);
    direction = residual + next / square.clamp_min(1e-300) * direction;
    square = next;
  }
  throw NumericError("the posterior of the last layers was not found in " + std::to_string(kMostSteps) +
                     " steps of conjugate gradients; state a larger " + setting("noise") + ", or use " +
                     setting("posterior", "ensemble"));
}

// (Phi Phi' + lambda) a = b. What is asked of the answer is that of draws from a posterior: a ten-thousandth of b is
// far below their spread.
PairWeights solve_by_gradients(const Pairs& pairs, const at::Tensor& left_over, const at::Tensor& lambda,
                               const std::function<void()>& tick) {
  const auto image = [&](const at::Tensor& a) { return product(pairs, transposed(pairs, a)) + lambda * a; };
  return transposed(pairs, conjugate_gradients(left_over, 1e-4, image, tick));
}

at::Tensor flat(const PairWeights& weights) {  // (C, P), in the order of written_out()
  std::vector<at::Tensor> parts;
  for (const at::Tensor& each : weights) parts.push_back(each.reshape({each.size(0), -1}));
  return at::cat(parts, 1);
}

PairWeights unflat(const at::Tensor& w, const PairWeights& like) {
  PairWeights weights;
  std::int64_t first = 0;
  for (const at::Tensor& each : like) {
    const std::int64_t count = each.size(1) * each.size(2);
    weights.push_back(w.narrow(1, first, count).reshape(each.sizes()));
    first += count;
  }
  return weights;
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

PairWeights solve_ridge(const RowBlocks& rows, const std::function<at::Tensor()>& t, const at::Tensor& lambda,
                        const PairWeights& w0, RidgeWay way, const std::function<void()>& tick) {
  // |Phi'(t - Phi w)| is small against |Phi't| long before what few rows tell of is found: more is asked of it than of
  // residuals over rows.
  constexpr double kTolerance = 1e-7;
  const at::Tensor start = flat(w0);
  const bool factored = way == RidgeWay::weights || (way == RidgeWay::automatic && start.size(1) <= kMostFactored);
  at::Tensor step;
  if (factored) {
    NormalEquations equations(start.size(0), start.size(1), start.options());
    rows([&](const Pairs& block) { equations.add(block, t() - product(block, w0)); });
    step = equations.solve(lambda);
  } else {
    at::Tensor right = at::zeros_like(start);
    rows([&](const Pairs& block) { right.add_(flat(transposed(block, t() - product(block, w0)))); });
    const auto image = [&](const at::Tensor& w) {
      const PairWeights weights = unflat(w, w0);
      at::Tensor sum = lambda * w;
      rows([&](const Pairs& block) { sum.add_(flat(transposed(block, product(block, weights)))); });
      return sum;
    };
    step = conjugate_gradients(right, kTolerance, image, tick);
  }
  return unflat(start + step, w0);
}

}  // namespace ick
