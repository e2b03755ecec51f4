#include "ick/train/pretrain.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/net/safetensors.h"
#include "support/image_case.h"
#include "support/message.h"
#include "train/masked_autoencoder.h"

namespace ick {
namespace {

constexpr std::uint32_t kSide = 16;
constexpr const char* kCall = "vit(row, idx=\"waves.idx\", patch=4, width=32, depth=2, heads=4, hidden=64)";

NetworkSpec spec_of(const std::string& text) { return make_network_spec(parse_expression(text).call); }

// Waves of one length, upright or lying, anywhere: what is seen of one tells the rest. Columns: row, and part, which is
// 1 for the last `others` rows; their images are noise from `noise`.
Table waves_table(const ImageFolder& folder, std::int64_t rows, std::int64_t others = 0, std::uint64_t noise = 0) {
  Random random(seed_for(3, "waves")), random_noise(noise);
  std::vector<std::uint8_t> pixels;
  std::vector<double> row, part;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool upright = random.below(2) == 1, is_noise = i >= rows - others;
    const double phase = 2.0 * std::numbers::pi * random.uniform();
    for (std::uint32_t r = 0; r < kSide; ++r) {
      for (std::uint32_t c = 0; c < kSide; ++c) {
        const double wave = std::sin(2.0 * std::numbers::pi * (upright ? c : r) / 8.0 + phase);
        pixels.push_back(static_cast<std::uint8_t>(is_noise ? random_noise.below(256) : std::lround(128 + 100 * wave)));
      }
    }
    row.push_back(static_cast<double>(i));
    part.push_back(is_noise);
  }
  folder.write_idx("waves.idx", pixels, kSide);
  Table table = table_of({column_of("row", row), column_of("part", part)});
  table.images = std::make_shared<ImageStore>(folder.path());
  return table;
}

PretrainOptions few(std::int64_t epochs) {
  PretrainOptions options;
  options.epochs = epochs, options.batch = 16, options.decoder_width = 32, options.learning_rate = 0.003;
  return options;
}

void expect_equal(const Pretrained& a, const Pretrained& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].first, b.tensors[i].first);
    EXPECT_TRUE(at::equal(a.tensors[i].second, b.tensors[i].second)) << a.tensors[i].first;
  }
  EXPECT_EQ(a.metadata, b.metadata);
}

TEST(Pretrain, LearnsWhatTheSeenTellsOfTheHidden) {
  const ImageFolder folder;
  const Table table = waves_table(folder, 400);
  std::vector<double> losses, explained;
  const Pretrained made = pretrain(table, spec_of(kCall), few(30), [&](const Progress& p) {
    EXPECT_EQ(p.epoch, std::ssize(losses) + 1);
    losses.push_back(p.loss), explained.push_back(p.validation);
  });
  ASSERT_EQ(losses.size(), 30u);
  EXPECT_NEAR(losses[0], 1.0, 0.3);  // of numbers of variance one, of which nothing is known
  EXPECT_LT(losses.back(), 0.5 * losses[0]);
  EXPECT_LT(explained[0], 0.3);
  EXPECT_GT(made.explained, 0.5);
  EXPECT_EQ(made.explained, explained.back());
  EXPECT_EQ(made.images, 360);
  EXPECT_EQ(made.validation_images, 40);
  EXPECT_EQ(made.metadata.at("format"), "ick.pretrained");
  EXPECT_EQ(made.metadata.at("image"), "1 x 16 x 16");
  EXPECT_EQ(made.metadata.at("patch"), "4");
  EXPECT_NEAR(std::stod(made.metadata.at("channel_means")), 128.0, 3.0);
  EXPECT_NEAR(std::stod(made.metadata.at("channel_deviations")), 100.0 / std::numbers::sqrt2, 3.0);
}

TEST(Pretrain, TheSameSeedGivesTheSameBits) {
  const ImageFolder folder;
  const Table table = waves_table(folder, 40);
  PretrainOptions options = few(2);
  const Pretrained one = pretrain(table, spec_of(kCall), options);
  options.loaders = 1;
  expect_equal(one, pretrain(table, spec_of(kCall), options));
  options.seed = 1;
  EXPECT_FALSE(at::equal(one.tensors[0].second, pretrain(table, spec_of(kCall), options).tensors[0].second));
}

