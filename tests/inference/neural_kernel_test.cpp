#include "ick/inference/neural_kernel.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/message.h"
#include "support/network_case.h"

namespace ick {
namespace {

DensePrior prior_of(const std::string& activation, std::size_t depth, bool has_bias) {
  DensePrior prior{activation, false, {}};
  for (std::size_t l = 1; l <= depth + 1; ++l) {
    const auto i = static_cast<double>(l);
    prior.layers.push_back({1.1 + 0.3 * std::cos(i), has_bias ? 0.15 + 0.1 * std::sin(i) : 0.0});
  }
  return prior;
}

// x of tests/golden/neural_kernels.py
at::Tensor golden_rows() {
  const at::Tensor x = 1.4 * (1.9 * at::arange(12, at::kDouble) + 0.4).sin().view({4, 3});
  x[2].mul_(2.0);
  return x;
}

struct GoldenPair {
  std::int64_t i, j;
  double nngp, ntk;
};

struct GoldenCase {
  DensePrior prior;
  std::vector<GoldenPair> pairs;
};

// tests/golden/neural_kernels.csv, by activation, depth and bias
std::map<std::string, GoldenCase> read_golden() {
  std::ifstream file(ICK_TESTS_DIR "/golden/neural_kernels.csv");
  std::map<std::string, GoldenCase> cases;
  std::string line, activation, depth, bias, i, j, nngp, ntk;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    for (std::string* cell : {&activation, &depth, &bias, &i, &j, &nngp, &ntk}) std::getline(in, *cell, ',');
    GoldenCase& each = cases[activation + ", depth " + depth + ", bias " + bias];
    each.prior = prior_of(activation, std::stoul(depth), bias == "1");
    each.pairs.push_back({std::stol(i), std::stol(j), std::stod(nngp), std::stod(ntk)});
  }
  return cases;
}

// Row 2 has q = 4 in the first layer, and the diagonal is rho = 1: there the series is at its worst.
TEST(NeuralKernelGolden, IsThatOfNumericalIntegration) {
  const auto golden = read_golden();
  ASSERT_EQ(golden.size(), 20u);
  const at::Tensor x = golden_rows();
  for (const auto& [name, each] : golden) {
    SCOPED_TRACE(name);
    const bool has_closed_form = each.prior.activation == "relu" || each.prior.activation == "erf";
    const double bound = has_closed_form ? 1e-12 : 1e-9;
    const NeuralKernels square = neural_kernels(each.prior, x, x);
    const NeuralKernels cross = neural_kernels(each.prior, x.flip(0), x.narrow(0, 0, 3));
    const at::Tensor diagonal = nngp_diagonal(each.prior, x);
    ASSERT_EQ(each.pairs.size(), 10u);
    for (const auto& [i, j, nngp, ntk] : each.pairs) {
      SCOPED_TRACE(std::to_string(i) + ", " + std::to_string(j));
      EXPECT_NEAR(square.nngp[i][j].item<double>(), nngp, bound * (1.0 + std::abs(nngp)));
      EXPECT_NEAR(square.ntk[i][j].item<double>(), ntk, bound * (1.0 + std::abs(ntk)));
      if (i == j) {
        EXPECT_NEAR(diagonal[i].item<double>(), nngp, 1e-12 * (1.0 + nngp));
      }
      if (j < 3) {  // rounding of rho near one shows as its root in the slope of relu
        const double slope_bound = i == j ? 1e-7 : bound;
        EXPECT_NEAR(cross.nngp[3 - i][j].item<double>(), nngp, bound * (1.0 + std::abs(nngp)));
        EXPECT_NEAR(cross.ntk[3 - i][j].item<double>(), ntk, slope_bound * (1.0 + std::abs(ntk)));
      }
    }
  }
}

// The mean over members of an estimate each, (E, n, n), up to four standard errors, at most `most_error` each of the
// kernel, and a share of it.
void expect_mean(const at::Tensor& estimates, const at::Tensor& expected, double share, double most_error) {
  const at::Tensor error = estimates.std(0) / std::sqrt(static_cast<double>(estimates.size(0)));
  const at::Tensor size = at::outer(expected.diagonal(), expected.diagonal()).sqrt();
  const at::Tensor miss = (estimates.mean(0) - expected).abs() / (4.0 * error + share * size);
  EXPECT_LT(miss.max().item<double>(), 1.0) << estimates.mean(0) << expected << error;
  EXPECT_LT((error / size).max().item<double>(), most_error);
}

at::Tensor gram(const at::Tensor& rows) { return rows.bmm(rows.transpose(1, 2)).to(at::kDouble); }

// Networks of one hidden layer have these kernels at any width, in the mean over draws; deeper ones, and those with a
// norm, up to a share of about one over the width. A member's estimates spread by 25% with 32 outputs, and by about
// sqrt(5 depth / width) when the last layer's weights are replaced by their variance.
void expect_kernels_of_draws(const std::string& activation, int depth, const std::string& norm) {
  SCOPED_TRACE(activation + ", depth " + std::to_string(depth) + ", norm " + norm);
  constexpr std::int64_t kWidth = 512, kRows = 5;
  NetworkContext context;
  context.inputs = 3, context.outputs = 32, context.members = depth == 1 ? 200 : 100, context.seed = 21;
  const at::NoGradGuard no_gradient;
  const auto network = make_network("mlp(a, layers=" + std::string(depth == 1 ? "512" : "[512, 512]") +
                                        ", activation=" + activation + ", norm=" + norm + ")",
                                    context);
  const DensePrior prior = network->dense_prior().value();
  const at::Tensor x = normals({kRows, 3}, 41);
  const NeuralKernels kernels = neural_kernels(prior, x, x);
  const double share = depth == 1 && norm == "none" ? 0.0 : 2.0 / kWidth;
  expect_mean(gram((*network)(x)) / static_cast<double>(context.outputs), kernels.nngp, share, 0.04);
  expect_mean(gram(network->hidden(x)) * (prior.layers.back().weight / kWidth), kernels.nngp, share, 0.02);
  if (norm == "layer") {
    EXPECT_FALSE(kernels.ntk.defined());
    return;
  }
  const at::Tensor first_output = at::zeros({1, kRows, context.outputs});
  first_output.select(2, 0).fill_(1.0);
  at::Tensor ntk = at::zeros({context.members, kRows, kRows}, at::kDouble);
  for (const BilinearFeatures& layer : network->tangents(x, first_output)) ntk += gram(layer.left) * gram(layer.right);
  expect_mean(ntk, kernels.ntk, share, 0.02);
}

TEST(NeuralKernelDraws, OneHiddenLayer) {
  for (const std::string& activation : kActivationNames) expect_kernels_of_draws(activation, 1, "none");
}

TEST(NeuralKernelDraws, TwoHiddenLayers) {
  for (const std::string activation : {"relu", "erf"}) expect_kernels_of_draws(activation, 2, "none");
}

TEST(NeuralKernelDraws, LayerNorm) {
  for (const std::string activation : {"relu", "gelu"}) expect_kernels_of_draws(activation, 1, "layer");
}

// Some rows far out, where the series has not converged.
TEST(NeuralKernel, IsSymmetricAndPositiveSemiDefinite) {
  const at::Tensor x = normals({60, 2}, 42);
  x.narrow(0, 0, 10).mul_(5.0);
  for (const std::string& activation : kActivationNames) {
    for (const bool has_bias : {false, true}) {
      const DensePrior prior = prior_of(activation, 2, has_bias);
      const NeuralKernels kernels = neural_kernels(prior, x, x);
      for (const at::Tensor& k : {kernels.nngp, kernels.ntk}) {
        EXPECT_EQ(k.scalar_type(), at::kDouble);
        EXPECT_TRUE(at::equal(k, k.t())) << activation;
        const at::Tensor values = at::linalg_eigvalsh(k);
        EXPECT_GT(values[0].item<double>(), -1e-12 * values[-1].item<double>()) << activation;
      }
      EXPECT_TRUE(at::equal(kernels.nngp.diagonal(), nngp_diagonal(prior, x))) << activation;
      const NeuralKernels in_float = neural_kernels(prior, x.to(at::kFloat), x);
      EXPECT_TRUE(at::allclose(in_float.nngp, kernels.nngp, 1e-5, 1e-5)) << activation;
    }
  }
}

TEST(NeuralKernel, WithoutHiddenLayersIsLinear) {
  const at::Tensor x = normals({4, 3}, 43), y = normals({5, 3}, 44);
  const NeuralKernels kernels = neural_kernels({"gelu", false, {{1.3, 0.2}}}, x, y);
  const at::Tensor expected = 1.3 / 3.0 * at::einsum("if,jf->ij", {x, y}) + 0.2;
  EXPECT_TRUE(at::allclose(kernels.nngp, expected, 1e-14, 1e-14));
  EXPECT_TRUE(at::equal(kernels.nngp, kernels.ntk));
}

// phi(0) = 0: without biases a row of zeros stays one, and a bias of the output is all there is.
TEST(NeuralKernel, OfARowOfZeros) {
  const at::Tensor x = normals({4, 3}, 45);
  x[1].zero_();
  for (const std::string& activation : kActivationNames) {
    for (const double bias : {0.0, 0.3}) {
      DensePrior prior = prior_of(activation, 2, false);
      prior.layers.back().bias = bias;
      const NeuralKernels kernels = neural_kernels(prior, x, x);
      for (const at::Tensor& k : {kernels.nngp, kernels.ntk}) {
        EXPECT_TRUE(k.isfinite().all().item<bool>()) << activation;
        EXPECT_TRUE(at::allclose(k[1], at::full({4}, bias, at::kDouble), 0.0, 1e-15)) << activation << k;
        EXPECT_GT(k[0][0].item<double>(), bias + 1e-2);
      }
      prior.layer_norm = true;
      const at::Tensor normed = neural_kernels(prior, x, x).nngp;
      EXPECT_TRUE(normed.isfinite().all().item<bool>()) << activation;
      EXPECT_TRUE(at::allclose(normed[1], at::full({4}, bias, at::kDouble), 0.0, 1e-15)) << activation << normed;
      EXPECT_TRUE(at::equal(normed.diagonal(), nngp_diagonal(prior, x)));
    }
  }
}

// Rows at a known angle t on the circle, one hidden layer without bias:
//   nngp = w_1 w_2 / (4 pi) (sin t + (pi - t) cos t),   ntk = nngp + w_1 w_2 / (4 pi) (pi - t) cos t
TEST(NeuralKernel, OfReluNearlyParallelAndOpposite) {
  const double pi = std::numbers::pi;
  const DensePrior prior{"relu", false, {{1.7, 0.0}, {0.6, 0.0}}};
  for (const double t : {0.0, 1e-6, 1e-3, 0.8, pi - 1e-3, pi - 1e-6, pi}) {
    const at::Tensor x = at::tensor({std::cos(0.3), std::sin(0.3)}, at::kDouble).unsqueeze(0);
    const at::Tensor y = at::tensor({std::cos(0.3 + t), std::sin(0.3 + t)}, at::kDouble).unsqueeze(0);
    const NeuralKernels kernels = neural_kernels(prior, x, y);
    const double factor = 1.7 * 0.6 / (2.0 * 2.0 * pi);
    const double nngp = factor * (std::sin(t) + (pi - t) * std::cos(t));
    EXPECT_NEAR(kernels.nngp.item<double>(), nngp, 1e-15) << t;
    EXPECT_NEAR(kernels.ntk.item<double>(), nngp + factor * std::cos(t) * (pi - t), 1e-9) << t;
  }
}

TEST(NeuralKernel, NoRowsAreFine) {
  const at::Tensor none = at::zeros({0, 3}), some = normals({4, 3}, 46);
  for (const std::string& activation : kActivationNames) {
    const DensePrior prior = prior_of(activation, 2, true);
    EXPECT_EQ(neural_kernels(prior, none, some).ntk.sizes(), at::IntArrayRef({0, 4}));
    EXPECT_EQ(neural_kernels(prior, some, none).nngp.sizes(), at::IntArrayRef({4, 0}));
    EXPECT_EQ(nngp_diagonal(prior, none).sizes(), at::IntArrayRef({0}));
  }
}

TEST(NeuralKernel, WhatHasNoneIsRefused) {
  const auto refusal = [](const DensePrior& prior, at::IntArrayRef x, at::IntArrayRef y) {
    return message_of<UsageError>([&] { neural_kernels(prior, at::zeros(x), at::zeros(y)); });
  };
  const DensePrior prior = prior_of("relu", 1, true);
  EXPECT_EQ(refusal(prior, {4, 2}, {3, 2}), "");
  EXPECT_EQ(refusal(prior, {4, 2}, {3, 3}),
            "a neural kernel is of rows with the same columns, but one has 2 and the other 3");
  EXPECT_EQ(refusal(prior, {4}, {3, 3}), "inputs of a neural kernel must be rows of one column or more");
  EXPECT_EQ(refusal(prior_of("sine", 1, true), {4, 2}, {3, 2}),
            "no kernel is known of networks with activation \"sine\"");
  EXPECT_EQ(refusal({"relu", false, {}}, {4, 2}, {3, 2}),
            "a network without a layer has no kernel; give it one for the output");
}

}  // namespace
}  // namespace ick
