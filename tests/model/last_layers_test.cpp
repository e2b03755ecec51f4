#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/model/model.h"
#include "support/model_case.h"
#include "support/network_case.h"
#include "table/scratch.h"

// The model as it is linear in weights: of its last layers, or of all of them where it is linearised.
namespace ick {
namespace {

// Number by number: sum_b sum_ij w_bij left_bi right_bj of one member and row.
double naive_bilinear(const std::vector<BilinearFeatures>& pairs, const std::vector<at::Tensor>& w, std::int64_t e,
                      std::int64_t row) {
  double sum = 0.0;
  for (std::size_t b = 0; b < pairs.size(); ++b) {
    for (std::int64_t i = 0; i < w[b].size(1); ++i) {
      const double left = pairs[b].left.defined() ? pairs[b].left[e][row][i].item<double>() : 1.0;
      for (std::int64_t j = 0; j < w[b].size(2); ++j) {
        sum += w[b][e][i][j].item<double>() * left * pairs[b].right[e][row][j].item<double>();
      }
    }
  }
  return sum;
}

constexpr char kLayered[] = "y ~ mlp(a) * mlp(b, site) * rbf(day, points=5) + mlp(b) + linear(a)";

// Any weights, given for one member after the other.
TEST(Model, IsLinearInItsLastLayers) {
  at::NoGradGuard no_grad;
  const ModelCase made(kLayered, mixed_table(15, 9));
  for (const LayerPrior prior : {LayerPrior::even, LayerPrior::start}) {
    Model model = made.model(two_members());
    const std::vector<BilinearFeatures> pairs = model.last_layers(made.batch(), prior);
    ASSERT_EQ(pairs.size(), prior == LayerPrior::even ? 4u : 3u);
    std::vector<at::Tensor> weights;
    for (std::size_t b = 0; b < pairs.size(); ++b) {
      const std::int64_t left = pairs[b].left.defined() ? pairs[b].left.size(2) : 1;
      weights.push_back(normals({2, left, pairs[b].right.size(2)}, 20 + b));
    }
    for (std::int64_t e = 0; e < 2; ++e) {
      std::vector<at::Tensor> own;
      for (const at::Tensor& each : weights) own.push_back(each.narrow(0, e, 1));
      model.set_last_layers(e, own, prior);
    }
    const at::Tensor f = model(made.batch()).to(at::kDouble);
    for (std::int64_t e = 0; e < 2; ++e) {
      for (std::int64_t i = 0; i < 15; ++i) {
        const double expected = naive_bilinear(pairs, weights, e, i);
        EXPECT_NEAR(f[e][i].item<double>(), expected, 1e-5 * (1.0 + std::abs(expected)));
      }
    }
    const double bias = model.network_parameters().back().value[1][0].item<double>();
    if (prior == LayerPrior::even) {
      EXPECT_FLOAT_EQ(static_cast<float>(bias), weights.back()[1][0][0].item<float>());
    } else {
      EXPECT_EQ(bias, 0.0);
    }
  }
}

// Hidden units and a one over sqrt(H + 1), and T^-1/2 z, times what the other networks of a term say.
TEST(Model, LastLayersWithAnEvenPrior) {
  at::NoGradGuard no_grad;
  const ModelCase made(kLayered, mixed_table(15, 9));
  const Model model = made.model(two_members());
  const Batch batch = made.batch();
  const std::vector<BilinearFeatures> pairs = model.last_layers(batch, LayerPrior::even);
  ASSERT_EQ(pairs.size(), 4u);
  const double share = 1.0 / std::sqrt(3.0);
  const std::vector<at::Tensor> z = model.features_at(made.rows.x);
  const auto one = at::ones({2, 15, 1}, at::kFloat);
  const auto left = [&](std::size_t t) {
    const auto parts = model.parts_of(t);
    return at::cat({parts.networks[0]->hidden(batch.networks[parts.sources[0]]), one}, 2) / std::sqrt(6.0);
  };
  const auto parts = model.parts_of(0);
  EXPECT_TRUE(at::allclose(pairs[0].left, left(0), 1e-6, 1e-6));
  EXPECT_TRUE(
      at::allclose(pairs[0].right, share * z[0] * (*parts.networks[1])(batch.networks[parts.sources[1]]), 1e-6, 1e-6));
  EXPECT_TRUE(at::allclose(pairs[1].left, left(1), 1e-6, 1e-6));
  const auto p = static_cast<double>(model.features_of(1));
  EXPECT_TRUE(at::allclose(pairs[1].right, at::full_like(pairs[1].right, share / std::sqrt(p)), 1e-6, 1e-6));
  EXPECT_FALSE(pairs[2].left.defined());
  EXPECT_TRUE(at::allclose(pairs[2].right, share * z[2], 1e-6, 1e-6));
  EXPECT_FALSE(pairs[3].left.defined());
  EXPECT_TRUE(pairs[3].right.equal(one));
}

// Weights that are all one show the sds; what a model starts with has these.
TEST(Model, StartsWithLastLayersOfItsPrior) {
  at::NoGradGuard no_grad;
  const ModelCase made("y ~ mlp(a, layers=[5]) * rbf(day, points=5) + linear(a)", mixed_table(15, 9));
  ModelOptions options = two_members();
  options.members = 2000;
  Model model = made.model(options);
  std::map<std::string, at::Tensor> started;
  for (const NamedTensor& each : model.network_parameters()) started[each.path] = each.value.to(at::kDouble).clone();
  std::vector<at::Tensor> ones;
  for (const BilinearFeatures& each : model.last_layers(made.batch(), LayerPrior::start)) {
    ones.push_back(at::ones({2000, each.left.defined() ? each.left.size(2) : 1, each.right.size(2)}, at::kDouble));
  }
  model.set_last_layers(0, ones, LayerPrior::start);
  int checked = 0;
  for (const NamedTensor& each : model.network_parameters()) {
    if (each.path != "term1.mlp1.output.weight" && each.path != "term2.weight") continue;
    ++checked;
    const at::Tensor w = started[each.path] / each.value.to(at::kDouble);
    const auto count = static_cast<double>(w.numel());
    EXPECT_NEAR(w.mean().item<double>(), 0.0, 5.0 / std::sqrt(count)) << each.path;
    EXPECT_NEAR(w.square().mean().item<double>(), 1.0, 5.0 * std::sqrt(2.0 / count)) << each.path;
  }
  EXPECT_EQ(checked, 2);
}

// sum_t residual_t mean_k prod_a f_tak^2; the weights of a term without networks count as one.
TEST(Model, MissedVarianceIsThatOfTheNetworksAsTheyAre) {
  at::NoGradGuard no_grad;
  const ModelCase made("y ~ mlp(a) * mlp(b) * rbf(day, points=3) + matern32(a, points=3) + mlp(b)", mixed_table(15, 9));
  const Model model = made.model(two_members());
  const Batch batch = made.batch();
  const std::vector<at::Tensor> residuals = model.residuals(made.rows.x);
  ASSERT_EQ(residuals.size(), 3u);
  EXPECT_FALSE(residuals[2].defined());
  const auto parts = model.parts_of(0);
  const auto network = [&](std::size_t a) {
    return (*parts.networks[a])(batch.networks[parts.sources[a]]).to(at::kDouble);
  };
  const at::Tensor f = network(0) * network(1);  // (E, B, p)
  const at::Tensor found = model.missed_variance(batch);
  for (std::int64_t e = 0; e < 2; ++e) {
    for (std::int64_t i = 0; i < 15; ++i) {
      double mean = 0.0;
      for (std::int64_t k = 0; k < 3; ++k) mean += std::pow(f[e][i][k].item<double>(), 2) / 3.0;
      const double expected = residuals[0][e][i].item<double>() * mean + residuals[1][e][i].item<double>();
      EXPECT_NEAR(found[e][i].item<double>(), expected, 1e-6);
    }
  }
  // k(x, x) / T less |z|^2 / T, with T = 3
  const at::Tensor z = model.features_at(made.rows.x)[1].to(at::kDouble);
  const at::Tensor variance = model.parts_of(1).kernel->diagonal(made.rows.x);
  EXPECT_TRUE(at::allclose(residuals[1], (variance - z.square().sum(2)) / 3.0, 1e-4, 1e-6));
  EXPECT_GT(residuals[1].max().item<double>(), 0.01);
}

// Against autograd: sum over weights of dev^2 df(x) df(x'), bias left out.
TEST(Model, TangentsAreItsDerivatives) {
  const ModelCase made("y ~ mlp(a, b, layers=[4, 3]) * rbf(day, points=5) + linear(a) + mlp(b, layers=[3])",
                       mixed_table(6, 9));
  const Model model = made.model(two_members());
  const Batch batch = made.batch();
  const std::vector<BilinearFeatures> pairs = model.tangents(batch);
  ASSERT_EQ(pairs.size(), 3u + 1u + 2u);
  std::vector<double> variances;  // of each parameter, in the order of network_parameters()
  for (std::size_t t = 0; t < 3; ++t) {
    const auto parts = model.parts_of(t);
    if (parts.networks.empty()) variances.push_back(1.0);
    for (const Network* network : parts.networks) {
      const auto parameters = network->parameters();
      for (std::size_t l = 0; l < network->dense_prior()->layers.size(); ++l) {
        const DensePrior::Layer layer = network->dense_prior()->layers[l];
        variances.push_back(layer.weight / static_cast<double>(parameters[2 * l].value.size(1)));
        variances.push_back(layer.bias);
      }
    }
  }
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& each : model.network_parameters()) leaves.push_back(each.value);
  ASSERT_EQ(leaves.size(), variances.size() + 1);
  leaves.pop_back();
  const at::Tensor f = model(batch);
  for (std::int64_t e = 0; e < 2; ++e) {
    std::vector<std::vector<at::Tensor>> derivatives;
    for (std::int64_t i = 0; i < 6; ++i) derivatives.push_back(torch::autograd::grad({f[e][i]}, leaves, {}, true));
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t j = 0; j < 6; ++j) {
        double expected = 0.0, found = 0.0;
        for (std::size_t p = 0; p < leaves.size(); ++p) {
          const at::Tensor &a = derivatives[i][p][e], &b = derivatives[j][p][e];
          expected += variances[p] * (a.to(at::kDouble) * b.to(at::kDouble)).sum().item<double>();
        }
        for (const BilinearFeatures& pair : pairs) {
          const double left = pair.left.defined() ? pair.left[e][i].dot(pair.left[e][j]).item<double>() : 1.0;
          found += left * pair.right[e][i].dot(pair.right[e][j]).item<double>();
        }
        EXPECT_NEAR(found, expected, 1e-5 * (1.0 + std::abs(expected))) << e << " " << i << " " << j;
      }
    }
  }
  const ModelCase two("y ~ mlp(a) * mlp(b)", mixed_table(6, 9));
  EXPECT_EQ(message_of<UsageError>([&] { two.model(two_members()).tangents(two.batch()); }),
            "a product of networks is not linear in all their weights; use posterior=ensemble");
}

}  // namespace
}  // namespace ick