TEST(Pretrain, ImagesOfTheHoldoutHaveNoPart) {
  const ImageFolder folder;
  PretrainOptions options = few(2);
  options.holdout = parse_split("part == 1");
  const Pretrained one = pretrain(waves_table(folder, 60, 20, 1), spec_of(kCall), options);
  EXPECT_EQ(one.images + one.validation_images, 40);
  expect_equal(one, pretrain(waves_table(folder, 60, 20, 2), spec_of(kCall), options));
  const Table other = waves_table(folder, 60, 20, 1);
  options.holdout = {};
  EXPECT_FALSE(at::equal(one.tensors[0].second, pretrain(other, spec_of(kCall), options).tensors[0].second));

  // An image that rows on both sides show is held out.
  options.holdout = parse_split("part == 1");
  Table shared = waves_table(folder, 60, 20, 1);
  set_value(shared.columns[0], 59, 0.0);
  set_value(shared.columns[0], 1, 2.0);
  const Pretrained without = pretrain(shared, spec_of(kCall), options);
  EXPECT_EQ(without.images + without.validation_images, 38);
}

TEST(Pretrain, ABrokenImageOfTheHoldoutDoesNotMatter) {
  const ImageFolder folder;
  std::vector<std::string> names;
  std::vector<double> part;
  for (int i = 0; i < 14; ++i) {
    names.push_back("image" + std::to_string(i) + ".pgm");
    part.push_back(i >= 12);
    std::ofstream file(folder.path() + "/" + names.back(), std::ios::binary);
    if (part.back() == 1.0) continue;  // no bytes at all
    file << "P5\n8 8\n255\n";
    Random random(static_cast<std::uint64_t>(i));
    for (int pixel = 0; pixel < 64; ++pixel) file.put(static_cast<char>(random.below(128)));
  }
  Table table = table_of({column_of("part", part), text_column("image", names)});
  table.images = std::make_shared<ImageStore>(folder.path());
  const NetworkSpec network = spec_of("vit(image, patch=4, width=8, depth=1, heads=2, hidden=8)");
  PretrainOptions options = few(1);
  options.holdout = parse_split("part == 1");
  const Pretrained made = pretrain(table, network, options);
  EXPECT_EQ(made.images + made.validation_images, 12);
  options.holdout = {};
  EXPECT_THROW(pretrain(table, network, options), DataError);
}

TEST(Pretrain, EveryParameterOfTheEncoderLearns) {
  for (const std::string name : {"vit", "deepvit"}) {
    NetworkContext context;
    context.inputs = 0, context.image = {2, 8, 12};
    const auto network =
        make_network(spec_of(name + "(image, patch=4, width=8, depth=2, heads=2, hidden=6, layers=5)"), context);
    const Vit& vit = dynamic_cast<const Vit&>(*network);
    EXPECT_EQ(vit.encoder().size() + 4, vit.parameters().size());  // two dense layers are the readout's
    const MaskedAutoencoder model(vit, {0.5, 12, 2, 7});
    const at::Tensor x = at::empty({5, 2 * 8 * 12});
    Random random(9);
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = static_cast<float>(random.normal());
    const auto [predicted, target] = model(x, model.draw_order({1, 2, 3, 4, 5}));
    ASSERT_EQ(predicted.sizes(), at::IntArrayRef({5, 3, 32}));
    (predicted - target).square().mean().backward();
    for (const NamedTensor& each : model.parameters()) {
      ASSERT_TRUE(each.value.grad().defined()) << name << " " << each.path;
      EXPECT_GT(each.value.grad().abs().max().item<double>(), 0.0) << name << " " << each.path;
    }
  }
}

// What is predicted does not depend on the hidden pixels, and the target is theirs.
TEST(Pretrain, TheHiddenIsNotSeen) {
  NetworkContext context;
  context.inputs = 0, context.image = {1, 8, 8};
  const auto network = make_network(spec_of("vit(image, patch=4, width=8, depth=2, heads=2, hidden=6)"), context);
  const MaskedAutoencoder model(dynamic_cast<const Vit&>(*network), {0.5, 8, 1, 7});
  const at::Tensor order = at::tensor({3, 1, 0, 2}, at::kLong).view({1, 4});  // hidden: the right half of the image
  at::Tensor x = at::empty({8, 8});
  Random random(9);
  for (std::int64_t i = 0; i < 64; ++i) x.data_ptr<float>()[i] = static_cast<float>(random.normal());
  at::Tensor hidden_changed = x.clone(), seen_changed = x.clone();
  hidden_changed.narrow(1, 4, 4).mul_(-2.0);
  seen_changed.narrow(1, 0, 4).mul_(-2.0);
  const auto one = model(x.view({1, 64}), order);
  const auto other = model(hidden_changed.view({1, 64}), order);
  EXPECT_TRUE(at::equal(one.predicted, other.predicted));
  EXPECT_FALSE(at::allclose(one.target, other.target));
  const auto third = model(seen_changed.view({1, 64}), order);
  EXPECT_FALSE(at::allclose(one.predicted, third.predicted));
  EXPECT_TRUE(at::equal(one.target, third.target));
  const at::Tensor lower = x.slice(0, 4, 8).slice(1, 4, 8).reshape({16});  // patch 3
  const at::Tensor expected = (lower - lower.mean()) / (lower.var(false) + 0.01).sqrt();
  EXPECT_TRUE(at::allclose(one.target[0][0], expected, 1e-5, 1e-5));
}

