#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "net/embedding_cache.h"
#include "support/image_network_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

constexpr ImageShape kImage{1, 4, 5};

// head(relu(x * weight)) with a norm by constants, whose parameters stand at two levels.
torch::jit::Module backbone() {
  torch::jit::Module head("head");
  head.register_parameter("weight", normals({20, 6}, 1).to(at::kFloat), false);
  head.register_parameter("bias", normals({6}, 2).to(at::kFloat), false);
  head.define("def forward(self, h):\n  return torch.matmul(h, self.weight) + self.bias\n");
  torch::jit::Module module("backbone");
  module.register_parameter("scale", normals({5}, 3).to(at::kFloat), false);
  module.register_buffer("centre", normals({5}, 4).to(at::kFloat));
  module.register_module("head", head);
  module.define(
      "def forward(self, x):\n  return self.head.forward(torch.tanh((x - self.centre) * self.scale).flatten(1))\n");
  return module;
}

at::Tensor backbone_by_hand(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& weight,
                            const at::Tensor& bias) {
  return ((x.view({-1, 1, 4, 5}) - normals({5}, 4).to(at::kFloat)) * scale).tanh().flatten(1).matmul(weight) + bias;
}

class Torchscript : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& path : files_) std::remove(path.c_str());
  }

  std::string write(const torch::jit::Module& module) {
    const std::string path = new_path();
    module.save(path);
    return path;
  }

  std::string write(const std::string& forward) {
    torch::jit::Module module("script");
    module.define(forward);
    return write(module);
  }

  std::string new_path() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    files_.push_back(testing::TempDir() + test->name() + std::to_string(files_.size()) + ".pt");
    return files_.back();
  }

  static std::string call_of(const std::string& path, const std::string& more = "") {
    return "torchscript(image, file=\"" + path + "\"" + more + ")";
  }

  std::string message_of(const std::string& path, const std::string& more = "") {
    try {
      make_network(call_of(path, more), image_context(kImage, 2, 1));
    } catch (const DataError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      return message.substr(message.find(path) == 0 ? path.size() : 0);
    }
    return "";
  }

  std::vector<std::string> files_;
};

TEST_F(Torchscript, FrozenItIsReadOutByEachMember) {
  const auto network = make_network(call_of(write(backbone())), image_context(kImage, 2, 3));
  const at::Tensor x = normals({7, 20}, 5).to(at::kFloat);
  const at::Tensor expected = backbone_by_hand(x, normals({5}, 3).to(at::kFloat), normals({20, 6}, 1).to(at::kFloat),
                                               normals({6}, 2).to(at::kFloat));
  const at::Tensor hidden = network->hidden(x);
  ASSERT_EQ(hidden.sizes(), at::IntArrayRef({3, 7, 6}));
  for (std::int64_t e = 0; e < 3; ++e) EXPECT_TRUE(at::allclose(hidden[e], expected, 1e-5, 1e-5));
  EXPECT_FALSE(hidden.requires_grad());
  EXPECT_EQ(network->parameters().size(), 2u);
  (*network)(x).square().sum().backward();
  EXPECT_GT(network->last_weight().grad().abs().max().item<double>(), 0.0);
}

