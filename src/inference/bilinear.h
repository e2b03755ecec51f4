#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "ick/net/network.h"
#include "model/lower_factor.h"

// Linear models whose features Phi are pairs of vectors, for C members at once:
//   f = Phi w = sum_b sum_ij w_bij left_bi right_bj
// Phi is never written out unless it is small: products with it go through the pairs.
namespace ick {

inline constexpr std::int64_t kEvidenceRows = 600;  // that v and s^2 are found on

using Pairs = std::vector<BilinearFeatures>;  // left (C, n, I) or undefined, right (C, n, J)
using PairWeights = std::vector<at::Tensor>;  // (C, I, J) of each pair

std::int64_t weights_of(const Pairs& pairs);  // P

at::Tensor gram(const Pairs& a, const Pairs& b);                  // Phi_a Phi_b': (C, n, m)
at::Tensor diagonal(const Pairs& pairs);                          // of gram(pairs, pairs): (C, n)
at::Tensor product(const Pairs& pairs, const PairWeights& w);     // Phi w: (C, n)
PairWeights transposed(const Pairs& pairs, const at::Tensor& a);  // Phi' a, a (C, n)
at::Tensor written_out(const Pairs& pairs);                       // Phi: (C, n, P)
PairWeights split(const at::Tensor& w, const Pairs& pairs);       // (C, P), in the order of written_out()

Pairs rows_of(const Pairs& pairs, const at::Tensor& index);  // (m) in int64
Pairs in_double(const Pairs& pairs);
Pairs joined(const std::vector<Pairs>& blocks);  // rows of one block after those of the other

enum class RidgeWay { automatic, rows, weights, conjugate_gradients };

// argmin_w |t - Phi w|^2 + lambda |w - w_0|^2 = w_0 + Phi'(Phi Phi' + lambda)^-1 (t - Phi w_0), in float64, for t
// (C, n) and lambda (C, 1): by a factor over rows or over weights, whichever are fewer; by conjugate gradients where
// both are more than kMostFactored. NumericError when these do not converge; `tick` is called at each of their steps.
constexpr std::int64_t kMostFactored = 3000;
PairWeights solve_ridge(const Pairs& pairs, const at::Tensor& t, const at::Tensor& lambda, const PairWeights& w0,
                        RidgeWay way = RidgeWay::automatic, const std::function<void()>& tick = {});

// The same for more rows than fit into memory: `rows` hands them over in order, a block at a time, as often as it is
// asked to; `t` is (C, B) of the block after the last one, from the first to the last once. One pass and a factor over
// weights; or, where these are more than kMostFactored, conjugate gradients with a pass for each step.
using VisitPairs = std::function<void(const Pairs& block)>;
using RowBlocks = std::function<void(const VisitPairs&)>;
PairWeights solve_ridge(const RowBlocks& rows, const std::function<at::Tensor()>& t, const at::Tensor& lambda,
                        const PairWeights& w0, RidgeWay way = RidgeWay::automatic,
                        const std::function<void()>& tick = {});

}  // namespace ick
