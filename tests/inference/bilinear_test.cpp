#include "inference/bilinear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/network_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

constexpr std::int64_t kMembers = 3;

// Pairs of 4 x 3, 1 x 5 (without left) and 2 x 2: P = 21.
Pairs some_pairs(std::int64_t rows, std::uint64_t seed) {
  const auto draw = [&](std::int64_t size, std::uint64_t which) {
    return normals({kMembers, rows, size}, seed_for(seed, std::to_string(which)));
  };
  return {{draw(4, 1), draw(3, 2)}, {{}, draw(5, 3)}, {draw(2, 4), draw(2, 5)}};
}
constexpr std::int64_t kWeights = 21;

// Phi of one member, entry by entry: (n, P)
at::Tensor dense(const Pairs& pairs, std::int64_t c) {
  const std::int64_t rows = pairs[0].right.size(1);
  at::Tensor phi = at::empty({rows, kWeights}, at::kDouble);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t column = 0;
    for (const BilinearFeatures& pair : pairs) {
      for (std::int64_t i = 0; i < (pair.left.defined() ? pair.left.size(2) : 1); ++i) {
        const double left = pair.left.defined() ? pair.left[c][row][i].item<double>() : 1.0;
        for (std::int64_t j = 0; j < pair.right.size(2); ++j) {
          phi[row][column++] = left * pair.right[c][row][j].item<double>();
        }
      }
    }
    EXPECT_EQ(column, kWeights);
  }
  return phi;
}

at::Tensor flat(const PairWeights& w, std::int64_t c) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& each : w) parts.push_back(each[c].flatten());
  return at::cat(parts);
}

bool near(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a, b, 1e-12, 1e-12);
}

TEST(Bilinear, IsWhatItWouldBeWrittenOut) {
  const Pairs a = some_pairs(7, 1), b = some_pairs(6, 2);
  EXPECT_EQ(weights_of(a), kWeights);
  const at::Tensor w = normals({kMembers, kWeights}, 3), v = normals({kMembers, 7}, 4);
  const PairWeights parts = split(w, a), back = transposed(a, v);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].sizes(), (std::vector<std::int64_t>{kMembers, 4, 3}));
  EXPECT_EQ(parts[1].sizes(), (std::vector<std::int64_t>{kMembers, 1, 5}));
  const at::Tensor index = at::tensor(std::vector<std::int64_t>{5, 0, 5}, at::kLong);
  for (std::int64_t c = 0; c < kMembers; ++c) {
    const at::Tensor phi = dense(a, c), other = dense(b, c);
    EXPECT_TRUE(near(written_out(a)[c], phi));
    EXPECT_TRUE(near(gram(a, b)[c], phi.matmul(other.t())));
    EXPECT_TRUE(near(diagonal(a)[c], phi.matmul(phi.t()).diagonal()));
    EXPECT_TRUE(near(flat(parts, c), w[c]));
    EXPECT_TRUE(near(product(a, parts)[c], phi.mv(w[c])));
    EXPECT_TRUE(near(flat(back, c), phi.t().mv(v[c])));
    EXPECT_TRUE(near(written_out(rows_of(a, index))[c], phi.index_select(0, index)));
  }
}

TEST(Bilinear, InDouble) {
  Pairs pairs = some_pairs(4, 5);
  for (BilinearFeatures& each : pairs) {
    each.right = each.right.to(at::kFloat);
    if (each.left.defined()) each.left = each.left.to(at::kFloat);
  }
  const Pairs again = in_double(pairs);
  ASSERT_EQ(again.size(), 3u);
  for (std::size_t b = 0; b < 3; ++b) {
    EXPECT_EQ(again[b].right.scalar_type(), at::kDouble);
    EXPECT_TRUE(again[b].right.to(at::kFloat).equal(pairs[b].right));
    EXPECT_EQ(again[b].left.defined(), pairs[b].left.defined());
  }
}

// w_0 + (Phi'Phi + lambda)^-1 Phi'(t - Phi w_0), by a general solver.
at::Tensor normal_equations(const at::Tensor& phi, const at::Tensor& t, double lambda, const at::Tensor& w0) {
  const at::Tensor matrix = phi.t().matmul(phi) + lambda * at::eye(kWeights, at::kDouble);
  return w0 + at::linalg_solve(matrix, phi.t().mv(t - phi.mv(w0)).unsqueeze(1)).squeeze(1);
}