// The script tells its calls apart: what was made by the first stays.
TEST_F(Torchscript, FrozenItSeesEachImageOnce) {
  torch::jit::Module counting("counting");
  counting.register_buffer("calls", at::zeros({1}));
  counting.define("def forward(self, x):\n  self.calls += 1\n  return x.flatten(1) + 100.0 * self.calls\n");
  const std::string call = call_of(write(counting));
  const at::Tensor x = normals({9, 20}, 6).to(at::kFloat);
  const auto calls = [&](const Network& network, const at::Tensor& rows) {  // that made each row, for both members
    const at::Tensor made = network.hidden(rows);
    EXPECT_TRUE(at::equal(made[0], made[1]));
    const at::Tensor number = ((made[0] - rows) / 100.0).round();
    EXPECT_TRUE(at::allclose(made[0], rows + 100.0 * number, 0.0, 1e-4));
    return number.select(1, 0);
  };
  const auto network = make_network(call, image_context(kImage, 2, 2));  // looks at it once
  EXPECT_TRUE(at::equal(calls(*network, x.narrow(0, 0, 4)), at::full({4}, 2.0)));
  EXPECT_TRUE(at::equal(calls(*network, x.narrow(0, 2, 5)), at::tensor({2.0f, 2.0f, 3.0f, 3.0f, 3.0f})));
  EXPECT_TRUE(at::equal(calls(*network, x.narrow(0, 0, 7).flip(0)), at::tensor({3.f, 3.f, 3.f, 2.f, 2.f, 2.f, 2.f})));

  const auto again = make_network(call, image_context(kImage, 3, 2));
  EXPECT_TRUE(at::equal(calls(*again, x.narrow(0, 0, 4)), at::full({4}, 2.0)));
  EXPECT_TRUE(at::equal(calls(*again, x.narrow(0, 7, 2)), at::full({2}, 2.0)));
  const auto turned = make_network(call, image_context({1, 5, 4}, 2, 2));  // images of another shape are others
  (void)turned->hidden(x.narrow(0, 8, 1));
  EXPECT_TRUE(at::equal(calls(*turned, x.narrow(0, 0, 4)), at::full({4}, 3.0)));
}

TEST(EmbeddingCache, KeepsWhatThereIsRoomFor) {
  EmbeddingCache cache(1000);
  const std::vector<float> values = {1.5f, -2.0f, 0.25f};
  std::vector<float> found(3, 7.0f);
  std::vector<EmbeddingCache::Key> keys;
  for (int i = 0; i < 40; ++i) keys.push_back(EmbeddingCache::key(&i, sizeof i));
  for (const auto& key : keys) cache.keep(key, values);
  EXPECT_TRUE(cache.find(keys[0], found));
  EXPECT_EQ(found, values);
  found.assign(3, 7.0f);
  EXPECT_FALSE(cache.find(keys[39], found));
  EXPECT_EQ(found, std::vector<float>(3, 7.0f));
  std::int64_t kept = 0;
  for (const auto& key : keys) kept += cache.find(key, found);
  EXPECT_LE(kept * 12, 1000);
  EXPECT_GE(kept, 5);
}

TEST(EmbeddingCache, KeysDifferInEveryBit) {
  std::vector<char> bytes(21, 0);
  std::set<std::uint64_t> first, second;
  const auto add = [&](std::size_t count) {
    const EmbeddingCache::Key key = EmbeddingCache::key(bytes.data(), count);
    first.insert(key.first), second.insert(key.second);
  };
  for (std::size_t count = 0; count <= bytes.size(); ++count) add(count);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(1 << bit % 8);
    add(bytes.size());
    bytes[bit / 8] = 0;
  }
  EXPECT_EQ(first.size(), 22u + 8u * 21u);
  EXPECT_EQ(second.size(), 22u + 8u * 21u);
  const EmbeddingCache::Key one = EmbeddingCache::key("ab", 2),
                            other = EmbeddingCache::key("b", 1, EmbeddingCache::key("a", 1));
  EXPECT_FALSE(one == other);
}

