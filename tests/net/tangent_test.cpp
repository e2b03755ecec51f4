#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/message.h"
#include "support/network_case.h"

namespace ick {
namespace {

constexpr std::int64_t kMembers = 3, kRows = 4, kInputs = 2, kOutputs = 3;

NetworkContext context_of(std::uint64_t seed = 5) {
  NetworkContext context;
  context.inputs = kInputs, context.outputs = kOutputs, context.members = kMembers, context.seed = seed;
  return context;
}

std::string call_of(const std::string& activation, const std::string& layers = "[7, 5]") {
  return "mlp(a, b, layers=" + layers + ", activation=" + activation + ")";
}

// left_i right_j of one member and row: (I, J)
at::Tensor product(const BilinearFeatures& features, std::int64_t e, std::int64_t b) {
  return at::outer(features.left[e][b], features.right[e][b]);
}

// Against autograd, row by row, of sum_k f_k s_k; weights above, the bias as the last row, each times its sd.
void expect_gradients(const Network& network, const at::Tensor& x, const at::Tensor& signal) {
  const std::vector<BilinearFeatures> tangents = network.tangents(x, signal);
  const std::vector<NamedTensor> parameters = network.parameters();
  const DensePrior prior = network.dense_prior().value();
  ASSERT_EQ(tangents.size(), prior.layers.size());
  ASSERT_EQ(parameters.size(), 2 * tangents.size());
  const at::Tensor scalars = (network(x) * signal).sum(2);  // (E, B)
  for (std::int64_t e = 0; e < kMembers; ++e) {
    for (std::int64_t b = 0; b < kRows; ++b) {
      for (std::size_t l = 0; l < tangents.size(); ++l) {
        const at::Tensor &weight = parameters[2 * l].value, &bias = parameters[2 * l + 1].value;
        const auto gradients = torch::autograd::grad({scalars[e][b]}, {weight, bias}, {}, true);
        const double fan_in = static_cast<double>(weight.size(1));
        const at::Tensor expected = at::cat({std::sqrt(prior.layers[l].weight / fan_in) * gradients[0][e],
                                             std::sqrt(prior.layers[l].bias) * gradients[1][e]});
        const at::Tensor found = product(tangents[l], e, b);
        EXPECT_FALSE(found.requires_grad());
        EXPECT_TRUE(at::allclose(found, expected, 1e-10, 1e-10)) << "layer " << l + 1 << "\n" << found << expected;
        EXPECT_GT(expected.abs().max().item<double>(), 1e-4);
      }
    }
  }
}

TEST(Tangents, AreTheGradientsOfAutograd) {
  for (const std::string& activation : kActivationNames) {
    for (const std::string layers : {"6", "[7, 5]", "[4, 6, 5]"}) {
      SCOPED_TRACE(activation + ", layers " + layers);
      const auto network = make_network(call_of(activation, layers), context_of());
      scatter_parameters(*network, 3);
      to_double(*network);
      expect_gradients(*network, normals({kRows, kInputs}, 11), normals({kMembers, kRows, kOutputs}, 12));
      expect_gradients(*network, normals({kMembers, kRows, kInputs}, 13), normals({1, kRows, kOutputs}, 14));
    }
  }
}

TEST(Tangents, WithoutHiddenLayersTheyAreInputsTimesSignal) {
  NetworkContext context = context_of();
  context.default_layers = {};
  const auto network = make_network("mlp(a, b)", context);
  to_double(*network);
  expect_gradients(*network, normals({kRows, kInputs}, 15), normals({kMembers, kRows, kOutputs}, 16));
}

TEST(Tangents, InFloatAreThoseInDouble) {
  const auto network = make_network(call_of("gelu"), context_of());
  const at::Tensor x = normals({kRows, kInputs}, 17).to(at::kFloat), signal = normals({1, kRows, kOutputs}, 18);
  const std::vector<BilinearFeatures> in_float = network->tangents(x, signal);
  to_double(*network);
  const std::vector<BilinearFeatures> in_double = network->tangents(x, signal);
  ASSERT_EQ(in_float.size(), 3u);
  for (std::size_t l = 0; l < in_float.size(); ++l) {
    for (const auto part : {&BilinearFeatures::left, &BilinearFeatures::right}) {
      EXPECT_EQ((in_float[l].*part).scalar_type(), at::kFloat);
      EXPECT_EQ((in_double[l].*part).scalar_type(), at::kDouble);
      EXPECT_TRUE(at::allclose((in_float[l].*part).to(at::kDouble), in_double[l].*part, 1e-5, 1e-6));
    }
  }
  EXPECT_EQ(in_float[1].left.sizes(), at::IntArrayRef({kMembers, kRows, 7 + 1}));
  EXPECT_EQ(in_float[1].right.sizes(), at::IntArrayRef({kMembers, kRows, 5}));
}

// The variances of many draws, whose error is sqrt(2 / count) of themselves.
TEST(DensePrior, IsTheLawOfTheParametersAtTheStart) {
  for (const std::string& activation : kActivationNames) {
    NetworkContext context = context_of();
    context.members = 40;
    const auto network = make_network(call_of(activation, "[60, 50]"), context);
    const DensePrior prior = network->dense_prior().value();
    EXPECT_EQ(prior.activation, activation);
    EXPECT_FALSE(prior.layer_norm);
    const std::vector<NamedTensor> parameters = network->parameters();
    ASSERT_EQ(prior.layers.size(), 3u);
    for (std::size_t l = 0; l < 3; ++l) {
      const at::Tensor weight = parameters[2 * l].value.detach(), bias = parameters[2 * l + 1].value.detach();
      const auto expect_variance = [&](const at::Tensor& draws, double variance) {
        const double error = variance * std::sqrt(2.0 / static_cast<double>(draws.numel()));
        EXPECT_NEAR(draws.square().mean().item<double>(), variance, 4.0 * error) << activation << ", layer " << l + 1;
      };
      expect_variance(weight, prior.layers[l].weight / static_cast<double>(weight.size(1)));
      expect_variance(bias, prior.layers[l].bias);
      EXPECT_GT(prior.layers[l].weight, 0.1);
    }
  }
  const auto normed = make_network("mlp(a, b, norm=layer)", context_of());
  EXPECT_TRUE(normed->dense_prior().value().layer_norm);
}

std::string refusal(const Network& network, at::IntArrayRef x, at::IntArrayRef signal) {
  return message_of<UsageError>([&] { network.tangents(at::zeros(x), at::zeros(signal)); });
}

class Constant : public Network {
 public:
  std::int64_t outputs() const override { return 1; }
  at::Tensor operator()(const at::Tensor&, const std::optional<at::Generator>&) const override { return none_; }
  at::Tensor hidden(const at::Tensor&, const std::optional<at::Generator>&) const override { return none_; }
  const at::Tensor& last_weight() const override { return none_; }
  const at::Tensor& last_bias() const override { return none_; }
  std::vector<NamedTensor> parameters() const override { return {}; }

