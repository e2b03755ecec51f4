#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ick/base/parallel.h"
#include "ick/base/seed.h"
#include "ick/formula/formula.h"
#include "ick/kernel/spec.h"
#include "neighbour/search.h"
#include "support/gradient_check.h"
#include "support/train_case.h"
#include "train/evidence.h"
#include "train/neighbour_evidence.h"

namespace ick {
namespace {

at::Tensor rows_of(std::int64_t count, std::int64_t columns, std::uint64_t seed) {
  const std::vector<double> numbers = normal_numbers(count * columns, seed);
  return at::tensor(numbers, at::kDouble).view({count, columns});
}

// Numbers and, last, a level.
at::Tensor mixed_rows(std::int64_t count, std::uint64_t seed) {
  const at::Tensor levels = at::arange(count, at::kDouble).remainder(3).unsqueeze(1);
  return at::cat({rows_of(count, 2, seed), levels}, 1);
}

const char* const kFormulas[] = {
    "matern12(t, s)",
    "rbf(t) * periodic(s, period=start(1.7)) + linear(s)",
    "matern32(t, s) * categorical(c) + constant()",
    "rational_quadratic(t) + spectral_mixture(s) + matern52(t, s) + polynomial(t) + cosine(s, period=start(2))",
};

Kernel kernel_on(const std::string& formula, const at::Tensor& x) {
  return Kernel(make_kernel_sum(parse_expression(formula)), summarise(x, {"t", "s", "c"}, {0, 0, 3}));
}

at::Tensor scalar(double value) { return at::full({}, value, at::kDouble); }

// The chain rule: with all rows before a row as its neighbours, conditionals multiply to the likelihood.
TEST(NeighbourEvidence, OfAllRowsIsThatOfTheExactProcess) {
  for (const char* formula : kFormulas) {
    SCOPED_TRACE(formula);
    const at::Tensor x = mixed_rows(41, 1), y = rows_of(41, 1, 2).squeeze(1);
    const Kernel kernel = kernel_on(formula, x);
    NeighbourEvidence neighbours(kernel, 0.6, x, y, {}, {}, 3);
    neighbours.draw(41, 40, 1);
    const at::Tensor exact = exact_evidence(kernel, 0.6, x, y, scalar(-1.3));
    EXPECT_NEAR(neighbours(scalar(-1.3)).item<double>(), exact.item<double>(), 1e-10);
  }
}

// Where new places are to be predicted, every conditional is given the rows before it at other places: five places (t) on
// eight days (s), written down row by row. What all evidences have in common, priors and constants, is in the difference.
TEST(NeighbourEvidence, OfNewPlacesIsGivenRowsAtOtherPlaces) {
  constexpr std::int64_t kAll = 40, kPlaces = 5;
  const at::Tensor number = at::arange(kAll, at::kLong);
  const at::Tensor x = at::stack({number.remainder(kPlaces).to(at::kDouble) * 0.7,
                                  number.div(kPlaces, "floor").to(at::kDouble) * 0.9, at::zeros({kAll}, at::kDouble)},
                                 1);
  const at::Tensor y = rows_of(kAll, 1, 2).squeeze(1);
  const Kernel kernel = kernel_on("matern32(t) * matern32(s)", x);
  const auto evidence = [&](const std::vector<std::int64_t>& apart) {
    NeighbourEvidence found(kernel, 0.6, x, y, {}, {}, 3, apart);
    found.draw(kAll, kAll - 1, 1);
    return found(scalar(-1.3)).item<double>();
  };
  const at::Tensor joint = 0.6 * kernel.matrix(x, x)[0].detach() + std::exp(-1.3) * at::eye(kAll, at::kDouble);
  const std::vector<std::int64_t> order = shuffled(kAll, seed_for(3, "order of rows"));
  const auto cost = [&](std::size_t i, const std::vector<std::int64_t>& given) {
    const at::Tensor own = at::tensor({order[i]}, at::kLong), near = at::tensor(given, at::kLong);
    const auto part = [&](const at::Tensor& a, const at::Tensor& b) {
      return joint.index_select(0, a).index_select(1, b);
    };
    const at::Tensor c =
        given.empty() ? at::zeros({1, 0}, at::kDouble) : part(own, near).matmul(part(near, near).inverse());
    const double d = (part(own, own) - c.matmul(part(near, own))).item<double>();
    const double r = (y.index_select(0, own) - c.mv(y.index_select(0, near))).item<double>();
    return 0.5 * (std::log(d) + r * r / d);
  };
  double difference = 0.0;  // rows at other places given, less rows on other days given
  for (const bool first : {false, true}) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::vector<std::int64_t> given;
      const std::int64_t column = first ? 0 : 1;
      for (std::size_t j = 0; j < i; ++j) {
        if ((x[order[j]][column] != x[order[i]][column]).item<bool>()) given.push_back(order[j]);
      }
      difference += (first ? 1.0 : -1.0) * cost(i, given) / static_cast<double>(kAll);
    }
  }
  EXPECT_GT(std::abs(difference), 1e-3);
  EXPECT_NEAR(evidence({0}) - evidence({1}), difference, 1e-10);
}