TEST_F(Torchscript, ItsParametersAreLearnedWhenAsked) {
  const auto network = make_network(call_of(write(backbone()), ", train=yes, layers=4"), image_context(kImage, 2, 3));
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"script.scale", {3, 5}},     {"script.head.weight", {3, 20, 6}}, {"script.head.bias", {3, 6}},
      {"layer1.weight", {3, 6, 4}}, {"layer1.bias", {3, 1, 4}},         {"output.weight", {3, 4, 2}},
      {"output.bias", {3, 1, 2}}};
  ASSERT_EQ(network->parameters().size(), expected.size());
  for (const NamedTensor& each : network->parameters()) {
    ASSERT_TRUE(expected.contains(each.path)) << each.path;
    EXPECT_EQ(each.value.sizes(), at::IntArrayRef(expected.at(each.path))) << each.path;
    EXPECT_TRUE(each.value.is_leaf() && each.value.requires_grad()) << each.path;
    EXPECT_EQ(each.decays, each.path.ends_with(".weight")) << each.path;
  }
  scatter_parameters(*network, 6);
  const at::Tensor x = normals({7, 20}, 5).to(at::kFloat);
  const auto of = [&](const std::string& path, std::int64_t e) { return parameter_of(*network, path)[e]; };
  std::vector<at::Tensor> by_hand;
  for (std::int64_t e = 0; e < 3; ++e) {
    const at::Tensor h =
        backbone_by_hand(x, of("script.scale", e), of("script.head.weight", e), of("script.head.bias", e));
    const at::Tensor units = at::gelu(h.matmul(of("layer1.weight", e)) + of("layer1.bias", e));
    by_hand.push_back(units.matmul(of("output.weight", e)) + of("output.bias", e));
  }
  const at::Tensor f = (*network)(x), expected_f = at::stack(by_hand);
  EXPECT_TRUE(at::allclose(f, expected_f, 1e-4, 1e-4));
  std::vector<at::Tensor> values;
  for (const NamedTensor& each : network->parameters()) values.push_back(each.value);
  const auto found = torch::autograd::grad({f.square().sum()}, values);
  const auto gradients = torch::autograd::grad({expected_f.square().sum()}, values);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double largest = gradients[k].abs().max().item<double>();
    EXPECT_GT(largest, 1e-3);
    EXPECT_LT((found[k] - gradients[k]).abs().max().item<double>(), 1e-4 * largest) << network->parameters()[k].path;
  }
}

TEST_F(Torchscript, LearnsEightRowsByHeart) {
  expect_overfits(call_of(write(backbone()), ", train=yes, layers=16"), image_context(kImage, 1, 2), 150, 0.02);
}

TEST_F(Torchscript, AStoredOneNeedsNoFile) {
  const std::string path = write(backbone()), call = call_of(path, ", train=yes");
  const auto network = make_network(call, image_context(kImage, 2, 2));
  scatter_parameters(*network, 7);
  ASSERT_EQ(network->buffers().size(), 1u);
  const at::Tensor bytes = network->buffers()[0].value;
  EXPECT_EQ(network->buffers()[0].path, "script");
  EXPECT_EQ(bytes.scalar_type(), at::kByte);
  std::remove(path.c_str());
  NetworkContext context = image_context(kImage, 2, 2);
  context.stored = [&](const std::string& name) { return name == "script" ? bytes : at::Tensor(); };
  EXPECT_EQ(
      usage_message(call, context),
      "formula column 20: the stored model carries this TorchScript, a program that could run any code as you; load "
      "it with trust only if you trust the place it comes from");
  context.trust = true;
  const auto again = make_network(call, context);
  for (const NamedTensor& each : again->parameters()) {
    each.value.set_data(parameter_of(*network, each.path).detach());
  }
  const at::Tensor x = normals({3, 20}, 5).to(at::kFloat);
  EXPECT_TRUE(at::equal((*network)(x), (*again)(x)));
}

TEST_F(Torchscript, StartsAsADrawOfTheStandardPrior) {
  // Noise goes through a linear map of fixed weights: its square on two images tells that on others up to sampling.
  const std::string path = write("def forward(self, x):\n  return 3.0 * x.flatten(1)\n");
  expect_standard_start(call_of(path), image_context({3, 16, 16}, 4, 600), 0.1);
}

