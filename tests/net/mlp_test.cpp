#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/gradient_check.h"
#include "support/message.h"
#include "support/network_case.h"

namespace ick {
namespace {

NetworkContext context_of(std::int64_t inputs, std::int64_t outputs, std::int64_t members) {
  NetworkContext context;
  context.inputs = inputs, context.outputs = outputs, context.members = members, context.seed = 7;
  return context;
}

std::string call_of(const std::string& activation, const std::string& norm, const std::string& layers = "[7, 4]") {
  return "mlp(a, layers=" + layers + ", activation=" + activation + ", norm=" + norm + ")";
}

double activated(const std::string& name, double z) {
  if (name == "relu") return z > 0.0 ? z : 0.0;
  if (name == "gelu") return 0.5 * z * std::erfc(-z / std::numbers::sqrt2);
  if (name == "silu") return z / (1.0 + std::exp(-z));
  if (name == "tanh") return (std::exp(z) - std::exp(-z)) / (std::exp(z) + std::exp(-z));
  return std::erf(z);
}

using Row = std::vector<double>;

// One row through one member, number by number.
Row forward_by_loops(const Network& network, const std::string& activation, std::int64_t e, Row h) {
  std::map<std::string, at::Tensor> own;
  for (const NamedTensor& each : network.parameters()) own[each.path] = each.value[e].detach().to(at::kDouble);
  for (std::int64_t l = 1;; ++l) {
    const bool is_hidden = own.contains("layer" + std::to_string(l) + ".weight");
    const std::string name = is_hidden ? "layer" + std::to_string(l) : "output";
    const auto weight = own.at(name + ".weight").accessor<double, 2>();
    const auto bias = own.at(name + ".bias").accessor<double, 2>();
    Row next(static_cast<std::size_t>(weight.size(1)));
    const auto count = static_cast<double>(next.size());
    double mean = 0.0, variance = 0.0;
    for (std::int64_t j = 0; j < weight.size(1); ++j) {
      double& z = next[j] = bias[0][j];
      for (std::int64_t i = 0; i < weight.size(0); ++i) z += h[i] * weight[i][j];
      mean += z / count;
    }
    if (!is_hidden) return next;
    for (const double z : next) variance += (z - mean) * (z - mean) / count;
    for (std::int64_t j = 0; j < weight.size(1); ++j) {
      if (own.contains(name + ".norm.scale")) {
        next[j] = (next[j] - mean) / std::sqrt(variance + 1e-5) * own.at(name + ".norm.scale")[0][j].item<double>() +
                  own.at(name + ".norm.shift")[0][j].item<double>();
      }
      next[j] = activated(activation, next[j]);
    }
    h = next;
  }
}

// Rows shared by the members (B, F), or their own (E, B, F).
void expect_forward_by_loops(const std::string& activation, const std::string& norm, const at::Tensor& x) {
  SCOPED_TRACE(activation + ", norm " + norm);
  const auto network = make_network(call_of(activation, norm), context_of(2, 3, 3));
  scatter_parameters(*network, 3);
  const at::Tensor in_float = (*network)(x.to(at::kFloat)).detach();
  to_double(*network);
  const at::Tensor f = (*network)(x).detach();
  ASSERT_EQ(f.sizes(), at::IntArrayRef({3, 5, 3}));
  EXPECT_EQ(in_float.scalar_type(), at::kFloat);
  for (std::int64_t e = 0; e < 3; ++e) {
    for (std::int64_t b = 0; b < 5; ++b) {
      const at::Tensor row = x.dim() == 3 ? x[e][b] : x[b];
      const Row expected = forward_by_loops(*network, activation, e, {row[0].item<double>(), row[1].item<double>()});
      for (std::int64_t j = 0; j < 3; ++j) {
        EXPECT_NEAR(f[e][b][j].item<double>(), expected[j], 1e-12 * (1.0 + std::abs(expected[j])));
        EXPECT_NEAR(in_float[e][b][j].item<double>(), expected[j], 2e-5 * (1.0 + std::abs(expected[j])));
      }
    }
  }
}

TEST(Mlp, ForwardIsThatOfPlainLoops) {
  for (const std::string& activation : kActivationNames) {
    for (const std::string& norm : kNormNames) {
      expect_forward_by_loops(activation, norm, normals({5, 2}, 11));
      expect_forward_by_loops(activation, norm, normals({3, 5, 2}, 12));
    }
  }
}

TEST(Mlp, WithoutHiddenLayersItIsLinear) {
  NetworkContext context = context_of(3, 2, 2);
  context.default_layers = {};
  const auto network = make_network("mlp(a, b, c)", context);
  scatter_parameters(*network, 5);
  to_double(*network);
  const at::Tensor x = normals({4, 3}, 13);
  const at::Tensor expected =
      at::einsum("bf,efp->ebp", {x, parameter_of(*network, "output.weight")}) + parameter_of(*network, "output.bias");
  EXPECT_TRUE(at::allclose((*network)(x), expected, 1e-13, 1e-13));
}

TEST(Mlp, RowsOfOneMemberAreSharedByAll) {
  const auto network = make_network("mlp(a, b)", context_of(2, 3, 4));
  const at::Tensor x = normals({5, 2}, 14).to(at::kFloat);
  EXPECT_TRUE(at::equal((*network)(x), (*network)(x.unsqueeze(0))));
}

TEST(Mlp, GradientsAreThoseOfDifferences) {
  for (const std::string& activation : kActivationNames) {
    for (const std::string& norm : kNormNames) {
      const auto network = make_network(call_of(activation, norm), context_of(2, 2, 3));
      scatter_parameters(*network, 17);
      to_double(*network);
      const at::Tensor x = normals({5, 2}, 18), slope = normals({3, 5, 2}, 19);
      const auto loss = [&](const at::Tensor& rows) {
        const at::Tensor f = (*network)(rows);
        return (f * (slope + 0.1 * f)).sum();
      };
      loss(x).backward();
      for (const NamedTensor& each : network->parameters()) {
        const GradientCheck check = check_parameter(each.value, [&] { return loss(x); });
        EXPECT_LT(check.error, 1e-7) << activation << ", norm " << norm << ", " << each.path;
        EXPECT_GT(check.largest, 1e-2) << activation << ", norm " << norm << ", " << each.path;
      }
      const GradientCheck check = check_gradient(loss, x);
      EXPECT_LT(check.error, 1e-7) << activation << ", norm " << norm << ", x";
      EXPECT_GT(check.largest, 1e-2);
    }
  }
}

TEST(Mlp, ParametersAreNamedFloatLeavesAndOnlyWeightsDecay) {
  const auto network = make_network("mlp(a, layers=[5, 4], norm=layer)", context_of(3, 2, 6));
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"layer1.weight", {6, 3, 5}},     {"layer1.bias", {6, 1, 5}},       {"layer1.norm.scale", {6, 1, 5}},
      {"layer1.norm.shift", {6, 1, 5}}, {"layer2.weight", {6, 5, 4}},     {"layer2.bias", {6, 1, 4}},
      {"layer2.norm.scale", {6, 1, 4}}, {"layer2.norm.shift", {6, 1, 4}}, {"output.weight", {6, 4, 2}},
      {"output.bias", {6, 1, 2}}};
  const std::vector<NamedTensor> parameters = network->parameters();
  ASSERT_EQ(parameters.size(), expected.size());
  for (const NamedTensor& each : parameters) {
    ASSERT_TRUE(expected.contains(each.path)) << each.path;
    EXPECT_EQ(each.value.sizes(), at::IntArrayRef(expected.at(each.path))) << each.path;
    EXPECT_EQ(each.value.scalar_type(), at::kFloat);
    EXPECT_TRUE(each.value.is_leaf() && each.value.requires_grad()) << each.path;
    EXPECT_EQ(each.decays, each.path.ends_with(".weight")) << each.path;
  }
  EXPECT_EQ(network->outputs(), 2);
}