 private:
  at::Tensor none_;
};

TEST(Tangents, AreRefusedWhereThereAreNone) {
  EXPECT_EQ(refusal(*make_network("mlp(a, b, norm=layer)", context_of()), {4, 2}, {1, 4, 3}),
            "the tangents of a network with norm=layer have no closed form; leave norm=layer out");
  EXPECT_EQ(refusal(Constant(), {4, 2}, {1, 4, 1}),
            "tangents are known for fully connected networks only; take mlp(...), or do without them");
  EXPECT_FALSE(Constant().dense_prior().has_value());
}

TEST(Tangents, RowsThatDoNotFitAreRefused) {
  const auto network = make_network("mlp(a, b)", context_of());
  const std::string expected = "the signal of tangents must be of 1 or 3 members, 4 rows and 3 outputs";
  EXPECT_EQ(refusal(*network, {4, 2}, {1, 4, 3}), "");
  EXPECT_EQ(refusal(*network, {4, 2}, {4, 3}), expected);
  EXPECT_EQ(refusal(*network, {4, 2}, {2, 4, 3}), expected);
  EXPECT_EQ(refusal(*network, {4, 2}, {3, 5, 3}), expected);
  EXPECT_EQ(refusal(*network, {4, 2}, {3, 4, 1}), expected);
  EXPECT_EQ(refusal(*network, {4, 5}, {1, 4, 3}), "inputs of this network must be rows of 2 columns");
}

}  // namespace
}  // namespace ick
