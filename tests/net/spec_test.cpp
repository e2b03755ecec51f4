#include "ick/net/spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/error.h"
#include "table/scratch.h"

namespace ick {
namespace {

using Names = std::vector<std::string>;

NetworkSpec spec_of(const std::string& text, const Names& others = {}) {
  return make_network_spec(parse_expression(text).call, others);
}

std::string spec_refusal(const std::string& text) {
  return message_of<UsageError>([&] { spec_of(text); });
}

TEST(NetworkSpec, OfColumns) {
  const NetworkSpec spec = spec_of("mlp(a, trees(b, c, n=4), trees(a, depth=3), layers=[8, 4], norm=layer)");
  EXPECT_EQ(spec.name, "mlp");
  EXPECT_EQ(spec.inputs.columns, Names{"a"});
  ASSERT_EQ(spec.inputs.trees.size(), 2u);
  EXPECT_EQ(spec.inputs.trees[0].columns, (Names{"b", "c"}));
  EXPECT_EQ(spec.inputs.trees[0].count, 4);
  EXPECT_EQ(spec.inputs.trees[0].depth, 2);
  EXPECT_EQ(spec.inputs.trees[1].count, 10);
  EXPECT_EQ(spec.inputs.trees[1].depth, 3);
  EXPECT_FALSE(spec.inputs.image.has_value());
  EXPECT_FALSE(spec.augmentation.any());
  ASSERT_EQ(spec.arguments.size(), 2u);
  EXPECT_EQ(spec.find("norm")->word, "layer");
  EXPECT_EQ(spec.sources, (Names{"a", "trees(b, c, n=4)", "trees(a, depth=3)"}));
  EXPECT_EQ(spec.text, "mlp(a, trees(b, c, n=4), trees(a, depth=3), layers=[8, 4], norm=layer)");
}

TEST(NetworkSpec, OfImages) {
  const NetworkSpec spec =
      spec_of("cnn(photo, a, size=[6, 8], flip=both, channels=4, rotate=15deg, bands=[3, 1], fit=crop)");
  ASSERT_TRUE(spec.inputs.image.has_value());
  EXPECT_EQ(spec.inputs.image->columns, Names{"photo"});
  EXPECT_EQ(spec.inputs.image->height, 6);
  EXPECT_EQ(spec.inputs.image->width, 8);
  EXPECT_EQ(spec.inputs.image->bands, (std::vector<int>{3, 1}));
  EXPECT_EQ(spec.inputs.image->fit, ImageSettings::Fit::crop);
  EXPECT_EQ(spec.inputs.columns, Names{"a"});
  EXPECT_TRUE(spec.augmentation.flip_horizontal && spec.augmentation.flip_vertical);
  EXPECT_EQ(spec.augmentation.rotate, 15.0);
  ASSERT_EQ(spec.arguments.size(), 1u);  // what is left is the network's
  EXPECT_EQ(spec.arguments[0].name, "channels");
  EXPECT_EQ(spec.sources, (Names{"photo", "a"}));
  EXPECT_EQ(spec.text, "cnn(photo, a, size=[6, 8], flip=both, channels=4, rotate=15deg, bands=[3, 1], fit=crop)");
}

TEST(NetworkSpec, PatchesOfARaster) {
  const NetworkSpec spec = spec_of("cnn(raster=\"dem.tif\", at=(lat, lon), size=4)");
  EXPECT_EQ(spec.inputs.image->columns, (Names{"lat", "lon"}));
  EXPECT_TRUE(spec.inputs.columns.empty());
  EXPECT_EQ(spec.text, "cnn(raster=\"dem.tif\", at=(lat, lon), size=4)");
}

TEST(NetworkSpec, DotStandsForTheOthers) {
  const NetworkSpec mlp = spec_of("mlp(b, ., trees(c))", {"a", "d"}), cnn = spec_of("cnn(photo, .)", {"a", "d"});
  EXPECT_EQ(mlp.inputs.columns, (Names{"b", "a", "d"}));
  EXPECT_EQ(mlp.sources, (Names{"b", "a", "d", "trees(c)"}));
  EXPECT_EQ(mlp.text, "mlp(b, a, d, trees(c))");
  EXPECT_EQ(cnn.inputs.image->columns, Names{"photo"});
  EXPECT_EQ(cnn.inputs.columns, (Names{"a", "d"}));
  EXPECT_EQ(spec_of("mlp(b)", {"a", "d"}).inputs.columns, Names{"b"});  // not where there is none
  EXPECT_EQ(spec_of("mlp(b, .)").text, "mlp(b, .)");                    // not known yet
}

TEST(NetworkSpec, RanksOfColumns) {
  const NetworkSpec spec = spec_of("mlp(a, rank(b, c), rank(c, d))");
  EXPECT_EQ(spec.inputs.columns, Names{"a"});
  EXPECT_EQ(spec.inputs.ranked, (Names{"b", "c", "d"}));
  EXPECT_EQ(spec.text, "mlp(a, rank(b, c), rank(c, d))");
  EXPECT_EQ(spec_refusal("mlp(a, rank())"), "formula column 8: rank has no column; name one, as in rank(x)");
  EXPECT_EQ(spec_refusal("mlp(a, rank(b, n=3))"), "formula column 16: rank has no argument named \"n\"; it has none");
}

TEST(NetworkSpec, Refusals) {
  EXPECT_EQ(spec_refusal("mpl(a)"), "formula column 1: no network named \"mpl\"; did you mean \"mlp\"?");
  EXPECT_EQ(spec_refusal("rbf(a)"),
            "formula column 1: no network named \"rbf\"; there are mlp, cnn, resnet, vit, deepvit and torchscript");
  EXPECT_EQ(spec_refusal("mlp(a, trees(b, n=0))"), "formula column 17: n must be a whole number from 1 to 1000");
  EXPECT_EQ(spec_refusal("mlp(a, trees(b, width=3))"),
            "formula column 17: trees has no argument named \"width\"; it has n and depth");
  EXPECT_EQ(spec_refusal("mlp(a, trees())"), "formula column 8: trees has no column; name one, as in trees(x)");
  EXPECT_EQ(spec_refusal("cnn()"),
            "formula column 1: cnn reads images, and no column says which; name it, as in cnn(image)");
  EXPECT_EQ(spec_refusal("cnn(photo, rotate=400deg)"),
            "formula column 12: rotate = 400deg is not one number from 0 to 180deg, as in rotate=15deg");
}

}  // namespace
}  // namespace ick