std::int64_t numbers_of(const std::string& call, const NetworkContext& context) {
  std::int64_t count = 0;
  for (const NamedTensor& each : make_network(call, context)->parameters()) count += each.value.numel();
  return count;
}

TEST(Mlp, ParameterCounts) {
  EXPECT_EQ(numbers_of("mlp(a)", context_of(13, 64, 1)), (13 + 1) * 128 + (128 + 1) * 64 + (64 + 1) * 64);
  EXPECT_EQ(numbers_of("mlp(a, layers=20)", context_of(2, 5, 3)), 3 * ((2 + 1) * 20 + (20 + 1) * 5));
  EXPECT_EQ(numbers_of("mlp(a, layers=20, norm=layer)", context_of(2, 5, 3)), 3 * ((2 + 3) * 20 + (20 + 1) * 5));
  NetworkContext context = context_of(2, 1, 1);
  context.default_layers = {9};
  EXPECT_EQ(numbers_of("mlp(a)", context), (2 + 1) * 9 + 9 + 1);
}

at::Generator generator_of(std::uint64_t seed) { return at::make_generator<at::CPUGeneratorImpl>(seed); }

TEST(Mlp, DropoutLeavesOutUnitsAndScalesTheOthers) {
  const auto network = make_network("mlp(a, layers=50, dropout=0.3)", context_of(2, 50, 3));
  parameter_of(*network, "output.weight").set_data(at::eye(50).expand({3, 50, 50}).contiguous());
  const at::Tensor x = normals({40, 2}, 21).to(at::kFloat);
  const at::Tensor units = (*network)(x).detach(), dropped = (*network)(x, generator_of(1)).detach();
  const at::Tensor kept = dropped != 0.0;
  EXPECT_TRUE(at::allclose(dropped.masked_select(kept), units.masked_select(kept) / 0.7, 1e-6, 1e-7));
  const double count = static_cast<double>(kept.numel());
  EXPECT_NEAR(kept.sum().item<double>() / count, 0.7, 4.0 * std::sqrt(0.3 * 0.7 / count));
  EXPECT_FALSE(at::equal(kept[0], kept[1]));  // members have masks of their own
}

