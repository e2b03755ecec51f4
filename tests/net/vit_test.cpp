#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/image_network_case.h"

namespace ick {
namespace {

TEST(Vit, ParameterCountsOfThePaper) {
  const std::int64_t block =
      2 * 1024 + 1024 * 3072 + (1024 + 1) * 1024 + 2 * 1024 + (1024 + 1) * 2048 + (2048 + 1) * 1024;
  const std::int64_t around = (3072 + 1) * 1024 + 1024 + 50 * 1024 + 2 * 1024 + (1024 + 1) * 1000 + (1000 + 1) * 512 +
                              (512 + 1) * 512 + (512 + 1) * 16;
  const std::string call =
      "deepvit(image, patch=32, width=1024, depth=2, heads=16, hidden=2048, layers=[1000, 512, 512])";
  const std::int64_t mixing = 16 * 16 + 2 * 16;
  EXPECT_EQ(around + 2 * (block + mixing), 21803576);
  EXPECT_EQ(parameter_count(call, image_context({3, 224, 224}, 16, 1)), 21803576);
  EXPECT_EQ(
      parameter_count("vit(image, patch=4, width=6, depth=3, heads=2, hidden=5)", image_context({1, 8, 12}, 2, 1)),
      (16 + 1) * 6 + 6 + 7 * 6 + 3 * (12 + 6 * 18 + 7 * 6 + 12 + 7 * 5 + 6 * 6) + 12 + 7 * 2);
}

TEST(Vit, GradientsAreThoseOfDifferences) {
  for (const std::string name : {"vit", "deepvit"}) {
    expect_gradients(name + "(image, patch=2, width=6, depth=2, heads=3, hidden=3)", image_context({1, 4, 2}, 2, 1),
                     true, 91);
  }
}

TEST(Vit, StartsAsADrawOfTheStandardPrior) {
  const NetworkContext context = image_context({1, 8, 8}, 4, 600);
  for (const std::string name : {"vit", "deepvit"}) {
    expect_standard_start(name + "(image, patch=4, width=16, depth=2, heads=4, hidden=16)", context, 0.0);
    expect_standard_start(name + "(image, patch=4, width=16, depth=1, heads=2, hidden=16, layers=[20, 24])", context,
                          0.0);
  }
}

// Another image, another output: what the tokens bring is not drowned by what is the same in all images.
TEST(Vit, StartsWithOutputsThatDifferFromImageToImage) {
  const NetworkContext context = image_context({1, 32, 32}, 8, 8);
  const at::Tensor x = rows_of(context, 10, 92).to(at::kFloat);
  for (const std::string name : {"vit", "deepvit"}) {
    const at::Tensor f = (*make_network(name + "(image)", context))(x).detach();
    EXPECT_GT(f.var(1).mean().item<double>(), 0.1) << name;
  }
}

TEST(Vit, LearnsEightRowsByHeart) {
  for (const std::string name : {"vit", "deepvit"}) {
    expect_overfits(name + "(image, patch=4, width=16, depth=2, heads=2, hidden=32)", image_context({1, 8, 8}, 1, 2),
                    150, 0.01);
  }
}

TEST(Vit, MembersAreNetworks) {
  for (const std::string name : {"vit", "deepvit"}) {
    expect_members_are_networks(name + "(image, patch=4, width=8, depth=2, heads=2, hidden=6, layers=5)",
                                image_context({2, 8, 12}, 3, 1));
  }
}

TEST(Vit, ArgumentsThatDoNotFit) {
  const NetworkContext context = image_context({3, 24, 16}, 2, 1);
  EXPECT_EQ(usage_message("vit(image, patch=16)", context),
            "formula column 12: images of 24 x 16 pixels cannot be cut into patches of 16; give a patch that divides "
            "both, or a size=... that it divides");
  EXPECT_EQ(usage_message("vit(image)", image_context({1, 28, 28}, 1, 1)),
            "formula column 1: images of 28 x 28 pixels cannot be cut into patches of 8; give a patch that divides "
            "both, or a size=... that it divides");
  EXPECT_EQ(usage_message("vit(image, heads=5)", context),
            "formula column 12: width = 128 cannot be shared by 5 heads; give a number of heads that divides it");
  EXPECT_EQ(usage_message("deepvit(image, heads=1)", context),
            "formula column 16: one head cannot be mixed with others; give deepvit 2 or more, or take vit");
  EXPECT_EQ(usage_message("vit(image, width=1, heads=1)", context),
            "formula column 12: width = 1 makes every norm a constant; give 2 or more");
  EXPECT_EQ(usage_message("vit(image, layers=deep)", context),
            "formula column 12: layers must be a whole number from 1 to 65536 or a list of them, as in "
            "layers=[128, 64]");
}

// tests/golden/vit_steps.csv, written by vit_steps.py beside it.
TEST(VitGolden, TenStepsAreThoseOfPyTorch) {
  std::ifstream file(ICK_TESTS_DIR "/golden/vit_steps.csv");
  std::map<std::string, std::map<std::string, Tensors>> golden;
  std::string line, network, step, name;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::getline(in, network, ','), std::getline(in, step, ','), std::getline(in, name, ',');
    golden[network][step][name] = read_numbers(in);
  }
  const ImageShape image{2, 4, 6};
  const std::map<std::string, std::string> calls = {
      {"vit", "vit(image, patch=2, width=4, depth=2, heads=2, hidden=5, layers=3)"},
      {"deepvit", "deepvit(image, patch=2, width=6, depth=1, heads=3, hidden=5)"}};
  for (const auto& [kind, call] : calls) {
    SCOPED_TRACE(kind);
    ASSERT_EQ(golden[kind].size(), 12u);
    expect_ten_steps(*make_network(call, image_context(image, 2, kind == "vit" ? 2 : 1)), golden.at(kind), 4);
  }
}

}  // namespace
}  // namespace ick
