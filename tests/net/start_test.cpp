#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/network_case.h"

namespace ick {
namespace {

NetworkContext context_of(std::int64_t inputs, std::int64_t outputs, std::int64_t members, std::uint64_t seed = 1) {
  NetworkContext context;
  context.inputs = inputs, context.outputs = outputs, context.members = members, context.seed = seed;
  return context;
}

using PriorCase = std::tuple<std::string, std::string>;  // activation, norm

class MlpPrior : public testing::TestWithParam<PriorCase> {};

// Members and their rows are independent, so that the error of the mean over members is known from their spread. Depth
// d has d inputs: on few, |x|^2 varies most.
TEST_P(MlpPrior, OutputsHaveMeanZeroAndVarianceOneAtEveryDepth) {
  const auto& [activation, norm] = GetParam();
  constexpr std::int64_t kMembers = 1000, kRows = 16;
  const std::vector<std::string> layers = {"32", "[32, 24]", "[32, 24, 40]", "[32, 24, 40, 28]"};
  const at::NoGradGuard no_gradient;
  for (int depth = 1; depth <= 4; ++depth) {
    const at::Tensor x = normals({kMembers, kRows, depth}, 31).to(at::kFloat);
    const std::string call = "mlp(a, layers=" + layers.at(static_cast<std::size_t>(depth - 1)) +
                             ", activation=" + activation + ", norm=" + norm + ")";
    const at::Tensor f = (*make_network(call, context_of(depth, 8, kMembers)))(x).to(at::kDouble);
    const at::Tensor mean = f.mean({1, 2}), square = f.square().mean({1, 2});  // (E)
    const auto error = [](const at::Tensor& t) { return t.std().item<double>() / std::sqrt(kMembers); };
    EXPECT_NEAR(mean.mean().item<double>(), 0.0, 4.0 * error(mean)) << "depth " << depth;
    EXPECT_NEAR(square.mean().item<double>(), 1.0, 4.0 * error(square)) << "depth " << depth;
    EXPECT_LT(error(square), 0.03) << "depth " << depth;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MlpPrior,
                         testing::Combine(testing::ValuesIn(kActivationNames), testing::ValuesIn(kNormNames)),
                         [](const auto& each) { return std::get<0>(each.param) + "_" + std::get<1>(each.param); });

at::Tensor weights_of(const NetworkContext& context, const std::string& path) {
  return parameter_of(*make_network("mlp(a, layers=[6, 5])", context), path).detach();
}

TEST(MlpStart, RepeatsWithItsSeed) {
  for (const std::string path : {"layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias", "output.weight"}) {
    EXPECT_TRUE(at::equal(weights_of(context_of(2, 3, 2, 4), path), weights_of(context_of(2, 3, 2, 4), path))) << path;
    EXPECT_FALSE(at::equal(weights_of(context_of(2, 3, 2, 4), path), weights_of(context_of(2, 3, 2, 5), path))) << path;
  }
}

TEST(MlpStart, AMemberDoesNotDependOnHowManyThereAre) {
  for (const std::string path : {"layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias", "output.weight"}) {
    const at::Tensor few = weights_of(context_of(2, 3, 2), path), many = weights_of(context_of(2, 3, 5), path);
    EXPECT_TRUE(at::equal(few, many.narrow(0, 0, 2))) << path;
    EXPECT_FALSE(at::equal(many[0], many[1])) << path;
  }
}

// Normal draws with variance g^2 (1 - b) / in and b. With many inputs g^2 of the second layer is 1 / E[phi(z)^2], which
// for relu is 2 by symmetry and for erf 1 / (2 / pi asin(2 / 3)) (Williams 1997, with unit variance).
TEST(MlpStart, VariancesOfWeightsAndBiases) {
  for (const auto& [activation, gain] :
       {std::pair<std::string, double>{"relu", 2.0}, {"erf", 1.0 / (2.0 / std::numbers::pi * std::asin(2.0 / 3.0))}}) {
    const auto network =
        make_network("mlp(a, layers=[60, 40], activation=" + activation + ")", context_of(1000, 30, 50));
    const auto expect_variance = [&](const std::string& path, double expected) {
      const at::Tensor values = parameter_of(*network, path).detach().flatten().narrow(0, 0, 2000).to(at::kDouble);
      const double count = 2000.0;  // the variance of n normal squares is 2 / n
      EXPECT_NEAR(values.square().mean().item<double>() / expected, 1.0, 4.0 * std::sqrt(2.0 / count)) << path;
      EXPECT_NEAR(values.mean().item<double>(), 0.0, 4.0 * std::sqrt(expected / count)) << path;
    };
    expect_variance("layer1.weight", 0.8 / 1000.0);
    expect_variance("layer1.bias", 0.2);
    expect_variance("layer2.weight", 0.8 * gain / 60.0);
    expect_variance("layer2.bias", 0.2);
    const at::Tensor output = parameter_of(*network, "output.weight").detach().to(at::kDouble);  // (50, 40, 30)
    EXPECT_NEAR(output.square().mean().item<double>() * 40.0 / gain, 1.0, 4.0 * std::sqrt(2.0 / 60000.0));
    EXPECT_TRUE(at::equal(parameter_of(*network, "output.bias"), at::zeros({50, 1, 30})));
  }
}

}  // namespace
}  // namespace ick