TEST(NeighbourEvidence, TakesTheMeanOverColumns) {
  const at::Tensor x = mixed_rows(30, 1), y = rows_of(30, 3, 2);
  const Kernel kernel = kernel_on("matern32(t, s)", x);
  NeighbourEvidence neighbours(kernel, 1.0, x, y, {}, {}, 3);
  neighbours.draw(30, 29, 1);
  EXPECT_NEAR(neighbours(scalar(-1.3)).item<double>(), exact_evidence(kernel, 1.0, x, y, scalar(-1.3)).item<double>(),
              1e-10);
}

TEST(NeighbourEvidence, GradientIsThatOfDifferences) {
  for (const char* formula : kFormulas) {
    SCOPED_TRACE(formula);
    const at::Tensor x = mixed_rows(60, 1), y = rows_of(60, 2, 2);
    Kernel kernel = kernel_on(formula, x);
    const at::Tensor weights = rows_of(60, 1, 4).squeeze(1).exp(), error = rows_of(60, 1, 5).squeeze(1).square();
    NeighbourEvidence neighbours(kernel, 0.6, x, y, weights, 0.1 * error, 3);
    neighbours.draw(23, 7, 1);
    neighbours(scalar(-1.3)).backward();
    const GradientCheck of_kernel = check_parameter(
        kernel.parameters().raw(), [&] { return neighbours(scalar(-1.3)); }, free_columns(kernel));
    EXPECT_GT(of_kernel.largest, 1e-3);
    EXPECT_LT(of_kernel.error, 1e-6);
    const GradientCheck of_noise = check_gradient([&](const at::Tensor& at) { return neighbours(at); }, scalar(-1.3));
    EXPECT_GT(of_noise.largest, 1e-3);
    EXPECT_LT(of_noise.error, 1e-7);
  }
}

TEST(NeighbourEvidence, HasTheSameBitsForAnyNumberOfWorkers) {
  const at::Tensor x = mixed_rows(500, 1), y = rows_of(500, 1, 2).squeeze(1);
  std::vector<double> found;
  const int before = workers();
  for (const int count : {1, 2, 3}) {
    set_workers(count);
    const Kernel kernel = kernel_on("matern32(t, s) * categorical(c) + rbf(t)", x);
    NeighbourEvidence neighbours(kernel, 1.0, x, y, {}, {}, 3);
    neighbours.draw(100, 10, 1);
    found.push_back(neighbours(scalar(-1.3)).item<double>());
  }
  set_workers(before);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

// c and the variance against the formulas on tensors, with features taken off.
TEST(FusedConditionals, AreSmallGaussianProcesses) {
  const at::Tensor x = mixed_rows(40, 1), at = mixed_rows(5, 7);
  const Kernel kernel = kernel_on("matern32(t, s) * categorical(c) + periodic(s, period=1.3)", x);
  const NeighbourKernel of(kernel, 0.7);
  // more than are taken off at once, of wider rows
  const at::Tensor wide = 0.07 * rows_of(45, 21, 9), z = wide.narrow(1, 0, 20),
                   noise = rows_of(40, 1, 3).squeeze(1).square() + 0.1;
  const std::vector<double> inputs = of.inputs_of(x), own = of.inputs_of(at);
  const NeighbourRows rows{inputs.data(), wide.data_ptr<double>(), noise.data_ptr<double>(), of.inputs, 20, 21};
  const std::vector<std::int64_t> picked = {3, 17, 5, 39, 0, 8, 22};
  std::vector<Conditional> targets;
  for (int q = 0; q < 5; ++q) {
    targets.push_back({own.data() + q * of.inputs, wide.data_ptr<double>() + (40 + q) * 21, picked.data(), 7 - q});
  }
  std::vector<double> weights(5 * 7), variance(5);
  of.conditionals(of.theta().data(), rows, targets.data(), 5, 7, weights.data(), variance.data());
  for (int q = 0; q < 5; ++q) {
    const std::vector<std::int64_t> near(picked.begin(), picked.begin() + 7 - q);
    const at::Tensor index = at::tensor(near, at::kLong), xs = x.index_select(0, index), zs = z.index_select(0, index);
    const at::Tensor own_x = at.narrow(0, q, 1), own_z = z.narrow(0, 40 + q, 1);
    const at::Tensor c =
        0.7 * kernel.matrix(xs, xs)[0].detach() - zs.matmul(zs.t()) + noise.index_select(0, index).diag();
    const at::Tensor cross = 0.7 * kernel.matrix(xs, own_x)[0].detach() - zs.matmul(own_z.t());  // (m, 1)
    const at::Tensor expected = at::linalg_solve(c, cross).squeeze(1);
    const double left =
        (0.7 * kernel.diagonal(own_x)[0].detach() - own_z.square().sum() - cross.squeeze(1).dot(expected))
            .item<double>();
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(weights[q * 7 + i], i < near.size() ? expected[static_cast<std::int64_t>(i)].item<double>() : 0.0,
                  1e-11);
    }
    EXPECT_NEAR(variance[q], left, 1e-11);
  }
}

