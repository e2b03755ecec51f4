#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/image_network_case.h"

namespace ick {
namespace {

TEST(Cnn, ParameterCountsOfThePaper) {
  const std::int64_t expected =
      (3 * 9 + 1) * 64 + 2 * 64 + (64 * 9 + 1) * 64 + 2 * 64 + (64 * 49 + 1) * 512 + (512 + 1) * 512 + (512 + 1) * 16;
  EXPECT_EQ(expected, 1915984);
  EXPECT_EQ(parameter_count("cnn(image)", image_context({3, 224, 224}, 16, 1)), expected);
  EXPECT_EQ(parameter_count("cnn(image)", image_context({3, 64, 64}, 16, 1)), expected);
  EXPECT_EQ(parameter_count("cnn(image)", image_context({3, 64, 64}, 16, 2)), 2 * expected);
}

TEST(Cnn, SmallImagesAreNotEnlarged) {
  // 20 x 12 -> 5 x 3 behind two blocks, both below pool
  EXPECT_EQ(parameter_count("cnn(image, channels=[4, 6], layers=none)", image_context({1, 20, 12}, 2, 1)),
            (9 + 1) * 4 + 8 + (4 * 9 + 1) * 6 + 12 + (6 * 5 * 3 + 1) * 2);
  EXPECT_EQ(parameter_count("cnn(image, channels=4, pool=4, layers=none, norm=none)", image_context({1, 20, 6}, 2, 1)),
            (9 + 1) * 4 + (4 * 4 * 3 + 1) * 2);
}

// One image through one member, number by number.
TEST(Cnn, ForwardIsThatOfPlainLoops) {
  const std::int64_t kChannels = 2, kHeight = 6, kWidth = 4, kOut = 3, kKernel = 5;
  for (const std::string activation : {"relu", "gelu"}) {
    const auto network =
        make_network("cnn(image, channels=3, kernel=5, pool=1, layers=none, norm=none, activation=" + activation + ")",
                     image_context({kChannels, kHeight, kWidth}, 2, 2));
    scatter_parameters(*network, 3);
    all_to_double(*network);
    const at::Tensor x = normals({1, kChannels, kHeight, kWidth}, 4);
    const at::Tensor f = (*network)(x.flatten(1)).detach();
    for (std::int64_t e = 0; e < 2; ++e) {
      const auto image = x.accessor<double, 4>();
      const at::Tensor own = parameter_of(*network, "block1.weight").detach()[e];
      const auto weight = own.accessor<double, 4>();
      const at::Tensor last = parameter_of(*network, "output.weight").detach()[e];
      std::vector<double> mean(kOut, 0.0);
      for (std::int64_t o = 0; o < kOut; ++o) {
        for (std::int64_t top = 0; top < kHeight; top += 2) {
          for (std::int64_t left = 0; left < kWidth; left += 2) {
            double largest = -HUGE_VAL;
            for (std::int64_t i = top; i < top + 2; ++i) {
              for (std::int64_t j = left; j < left + 2; ++j) {
                double z = parameter_of(*network, "block1.bias")[e][o].item<double>();
                for (std::int64_t c = 0; c < kChannels; ++c) {
                  for (std::int64_t u = 0; u < kKernel; ++u) {
                    for (std::int64_t v = 0; v < kKernel; ++v) {
                      const std::int64_t row = i + u - kKernel / 2, column = j + v - kKernel / 2;
                      if (row < 0 || row >= kHeight || column < 0 || column >= kWidth) continue;
                      z += image[0][c][row][column] * weight[o][c][u][v];
                    }
                  }
                }
                const double h = activation == "relu" ? std::max(z, 0.0) : 0.5 * z * std::erfc(-z / std::sqrt(2.0));
                largest = std::max(largest, h);
              }
            }
            mean[static_cast<std::size_t>(o)] += largest / static_cast<double>(kHeight * kWidth / 4);
          }
        }
      }
      for (std::int64_t k = 0; k < 2; ++k) {
        double expected = parameter_of(*network, "output.bias")[e][0][k].item<double>();
        for (std::int64_t o = 0; o < kOut; ++o) {
          expected += mean[static_cast<std::size_t>(o)] * last[o][k].item<double>();
        }
        EXPECT_NEAR(f[e][0][k].item<double>(), expected, 1e-11 * (1.0 + std::abs(expected))) << activation;
      }
    }
  }
}

TEST(Cnn, GradientsAreThoseOfDifferences) {
  const NetworkContext context = image_context({2, 6, 4}, 2, 2);
  for (const std::string norm : {"batch", "group", "none"}) {
    const std::string call = "cnn(image, channels=[4, 2], layers=3, activation=tanh, norm=" + norm + ")";
    const bool batch = norm == "batch";
    // A norm over the batch takes the bias away.
    expect_gradients(call, context, true, 61,
                     batch ? std::vector<std::string>{"block1.bias", "block2.bias"} : std::vector<std::string>{});
    if (batch) expect_gradients(call, context, false, 61);
  }
  expect_gradients("cnn(image, channels=3, layers=none, activation=gelu)", context, true, 62, {"block1.bias"});
  expect_gradients("cnn(image, channels=3, layers=none)", context, true, 63, {"block1.bias"});
}

TEST(Cnn, StartsAsADrawOfTheStandardPrior) {
  const NetworkContext context = image_context({2, 8, 8}, 8, 600);
  expect_standard_start("cnn(image, channels=[12, 12], layers=[24, 24])", context, 0.05);
  expect_standard_start("cnn(image, channels=[12, 12], pool=1, layers=24, norm=group)", context, 0.1);
  expect_standard_start("cnn(image, channels=[12, 12], layers=none, norm=none, activation=gelu)", context, 0.1);
  expect_standard_start("cnn(image, channels=12, pool=1, layers=16, activation=tanh)", context, 0.05);
}

TEST(Cnn, LearnsEightRowsByHeart) {
  expect_overfits("cnn(image, channels=[8, 8], layers=32)", image_context({1, 12, 12}, 1, 2), 80, 0.01);
}

TEST(Cnn, MembersAreNetworks) {
  const NetworkContext context = image_context({2, 12, 8}, 3, 1);
  expect_members_are_networks("cnn(image, channels=[6, 4], layers=7)", context);
  expect_members_are_networks("cnn(image, channels=[6, 4], layers=7, norm=group, activation=silu)", context);
}

TEST(Cnn, ArgumentsThatDoNotFit) {
  const NetworkContext context = image_context({3, 24, 16}, 2, 1);
  EXPECT_EQ(usage_message("cnn(image, channels=[8, 8, 8, 8])", context), "");
  EXPECT_EQ(usage_message("cnn(image, channels=[8, 8, 8, 8, 8])", context),
            "formula column 12: cnn has 5 blocks, each of which halves the image, but 24 x 16 pixels can be halved 4 "
            "times; give fewer channels, as in channels=[64], or larger images");
  EXPECT_EQ(usage_message("cnn(image, kernel=4)", context),
            "formula column 12: kernel = 4 is even; give an odd number, as 3 or 5");
  EXPECT_EQ(usage_message("cnn(image, kernel=0)", context),
            "formula column 12: kernel = 0 is not a whole number from 1 to 99");
  EXPECT_EQ(usage_message("cnn(image, pool=[3, 3])", context),
            "formula column 12: pool must be a whole number from 1 to 65536");
  EXPECT_EQ(usage_message("cnn(image, chanels=8)", context),
            "formula column 12: cnn has no argument named \"chanels\"; did you mean \"channels\"?");
  EXPECT_EQ(usage_message("cnn(image, channels=many)", context),
            "formula column 12: channels must be a whole number from 1 to 65536 or a list of them, as in "
            "channels=[64, 64]");
  EXPECT_EQ(usage_message("cnn(image, norm=layer)", context),
            "formula column 12: no norm named \"layer\"; batch, group and none are known");
  EXPECT_EQ(usage_message("cnn(image)", image_context({}, 2, 1)),
            "formula column 1: cnn has no image; name a column of files, as in cnn(image)");
}

// tests/golden/cnn_steps.csv, written by cnn_steps.py beside it.
TEST(CnnGolden, TenStepsAreThoseOfPyTorch) {
  const std::map<std::string, Tensors> golden = golden_steps("cnn_steps.csv");
  ASSERT_EQ(golden.size(), 13u);
  const ImageShape image{2, 16, 12};
  const auto network = make_network("cnn(image, channels=[4, 3], pool=2, layers=5)", image_context(image, 2, 2));
  expect_ten_steps(*network, golden, 6, {"block1.bias", "block2.bias"});
  const at::Tensor f = (*network)(golden.at("data").at("x").view({12, -1}));
  EXPECT_TRUE(at::allclose(f.flatten(), golden.at("after").at("f"), 1e-10, 1e-10));
}

}  // namespace
}  // namespace ick
