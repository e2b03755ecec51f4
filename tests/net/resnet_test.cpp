#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/image_network_case.h"

namespace ick {
namespace {

std::int64_t convolution(std::int64_t in, std::int64_t out, std::int64_t kernel) {
  return in * out * kernel * kernel + 2 * out;  // with its norm
}

TEST(Resnet, ParameterCounts) {
  std::int64_t expected = convolution(3, 16, 3) + 4 * convolution(16, 16, 3);
  for (const std::int64_t out : {32, 64}) {
    expected += convolution(out / 2, out, 3) + 3 * convolution(out, out, 3) + convolution(out / 2, out, 1);
  }
  EXPECT_EQ(parameter_count("resnet(image)", image_context({3, 32, 32}, 10, 1)), expected + (64 + 1) * 10);
  // The deep kind for CIFAR of He et al. 2016, 110 layers: 1.7 M
  EXPECT_NEAR(
      static_cast<double>(parameter_count("resnet(image, blocks=[18, 18, 18])", image_context({3, 32, 32}, 10, 1))),
      1.7e6, 0.05e6);
}

// From torch's own functions, in another order: first block of a stage that halves the image and doubles the channels.
TEST(Resnet, ABlockIsWhatItIsSaidToBe) {
  const auto network = make_network("resnet(image, blocks=[1, 1], width=2)", image_context({1, 5, 6}, 2, 1));
  scatter_parameters(*network, 5);
  all_to_double(*network);
  for (const NamedTensor& each : network->buffers()) {
    each.value.set_data(normals(each.value.sizes(), 6 + static_cast<std::uint64_t>(each.path.size())).square() + 0.1);
  }
  const auto layer = [&](const at::Tensor& h, const std::string& path, std::int64_t stride) {
    const at::Tensor weight = parameter_of(*network, path + ".weight")[0];
    const auto of = [&](const std::string& name) {
      const at::Tensor value = parameter_of(*network, path + name);
      return (value.defined() ? value : buffer_of(*network, path + name))[0].view({1, -1, 1, 1});
    };
    const at::Tensor z = at::conv2d(h, weight, {}, stride, weight.size(2) == 3 ? 1 : 0);
    return (z - of(".norm.mean")) / (of(".norm.variance") + 1e-5).sqrt() * of(".norm.scale") + of(".norm.shift");
  };
  const at::Tensor x = normals({3, 1, 5, 6}, 8);
  at::Tensor h = layer(x, "stem", 1).clamp_min(0.0);
  h = (layer(layer(h, "stage1.block1.first", 1).clamp_min(0.0), "stage1.block1.second", 1) + h).clamp_min(0.0);
  const at::Tensor side = layer(h, "stage2.block1.shortcut", 2);
  h = (layer(layer(h, "stage2.block1.first", 2).clamp_min(0.0), "stage2.block1.second", 1) + side).clamp_min(0.0);
  ASSERT_EQ(h.sizes(), at::IntArrayRef({3, 4, 3, 3}));
  const at::Tensor f = h.sum({2, 3}).div(9.0).matmul(network->last_weight()[0]) + network->last_bias()[0];
  EXPECT_TRUE(at::allclose((*network)(x.flatten(1))[0], f, 1e-12, 1e-12));
}

TEST(Resnet, GradientsAreThoseOfDifferences) {
  expect_gradients("resnet(image, blocks=[1, 1], width=2)", image_context({1, 5, 4}, 1, 1), true, 71);
  expect_gradients("resnet(image, blocks=[1, 1], width=2)", image_context({1, 5, 4}, 1, 1), false, 71);
}

TEST(Resnet, StartsAsADrawOfTheStandardPrior) {
  expect_standard_start("resnet(image, blocks=[1, 1], width=12)", image_context({2, 12, 12}, 4, 400), 0.05);
}

TEST(Resnet, LearnsEightRowsByHeart) {
  expect_overfits("resnet(image, blocks=[1, 1], width=8)", image_context({1, 12, 12}, 1, 2), 120, 0.02);
}

TEST(Resnet, MembersAreNetworks) {
  expect_members_are_networks("resnet(image, blocks=[1, 1], width=4)", image_context({2, 9, 8}, 3, 1));
}

TEST(Resnet, OneRowOfOnePixelDoesNotSpoilTheNorms) {
  const auto network = make_network("resnet(image, blocks=[1, 1], width=4)", image_context({1, 2, 2}, 1, 1));
  (*network)(normals({1, 4}, 81).to(at::kFloat), generator_of(1));
  for (const NamedTensor& each : network->buffers()) EXPECT_TRUE(each.value.isfinite().all().item<bool>()) << each.path;
}

TEST(Resnet, ArgumentsThatDoNotFit) {
  const NetworkContext context = image_context({3, 16, 16}, 2, 1);
  EXPECT_EQ(usage_message("resnet(image, blocks=[1, 1, 1, 1], width=10000)", context),
            "formula column 15: the last of 4 stages would have more than 65536 channels, as each has twice those of "
            "the one before; give fewer stages or a smaller width");
  EXPECT_EQ(usage_message("resnet(image, blocks=0)", context),
            "formula column 15: blocks has 0, which is not a whole number from 1 to 1000");
}

}  // namespace
}  // namespace ick