// Fewer rows than weights, and more than one block of them.
TEST(Ridge, EveryWayIsTheNormalEquations) {
  for (const std::int64_t rows : {9, 2100}) {
    const Pairs pairs = some_pairs(rows, 6);
    const at::Tensor t = normals({kMembers, rows}, 7), w0 = normals({kMembers, kWeights}, 8);
    const at::Tensor lambda = at::tensor(std::vector<double>{0.02, 0.7, 13.0}, at::kDouble).unsqueeze(1);
    for (const RidgeWay way : {RidgeWay::automatic, RidgeWay::rows, RidgeWay::weights, RidgeWay::conjugate_gradients}) {
      int ticks = 0;
      const PairWeights found = solve_ridge(pairs, t, lambda, split(w0, pairs), way, [&] { ++ticks; });
      const bool gradients = way == RidgeWay::conjugate_gradients;
      EXPECT_EQ(ticks > 0, gradients);
      for (std::int64_t c = 0; c < kMembers; ++c) {
        const at::Tensor expected = normal_equations(written_out(pairs)[c], t[c], lambda[c].item<double>(), w0[c]);
        const double miss = ((flat(found, c) - expected).norm() / expected.norm()).item<double>();
        EXPECT_LT(miss, gradients ? 1e-3 : 1e-8) << rows << " rows, way " << static_cast<int>(way) << ", member " << c;
      }
    }
  }
}

// Rows that come in blocks of uneven sizes, targets once.
TEST(Ridge, BlocksOfRowsGiveTheSame) {
  constexpr std::int64_t kRows = 2100;
  const Pairs pairs = some_pairs(kRows, 6);
  const at::Tensor t = normals({kMembers, kRows}, 7), w0 = normals({kMembers, kWeights}, 8);
  const at::Tensor lambda = at::tensor(std::vector<double>{0.02, 0.7, 13.0}, at::kDouble).unsqueeze(1);
  for (const RidgeWay way : {RidgeWay::automatic, RidgeWay::weights, RidgeWay::conjugate_gradients}) {
    std::int64_t first = 0, count = 0, asked = 0;
    const RowBlocks blocks = [&](const VisitPairs& visit) {
      for (first = 0; first < kRows; first += count) {
        count = std::min(first % 2 == 0 ? std::int64_t{1301} : std::int64_t{17}, kRows - first);
        visit(rows_of(pairs, at::arange(first, first + count, at::kLong)));
      }
    };
    const auto targets = [&] {
      EXPECT_EQ(first, asked);
      asked += count;
      return t.narrow(1, first, count);
    };
    const PairWeights found = solve_ridge(blocks, targets, lambda, split(w0, pairs), way);
    EXPECT_EQ(asked, kRows);
    for (std::int64_t c = 0; c < kMembers; ++c) {
      const at::Tensor expected = normal_equations(written_out(pairs)[c], t[c], lambda[c].item<double>(), w0[c]);
      const double miss = ((flat(found, c) - expected).norm() / expected.norm()).item<double>();
      EXPECT_LT(miss, way == RidgeWay::conjugate_gradients ? 1e-5 : 1e-8);
    }
  }
}

TEST(Ridge, TargetsThatAreMetAlready) {
  const Pairs pairs = some_pairs(9, 6);
  const PairWeights w0 = split(normals({kMembers, kWeights}, 8), pairs);
  const at::Tensor t = product(pairs, w0), lambda = at::full({kMembers, 1}, 0.1, at::kDouble);
  for (const RidgeWay way : {RidgeWay::rows, RidgeWay::weights, RidgeWay::conjugate_gradients}) {
    const PairWeights found = solve_ridge(pairs, t, lambda, w0, way);
    for (std::int64_t c = 0; c < kMembers; ++c) EXPECT_TRUE(near(flat(found, c), flat(w0, c)));
  }
}

TEST(Ridge, StopsWhereGradientsDoNotConverge) {
  const Pairs pairs = {{{}, at::logspace(0.0, 12.0, 60, 10.0, at::kDouble).diag().unsqueeze(0)}};
  const at::Tensor t = normals({1, 60}, 3), lambda = at::full({1, 1}, 1e-12, at::kDouble);
  EXPECT_EQ(message_of<NumericError>([&] {
              solve_ridge(pairs, t, lambda, {at::zeros({1, 1, 60}, at::kDouble)}, RidgeWay::conjugate_gradients);
            }),
            "the posterior of the last layers was not found in 2000 steps of conjugate gradients; state a larger "
            "noise, or use posterior=ensemble");
  struct Stop {};
  EXPECT_THROW(solve_ridge(pairs, t, lambda, {at::zeros({1, 1, 60}, at::kDouble)}, RidgeWay::conjugate_gradients,
                           [] { throw Stop{}; }),
               Stop);
}

TEST(LowerFactor, OfManyMatrices) {
  const at::Tensor a = normals({kMembers, 5, 5}, 1), matrices = a.matmul(a.transpose(1, 2)) + at::eye(5, at::kDouble);
  const at::Tensor factor = lower_factor(matrices);
  EXPECT_TRUE(near(factor.matmul(factor.transpose(1, 2)), matrices));
  EXPECT_TRUE(factor.equal(factor.tril()));
  const at::Tensor once = normals({5, 2}, 2), singular = once.matmul(once.t());  // of rank two
  const at::Tensor close = lower_factor(singular);
  EXPECT_TRUE(at::allclose(close.matmul(close.t()), singular, 0.0, 1e-6));
  EXPECT_THROW(lower_factor(-at::eye(3, at::kDouble)), NumericError);
  EXPECT_THROW(lower_factor(at::full({3, 3}, std::nan(""), at::kDouble)), NumericError);
}

}  // namespace
}  // namespace ick
