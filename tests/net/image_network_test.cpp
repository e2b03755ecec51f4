#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/image_network_case.h"

namespace ick {
namespace {

const ImageShape kImage{2, 8, 12};
const std::vector<std::string> kCalls = {
    "cnn(image, channels=[4, 4], layers=6, dropout=0.3)", "cnn(image, channels=4, norm=group, layers=6, dropout=0.3)",
    "resnet(image, blocks=[1, 1], width=4)", "vit(image, patch=4, width=8, depth=1, heads=2, hidden=6, dropout=0.3)",
    "deepvit(image, patch=4, width=8, depth=2, heads=2, hidden=6, layers=5, dropout=0.3)"};

at::Tensor images(std::int64_t rows, std::uint64_t seed) {
  return normals({rows, kImage.numbers()}, seed).to(at::kFloat);
}

TEST(ImageNetworks, ParametersAreNamedFloatLeavesAndOnlyWeightsDecay) {
  for (const std::string& call : kCalls) {
    const auto network = make_network(call, image_context(kImage, 3, 2));
    std::vector<std::string> paths;
    for (const NamedTensor& each : network->parameters()) {
      paths.push_back(each.path);
      EXPECT_EQ(each.value.size(0), 2) << each.path;
      EXPECT_EQ(each.value.scalar_type(), at::kFloat);
      EXPECT_TRUE(each.value.is_leaf() && each.value.requires_grad()) << each.path;
      EXPECT_EQ(each.decays, each.path.ends_with(".weight")) << each.path;
    }
    for (const NamedTensor& each : network->buffers()) {
      paths.push_back(each.path);
      EXPECT_EQ(each.value.size(0), 2) << each.path;
      EXPECT_FALSE(each.value.requires_grad()) << each.path;
    }
    std::sort(paths.begin(), paths.end());
    EXPECT_EQ(std::adjacent_find(paths.begin(), paths.end()), paths.end()) << call;
    EXPECT_EQ(network->outputs(), 3);
    EXPECT_FALSE(network->dense_prior().has_value());
  }
}

// mean <- 9/10 mean + 1/10 mean of the batch, and so for variances, with n - 1
TEST(ImageNetworks, RunningMeansAreThoseOfBatches) {
  const auto network = make_network("cnn(image, channels=4)", image_context(kImage, 3, 2));
  const at::Tensor x = images(5, 1);
  const at::Tensor before = (*network)(x).detach();
  (*network)(x, generator_of(1));
  for (std::int64_t e = 0; e < 2; ++e) {
    const at::Tensor z = at::conv2d(x.view({5, 2, 8, 12}), parameter_of(*network, "block1.weight")[e],
                                    parameter_of(*network, "block1.bias")[e], 1, 1)
                             .transpose(0, 1)
                             .flatten(1);
    EXPECT_TRUE(at::allclose(buffer_of(*network, "block1.norm.mean")[e], 0.1 * z.mean(1), 1e-4, 1e-6));
    EXPECT_TRUE(at::allclose(buffer_of(*network, "block1.norm.variance")[e], 0.9 + 0.1 * z.var(1), 1e-4, 1e-6));
  }
  const at::Tensor after = (*network)(x).detach();
  EXPECT_FALSE(at::allclose(before, after, 1e-3, 1e-3));
  EXPECT_TRUE(at::equal(after, (*network)(x)));  // use does not move them
}

TEST(ImageNetworks, BuffersGoWithTheParameters) {
  for (const std::string& call : {kCalls[0], kCalls[2]}) {
    const auto trained = make_network(call, image_context(kImage, 3, 2));
    for (std::uint64_t step = 0; step < 3; ++step) (*trained)(images(5, step), generator_of(step));
    NetworkContext context = image_context(kImage, 3, 2);
    context.seed = 8;
    const auto copy = make_network(call, context);
    for (const NamedTensor& each : copy->parameters()) each.value.set_data(parameter_of(*trained, each.path).detach());
    const at::Tensor x = images(4, 9);
    EXPECT_FALSE(at::allclose((*copy)(x), (*trained)(x), 1e-2, 1e-2)) << call;
    ASSERT_FALSE(copy->buffers().empty());
    for (const NamedTensor& each : copy->buffers()) each.value.copy_(buffer_of(*trained, each.path));
    EXPECT_TRUE(at::equal((*copy)(x), (*trained)(x))) << call;
  }
}

TEST(ImageNetworks, DropoutIsOfTrainingOnlyAndRepeatsWithItsSeed) {
  const at::Tensor x = images(6, 2);
  for (const std::string& call : kCalls) {
    if (call.find("dropout") == std::string::npos) continue;
    const auto network = make_network(call, image_context(kImage, 3, 2));
    scatter_parameters(*network, 21);
    const at::Tensor first = (*network)(x, generator_of(5)).detach();
    EXPECT_TRUE(at::equal(first, (*network)(x, generator_of(5)))) << call;
    EXPECT_FALSE(at::allclose(first, (*network)(x, generator_of(6)), 1e-3, 1e-3)) << call;
    const at::Tensor used = (*network)(x).detach();
    EXPECT_FALSE(at::allclose(first, used, 1e-3, 1e-3)) << call;
    EXPECT_TRUE(at::equal(used, (*network)(x))) << call;
    // Without it, a network that has no norm over the batch is the same in training.
    if (network->buffers().empty()) {
      const std::string without = call.substr(0, call.find(", dropout")) + ")";
      const auto plain = make_network(without, image_context(kImage, 3, 2));
      scatter_parameters(*plain, 21);
      EXPECT_TRUE(at::equal(used, (*plain)(x, generator_of(5)))) << call;
    }
  }
}

TEST(ImageNetworks, ImagesThatDoNotFitAreRefused) {
  for (const std::string& call : kCalls) {
    const auto network = make_network(call, image_context(kImage, 3, 2));
    EXPECT_EQ((*network)(images(0, 1)).sizes(), at::IntArrayRef({2, 0, 3})) << call;
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{5, 191}, {5, 193}, {2, 8, 12}, {192}}) {
      try {
        (*network)(at::zeros(sizes));
        ADD_FAILURE() << call;
      } catch (const UsageError& error) {
        EXPECT_STREQ(error.what(),
                     "inputs of this network must be rows of 2 x 8 x 12 pixels (channels, height and width)");
      }
    }
  }
}

