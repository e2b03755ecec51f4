#include "ick/base/error.h"
#include "table/image_case.h"

namespace ick {
namespace {

TEST(ImageSettings, AreTakenOffTheCall) {
  Call call = parse_expression(
                  "cnn(image, size=[48, 64], layers=3, fit=crop, bands=[3, 2, 1], flip=both, "
                  "rotate=0.5rad, shift=2.5)")
                  .call;
  const ImageSettings settings = take_image_settings(call);
  const Augmentation augmentation = take_augmentation(call);
  EXPECT_EQ(settings, (ImageSettings{{"image"}, "", "", 48, 64, ImageSettings::Fit::crop, {3, 2, 1}}));
  EXPECT_EQ(augmentation.flip_horizontal && augmentation.flip_vertical, true);
  EXPECT_NEAR(augmentation.rotate, 28.6478897565412, 1e-12);
  EXPECT_EQ(augmentation.shift, 2.5);
  EXPECT_EQ(print(call), "cnn(layers=3)");
}

TEST(ImageSettings, ColumnsBehindTheImageStay) {
  Call call = parse_expression("cnn(image, a, b, size=8)").call;
  EXPECT_EQ(take_image_settings(call).columns, (std::vector<std::string>{"image"}));
  EXPECT_EQ(print(call), "cnn(a, b)");
}

TEST(ImageSettings, EachIsOptional) {
  EXPECT_EQ(settings_of("cnn(image)"), (ImageSettings{{"image"}, "", "", 0, 0, ImageSettings::Fit::resize, {}}));
  EXPECT_EQ(settings_of("cnn(n, idx=\"a b.idx\", size=28, fit=resize, bands=1)"),
            (ImageSettings{{"n"}, "a b.idx", "", 28, 28, ImageSettings::Fit::resize, {1}}));
  EXPECT_EQ(settings_of("cnn(raster=\"dem.tif\", at=(lat, lon), size=32)"),
            (ImageSettings{{"lat", "lon"}, "", "dem.tif", 32, 32, ImageSettings::Fit::resize, {}}));
  for (const auto& [text, horizontal, vertical] : {std::tuple{"cnn(x, flip=horizontal, rotate=15)", true, false},
                                                   {"cnn(x, flip=vertical, rotate=15deg)", false, true}}) {
    Call call = parse_expression(text).call;
    EXPECT_EQ(take_augmentation(call), (Augmentation{horizontal, vertical, 15.0, 0.0}));
    EXPECT_EQ(print(call), "cnn(x)");
  }
  Call plain = parse_expression("cnn(x)").call;
  EXPECT_FALSE(take_augmentation(plain).any());
}

TEST(ImageSettings, EveryArgumentIsListed) {
  std::string names;
  for (const ImageArgument& each : image_arguments()) {
    names += std::string(each.name) + " ";
    EXPECT_FALSE(each.text.empty() || each.default_text.empty()) << each.name;
  }
  EXPECT_EQ(names, "idx raster at size fit bands flip rotate shift ");
}

TEST(ImageSettings, EveryErrorNamesItsColumn) {
  const std::pair<std::string, std::string> rows[] = {
      {"cnn()", "1: cnn reads images, and no column says which; name it, as in cnn(image)"},
      {"cnn(.)", "1: cnn reads images, and no column says which; name it, as in cnn(image)"},
      {"cnn(trees(x))", "1: cnn reads images, and no column says which; name it, as in cnn(image)"},
      {"cnn(at=(lat, lon))", "5: at=(...) needs a raster to cut patches of, as in raster=\"dem.tif\""},
      {"cnn(x, at=3)", "8: at must be two columns, as in at=(lat, lon)"},
      {"cnn(raster=\"a.tif\")",
       "1: cnn cuts patches of a raster around places; say where with at=(latitude, longitude)"},
      {"cnn(raster=\"a.tif\", lat, lon)",
       "1: cnn cuts patches of a raster around places; say where with at=(latitude, longitude)"},
      {"cnn(raster=\"a.tif\", at=(lat, lon, x), size=3)",
       "1: cnn cuts patches of a raster around places; say where with at=(latitude, longitude)"},
      {"cnn(raster=\"a.tif\", at=(lat, lon))", "5: patches of a raster need their size in pixels, as in size=32"},
      {"cnn(raster=\"a.tif\", at=(lat, lon), size=3, fit=crop)",
       "44: patches of a raster have their size already; leave fit= out"},
      {"cnn(raster=\"a.tif\", idx=\"b\")",
       "5: images come from an idx file or from a raster; give idx= or raster=, not both"},
      {"cnn(x, idx=b)", "8: idx must be a file's name in quotes, as in idx=\"file\""},
      {"cnn(x, raster=\"\")", "8: raster must be a file's name in quotes, as in raster=\"file\""},
      {"cnn(x, size=0)",
       "8: size has 0 where whole numbers from 1 to 16384, as in size=64 or size=[48, 64] were expected"},
      {"cnn(x, size=2.5)",
       "8: size has 2.5 where whole numbers from 1 to 16384, as in size=64 or size=[48, 64] were expected"},
      {"cnn(x, size=3km)",
       "8: size has 3km where whole numbers from 1 to 16384, as in size=64 or size=[48, 64] were expected"},
      {"cnn(x, size=large)", "8: size must be whole numbers from 1 to 16384, as in size=64 or size=[48, 64]"},
      {"cnn(x, size=[1, 2, 3])", "8: size has more than two numbers; give one, or [height, width]"},
      {"cnn(x, fit=cropp)", "8: no fit named \"cropp\"; did you mean \"crop\"?"},
      {"cnn(x, fit=2)", "8: fit must be a word; resize and crop are known"},
      {"cnn(x, bands=0)", "8: bands has 0 where whole numbers from 1 to 65536, as in bands=[3, 2, 1] were expected"},
      {"cnn(x, flip=diagonal)", "8: no flip named \"diagonal\"; horizontal, vertical and both are known"},
      {"cnn(x, rotate=200)", "8: rotate = 200 is not one number from 0 to 180deg, as in rotate=15deg"},
      {"cnn(x, rotate=2km)", "8: rotate = 2km is not one number from 0 to 180deg, as in rotate=15deg"},
      {"cnn(x, rotate=[1, 2])", "8: rotate must be one number from 0 to 180deg, as in rotate=15deg"},
      {"cnn(x, shift=-1)", "8: shift = -1 is not one number from 0 to 16384, as in shift=2"},
      {"cnn(x, shift=1m)", "8: shift = 1m is not one number from 0 to 16384, as in shift=2"},
  };
  for (const auto& [text, message] : rows) {
    EXPECT_EQ(message_of<UsageError>([&] {
                Call call = parse_expression(text).call;
                take_image_settings(call);
                take_augmentation(call);
              }),
              "formula column " + message)
        << text;
  }
}

}  // namespace
}  // namespace ick