TEST(Pretrain, AFormulaStartsFromIt) {
  const ImageFolder folder;
  const Pretrained made = pretrain(waves_table(folder, 40), spec_of(kCall), few(1));
  const std::string file = folder.path() + "/encoder.safetensors";
  write_file(file, safetensors_bytes(made.tensors, made.metadata));
  NetworkContext context;
  context.inputs = 0, context.image = {1, kSide, kSide}, context.members = 3, context.outputs = 2;
  const auto make = [&](const std::string& arguments) {
    return make_network(spec_of("vit(image, heads=4, hidden=64, " + arguments + ", start=\"" + file + "\")"), context);
  };
  const auto message = [&](const std::string& arguments) { return message_of<DataError>([&] { make(arguments); }); };
  const auto network = make("patch=4, width=32, depth=2");
  const auto parameters = network->parameters();
  ASSERT_EQ(parameters.size(), made.tensors.size() + 2);
  for (std::size_t i = 0; i < made.tensors.size(); ++i) {
    EXPECT_EQ(parameters[i].path, made.tensors[i].first);
    EXPECT_TRUE(at::equal(parameters[i].value, made.tensors[i].second.expand_as(parameters[i].value)));
  }
  EXPECT_FALSE(at::equal(network->last_weight()[0], network->last_weight()[1]));  // each member's own
  EXPECT_EQ(message("patch=8, width=32, depth=2"),
            file + ": it was trained with patch = 4, and this network has patch = 8; both have to be the same");
  EXPECT_EQ(message("patch=4, width=32, depth=3"),
            file + ": it was trained with depth = 2, and this network has depth = 3; both have to be the same");
  context.image = {1, 8, 8};
  EXPECT_NE(message("patch=4, width=32, depth=2").find("trained with image = 1 x 16 x 16"), std::string::npos);
  context.image = {1, kSide, kSide};
  write_file(file, safetensors_bytes(made.tensors, {{"format", "other"}}));
  EXPECT_NE(message("patch=4, width=32, depth=2").find("does not come from `ick pretrain`"), std::string::npos);
  std::filesystem::remove(file);
  EXPECT_NE(message("patch=4, width=32, depth=2").find("cannot read"), std::string::npos);
  context.stored = [](const std::string&) { return at::Tensor(); };  // a model that was trained has its parameters
  EXPECT_EQ(make("patch=4, width=32, depth=2")->parameters().size(), parameters.size());
}

TEST(Pretrain, BadInput) {
  const ImageFolder folder;
  const Table table = waves_table(folder, 9);
  const auto usage = [&](const std::string& call, double mask) -> std::string {
    PretrainOptions options = few(1);
    options.mask = mask;
    try {
      pretrain(table, spec_of(call), options);
    } catch (const UsageError& error) {
      return error.what();
    } catch (const DataError& error) {
      return std::string("data: ") + error.what();
    }
    return "";
  };
  EXPECT_EQ(usage("cnn(row, idx=\"waves.idx\")", 0.5),
            "formula column 1: cnn cannot be pre-trained; patches are hidden from transformers, which are vit and "
            "deepvit");
  for (const double mask : {0.0, 1.0, -0.5, std::nan("")}) {
    EXPECT_NE(usage(kCall, mask).find("expected a number between 0 and 1"), std::string::npos) << mask;
  }
  EXPECT_EQ(usage(kCall, 0.5),
            "data: pre-training needs at least 10 different images, and there are 9 in rows that are not held out");
}

TEST(Pretrain, ThereMustBeSomethingToHide) {
  const ImageFolder folder;
  const Table table = waves_table(folder, 12);
  EXPECT_THROW(pretrain(table, spec_of("vit(row, idx=\"waves.idx\", patch=16)"), few(1)), UsageError);
  folder.write_idx("plain.idx", std::vector<std::uint8_t>(12 * 64, 7), 8);
  EXPECT_THROW(pretrain(table, spec_of("vit(row, idx=\"plain.idx\", patch=4)"), few(1)), DataError);
}

}  // namespace
}  // namespace ick