// Further numbers stand beside what is made of the image, before the dense layers.
TEST(ImageNetworks, FurtherNumbersAreReadOutWithTheImage) {
  NetworkContext context = image_context(kImage, 2, 2);
  const auto alone = make_network("cnn(image, channels=4, layers=none)", context);
  context.inputs = 3;
  const auto network = make_network("cnn(image, channels=4, layers=none)", context);
  const at::Tensor x = images(5, 3), further = normals({5, 3}, 4).to(at::kFloat), both = at::cat({x, further}, 1);
  const at::Tensor hidden = network->hidden(both);
  EXPECT_TRUE(at::equal(hidden, at::cat({alone->hidden(x), further.expand({2, 5, 3})}, 2)));
  EXPECT_EQ(network->last_weight().size(1), alone->last_weight().size(1) + 3);
  EXPECT_THROW((*network)(x), UsageError);

  context = image_context({1, 4, 4}, 2, 2);
  context.inputs = 2;
  expect_gradients("cnn(image, channels=3, layers=3, activation=tanh, norm=none)", context, true, 5);
  expect_gradients("vit(image, patch=2, width=4, depth=1, heads=2, hidden=3, layers=3)", context, true, 6);
  context = image_context({1, 8, 8}, 4, 600);
  context.inputs = 40;
  expect_standard_start("cnn(image, channels=4, layers=16)", context, 0.05);
}

}  // namespace
}  // namespace ick