TEST_F(Torchscript, FilesThatDoNotFit) {
  EXPECT_NE(message_of("no such file.pt").find("no such file.pt"), std::string::npos);
  const std::string text = new_path();
  std::ofstream(text) << "not a script";
  EXPECT_EQ(message_of(text).find(": this is not a script that torch can read ("), 0u) << message_of(text);
  const std::string empty = new_path();
  std::ofstream{empty};
  EXPECT_EQ(message_of(empty).find(": this is not a script that torch can read ("), 0u) << message_of(empty);
  EXPECT_EQ(message_of(write("def forward(self, x):\n  return x\n")),
            ": from 2 images this script makes a tensor of shape [2, 1, 4, 5], where (2, D) was expected, a row of "
            "numbers for each; end it with flatten(1)");
  EXPECT_EQ(message_of(write("def forward(self, x):\n  return (x, x)\n")),
            ": this script gives a value of type Tuple where a tensor (B, D) of real numbers was expected; let its "
            "forward return that alone");
  EXPECT_EQ(message_of(write("def forward(self, x):\n  return x.flatten(1)\n"), ", train=yes"),
            ": this script has no parameters to train, as torch.jit.freeze leaves it; save it without, or leave "
            "train=yes out");
  const std::string fails = message_of(write("def forward(self, x):\n  return x.view(-1, 7)\n"));
  EXPECT_EQ(fails.find(": this script fails on images of 1 x 4 x 5 (channels, height and width): "), 0u) << fails;
  EXPECT_NE(fails.find("shape '[-1, 7]' is invalid"), std::string::npos) << fails;
}

// A path in a stored formula is not opened, even where there is a file.
TEST_F(Torchscript, AStoredOneIsNotLookedForInFiles) {
  NetworkContext context = image_context(kImage, 2, 1);
  context.stored = [](const std::string&) { return at::Tensor(); };
  context.trust = true;
  const std::string path = write(backbone());
  EXPECT_EQ(ick::message_of<DataError>([&] { make_network(call_of(path), context); }),
            "there is no tensor for the script of " + path);
}

// Wherever they stand: in a branch, in a method that forward does not call, in a part; and before anything runs.
TEST_F(Torchscript, OperationsOnFilesAreRefused) {
  const auto refusal = [](const std::string& name) {
    return ": this script uses " + name +
           ", which can do more than compute with tensors, so it is not run; save a network without it";
  };
  const std::string file = new_path(), forward = "def forward(self, x):\n  return x.flatten(1)\n",
                    save = "  torch.save(x, \"" + file + "\")\n";
  EXPECT_EQ(message_of(write("def forward(self, x):\n" + save + "  return x.flatten(1)\n")), refusal("aten::save"));
  EXPECT_EQ(message_of(write("def forward(self, x):\n  if x.size(0) > 5:\n  " + save + "  return x.flatten(1)\n")),
            refusal("aten::save"));
  EXPECT_EQ(message_of(write("def other(self, x):\n" + save + "  return x\n" + forward)), refusal("aten::save"));
  EXPECT_EQ(
      message_of(write("def forward(self, x):\n  return torch.from_file(\"" + file + "\", True, 40).view(2, 20)\n")),
      refusal("aten::from_file"));
  torch::jit::Module part("part"), whole("whole");
  part.define("def forward(self, x):\n" + save + "  return x\n");
  whole.register_module("part", part);
  whole.define("def forward(self, x):\n  return self.part.forward(x).flatten(1)\n");
  EXPECT_EQ(message_of(write(whole)), refusal("aten::save"));
  // Loading itself runs this one.
  EXPECT_EQ(message_of(write(forward +
                             "def __getstate__(self) -> int:\n  return 3\n"
                             "def __setstate__(self, x: int) -> None:\n" +
                             save)),
            refusal("__setstate__"));
  EXPECT_FALSE(std::ifstream(file).good());
  EXPECT_EQ(message_of(write(forward)), "");
}

TEST_F(Torchscript, ArgumentsThatDoNotFit) {
  const NetworkContext context = image_context(kImage, 2, 1);
  EXPECT_EQ(usage_message("torchscript(image)", context),
            "formula column 1: torchscript needs file, as in torchscript(image, file=\"backbone.pt\")");
  EXPECT_EQ(usage_message("torchscript(image, file=backbone)", context),
            "formula column 20: file must be text in quotes, as in file=\"backbone.pt\"");
  EXPECT_EQ(usage_message("torchscript(image, file=\"a.pt\", train=maybe)", context),
            "formula column 33: no train named \"maybe\"; no and yes are known");
}

}  // namespace
}  // namespace ick