TEST(FusedConditionals, TakesRowsOffByTheirWeights) {
  const at::Tensor table = rows_of(6, 5, 3), own = rows_of(1, 5, 4), c = rows_of(3, 1, 5).squeeze(1);
  const std::vector<std::int64_t> rows = {4, 0, 4};
  at::Tensor found = own.clone();
  take_off_rows(table.data_ptr<double>(), 5, rows.data(), 3, c.data_ptr<double>(), found.data_ptr<double>());
  const at::Tensor expected = own - c.unsqueeze(0).matmul(table.index_select(0, at::tensor(rows, at::kLong)));
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-14);
}

TEST(NeighbourSearch, FindsTheNearestInTheKernelsMetric) {
  const at::Tensor x = mixed_rows(300, 1), at = mixed_rows(20, 2);
  for (const char* formula : {"rbf(t, s, lengthscale=[0.3, 2])", "periodic(t, period=0.7)",
                              "matern32(t) * periodic(s, period=1.1)", "rbf(t) + periodic(s, period=0.9)"}) {
    SCOPED_TRACE(formula);
    const NeighbourKernel kernel(kernel_on(formula, x), 1.0);
    const NeighbourSearch search(kernel, x, false);
    const NeighbourSearch::Found found = search(at, 9);
    const at::Tensor k = kernel.kernel.matrix(at, x)[0].detach();
    for (std::int64_t q = 0; q < 20; ++q) {
      ASSERT_EQ(found.counts[q], 9);
      // the sum of covariances is that of the nine largest, but for ties and products of unlike factors
      const std::vector<std::int64_t> rows(found.rows.begin() + q * 9, found.rows.begin() + (q + 1) * 9);
      const double sum = k[q].index_select(0, at::tensor(rows, at::kLong)).sum().item<double>();
      EXPECT_GT(sum, 0.97 * std::get<0>(k[q].topk(9)).sum().item<double>());
    }
  }
}

TEST(NeighbourSearch, AsksOnlyRowsBeforeAndThoseAdmitted) {
  const at::Tensor x = mixed_rows(2000, 1);
  const NeighbourKernel kernel(kernel_on("rbf(t, s)", x), 1.0);
  const std::vector<std::int64_t> before = {0, 1, 5, 200, 700, 1999};
  const NeighbourSearch::Found found =
      NeighbourSearch(kernel, x, true)(x.index_select(0, at::tensor(before, at::kLong)), 8, before);
  for (std::size_t q = 0; q < before.size(); ++q) {
    EXPECT_EQ(found.counts[q], std::min<std::int64_t>(8, before[q]));
    const at::Tensor distance = (x.narrow(0, 0, std::max<std::int64_t>(before[q], 1)) - x[before[q]]).narrow(1, 0, 2);
    const at::Tensor scale = kernel.kernel.parameters().natural("term1.t_s.rbf.lengthscale").detach();
    const at::Tensor order = (distance / scale).square().sum(1).argsort();
    for (int i = 0; i < found.counts[q]; ++i) {
      EXPECT_EQ(found.rows[q * 8 + i], order[i].item<std::int64_t>()) << before[q];
    }
  }
  const NeighbourSearch::Found odd = NeighbourSearch(kernel, x, false)(
      x.narrow(0, 0, 50), 8, {}, [](std::int64_t q, std::int64_t row) { return row % 2 == 1 && row != q; });
  for (std::size_t i = 0; i < odd.rows.size(); ++i) EXPECT_EQ(odd.rows[i] % 2, 1);
}

}  // namespace
}  // namespace ick