TEST(Mlp, DropoutRepeatsWithItsSeed) {
  const auto network = make_network("mlp(a, dropout=0.3)", context_of(2, 3, 2));
  const at::Tensor x = normals({40, 2}, 22).to(at::kFloat);
  const at::Tensor first = (*network)(x, generator_of(5));
  EXPECT_TRUE(at::equal(first, (*network)(x, generator_of(5))));
  EXPECT_FALSE(at::equal(first, (*network)(x, generator_of(6))));
  EXPECT_FALSE(at::equal(first, (*network)(x)));
  EXPECT_TRUE(at::equal((*network)(x), (*network)(x)));
}

TEST(Mlp, DropoutIsOffByDefault) {
  const auto network = make_network("mlp(a)", context_of(2, 3, 2));
  const at::Tensor x = normals({40, 2}, 23).to(at::kFloat);
  EXPECT_TRUE(at::equal((*network)(x), (*network)(x, generator_of(5))));
}

// Every unit's mask has mean one, so that the mean over masks of a network of one hidden layer is the network.
TEST(Mlp, DropoutKeepsTheMean) {
  const auto network = make_network("mlp(a, layers=30, dropout=0.4)", context_of(2, 4, 1));
  const at::Tensor row = normals({1, 2}, 24).to(at::kFloat);
  constexpr std::int64_t kMasks = 20000;
  const at::Tensor draws = (*network)(row.expand({kMasks, 2}), generator_of(8)).detach().to(at::kDouble)[0];
  const at::Tensor expected = (*network)(row).detach().to(at::kDouble)[0][0];
  const at::Tensor error = draws.std(0) / std::sqrt(static_cast<double>(kMasks));
  EXPECT_TRUE(((draws.mean(0) - expected).abs() < 4.0 * error).all().item<bool>());
  EXPECT_TRUE((error > 1e-4).all().item<bool>());
}

TEST(Mlp, RowsThatDoNotFitAreRefused) {
  const auto network = make_network("mlp(a, b)", context_of(2, 1, 3));
  const auto refusal = [&](at::IntArrayRef sizes) {
    return message_of<UsageError>([&] { (*network)(at::zeros(sizes)); });
  };
  EXPECT_EQ(refusal({5, 3}), "inputs of this network must be rows of 2 columns");
  EXPECT_EQ(refusal({2}), "inputs of this network must be rows of 2 columns");
  EXPECT_EQ(refusal({4, 5, 2}), "inputs of a network are for 4 members, but it has 3");
  EXPECT_EQ((*network)(at::zeros({0, 2})).sizes(), at::IntArrayRef({3, 0, 1}));
}

}  // namespace
}  // namespace ick
