#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/message.h"
#include "support/network_case.h"

namespace ick {
namespace {

std::string refusal(const std::string& call_text, const NetworkContext& context = {}) {
  return message_of<UsageError>([&] { make_network(call_text, context); });
}

TEST(MlpArguments, WhatIsRightIsTaken) {
  for (const std::string text : {"mlp(a)", "mlp(a, layers=64)", "mlp(a, layers=[128, 32])", "mlp(a, layers=1)",
                                 "mlp(a, layers=65536)", "mlp(a, activation=relu, dropout=0, norm=none)",
                                 "mlp(a, dropout=0.1, norm=layer)", "mlp(a, layers=[1, 2], norm=none)"}) {
    EXPECT_EQ(refusal(text), "") << text;
  }
}

TEST(MlpArguments, UnknownNames) {
  EXPECT_EQ(refusal("mlp(a, layer=64)"),
            "formula column 8: mlp has no argument named \"layer\"; did you mean \"layers\"?");
  EXPECT_EQ(refusal("mlp(a, variance=2)"),
            "formula column 8: mlp has no argument named \"variance\"; it has layers, activation, dropout and norm");
  EXPECT_EQ(refusal("mlp(a, b, layers=3, sphere)"),
            "formula column 21: mlp has no argument named \"sphere\"; it has layers, activation, dropout and norm");
  EXPECT_EQ(refusal("mlp(a, activation=rleu)"),
            "formula column 8: no activation named \"rleu\"; did you mean \"relu\"?");
  EXPECT_EQ(refusal("mlp(a, activation=step)"),
            "formula column 8: no activation named \"step\"; relu, gelu, silu, tanh and erf are known");
  EXPECT_EQ(refusal("mlp(a, norm=layers)"), "formula column 8: no norm named \"layers\"; did you mean \"layer\"?");
  EXPECT_EQ(refusal("mlp(a, norm=batch)"), "formula column 8: no norm named \"batch\"; none and layer are known");
}

TEST(MlpArguments, Layers) {
  const std::string expected = ", which is not a whole number from 1 to 65536";
  EXPECT_EQ(refusal("mlp(a, layers=0)"), "formula column 8: layers has 0" + expected);
  EXPECT_EQ(refusal("mlp(a, layers=[8, -3])"), "formula column 8: layers has -3" + expected);
  EXPECT_EQ(refusal("mlp(a, layers=[8, 2.5])"), "formula column 8: layers has 2.5" + expected);
  EXPECT_EQ(refusal("mlp(a, layers=65537)"), "formula column 8: layers has 65537" + expected);
  EXPECT_EQ(refusal("mlp(a, layers=30km)"), "formula column 8: layers has 30km" + expected);
  EXPECT_EQ(refusal("mlp(a, layers=wide)"),
            "formula column 8: layers must be a whole number from 1 to 65536 or a list of them, as in "
            "layers=[128, 64]");
}

TEST(MlpArguments, Dropout) {
  const std::string expected = " is not a number from 0 to below 1";
  EXPECT_EQ(refusal("mlp(a, dropout=1)"), "formula column 8: dropout = 1" + expected);
  EXPECT_EQ(refusal("mlp(a, dropout=-0.1)"), "formula column 8: dropout = -0.1" + expected);
  EXPECT_EQ(refusal("mlp(a, dropout=0.1y)"), "formula column 8: dropout = 0.1y" + expected);
  EXPECT_EQ(refusal("mlp(a, dropout=[0.1, 0.2])"), "formula column 8: dropout must be a number from 0 to below 1");
  EXPECT_EQ(refusal("mlp(a, dropout=on)"), "formula column 8: dropout must be a number from 0 to below 1");
}

TEST(MlpArguments, WordsMustBeWords) {
  EXPECT_EQ(refusal("mlp(a, norm=2)"), "formula column 8: norm must be a word: none and layer are known");
  EXPECT_EQ(refusal("mlp(a, activation=[1, 2])"),
            "formula column 8: activation must be a word: relu, gelu, silu, tanh and erf are known");
}

TEST(MlpArguments, NothingIsLearned) {
  EXPECT_EQ(refusal("mlp(a, layers=fixed(64))"),
            "formula column 8: layers is not learned; write its value alone, as in layers=VALUE");
  EXPECT_EQ(refusal("mlp(a, layers=8, dropout=bounded(0.1, 0, 0.5))"),
            "formula column 18: dropout is not learned; write its value alone, as in dropout=VALUE");
}

TEST(MlpArguments, ALayerOfOneUnitHasNoNorm) {
  const std::string expected = "norm=layer turns a layer of one unit into a constant; give layers of 2 or more";
  EXPECT_EQ(refusal("mlp(a, layers=[4, 1], norm=layer)"), "formula column 23: " + expected);
}

TEST(MlpArguments, SizesOfItsSurroundings) {
  NetworkContext context;
  context.inputs = 0;
  EXPECT_EQ(refusal("mlp()", context), "formula column 1: mlp has no column; name at least one, as in mlp(x)");
  context.inputs = 1, context.members = 0;
  EXPECT_EQ(refusal("mlp(a)", context),
            "formula column 1: mlp needs at least one output and one member, but has 1 and 0");
}

TEST(NetworkTable, FindsByName) {
  const NetworkRow* row = find_network("mlp");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->name, "mlp");
  EXPECT_EQ(find_network("MLP"), nullptr);
  EXPECT_EQ(find_network(""), nullptr);
  for (const NetworkRow& each : network_table()) EXPECT_EQ(find_network(each.name), &each);
}

// What the table says holds: every default, written out, makes the same network as leaving it out.
TEST(NetworkTable, DefaultsAreAsShown) {
  NetworkContext context;
  context.members = 2, context.image = {1, 16, 16};
  const at::Tensor columns = normals({5, 1}, 3).to(at::kFloat), images = normals({5, 16 * 16 + 1}, 3).to(at::kFloat);
  for (const NetworkRow& row : network_table()) {
    if (row.arguments.front().default_text.empty()) continue;  // what must be given; torchscript_test.cpp has it
    const at::Tensor& x = row.reads == Reads::image ? images : columns;
    const std::string start = std::string(row.name) + "(a";
    std::string all = start;
    for (const NetworkArgument& each : row.arguments) {
      if (each.name == "start") continue;  // a file, or none
      all += ", " + std::string(each.name) + "=" + std::string(each.default_text);
      EXPECT_FALSE(each.text.empty());
    }
    EXPECT_TRUE(at::equal((*make_network(all + ")", context))(x), (*make_network(start + ")", context))(x))) << all;
  }
}

}  // namespace
}  // namespace ick
