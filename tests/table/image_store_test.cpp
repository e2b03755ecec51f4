#include <array>
#include <cmath>
#include <limits>
#include <thread>

#include "ick/table/csv.h"
#include "table/image_case.h"

namespace ick {
namespace {

const ImageShape kShape{3, 5, 7};

TEST(ImageStore, ReadsTheFilesNumbers) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.file("deep"));
  const TestImage colours, grey{1, 4, 6};
  colours.write("PNG", folder.file("a.png"));
  colours.write("GTiff", folder.file("deep/b.tif"));
  grey.write("PNG", folder.file("c.png"));
  ImageStore store(folder.path());
  const auto found = store.find(
      table_of("image", {"a.png", "", "deep/b.tif", "./deep/../a.png", "c.png", "a.png", folder.file("a.png")}),
      settings_of("cnn(image)"));
  EXPECT_EQ(found[1], -1);
  EXPECT_EQ(found[5], found[0]);
  EXPECT_EQ(store.shape(found[0]), kShape);
  EXPECT_EQ(store.shape(found[4]), (ImageShape{1, 4, 6}));
  for (const int row : {0, 2, 3, 6}) expect_pixels(read_pixels(store, found[row], kShape), kShape, colours.value);
  expect_pixels(read_pixels(store, found[4], {1, 4, 6}), {1, 4, 6}, grey.value);
  EXPECT_EQ(store.describe(found[2]), "row 3, \"deep/b.tif\"");
  EXPECT_EQ(store.describe(found[5]), "row 1, \"a.png\"");
}

TEST(ImageStore, ReadsEveryTypeOfNumber) {
  const ScratchFolder folder;
  ImageStore store(folder.path());
  const std::pair<GDALDataType, double> types[] = {{GDT_UInt16, 60000}, {GDT_Int16, -30000},  {GDT_UInt32, 1 << 23},
                                                   {GDT_Int32, -99999}, {GDT_Float32, 0.125}, {GDT_Float64, -1.5e5}};
  for (const auto& [type, start] : types) {
    const TestImage image{2, 3, 4, [&](int c, int y, int x) { return start + 12 * c + 4 * y + x; }, type};
    const std::string name = std::string(GDALGetDataTypeName(type)) + ".tif";
    image.write("GTiff", folder.file(name));
    const auto found = store.find(table_of("image", {name}), settings_of("cnn(image)"));
    expect_pixels(read_pixels(store, found[0], {2, 3, 4}), {2, 3, 4}, image.value);
  }
  const TestImage deep{1, 3, 4, [](int, int y, int x) { return 65000.0 - 100 * y - x; }, GDT_UInt16};
  deep.write("PNG", folder.file("deep.png"));
  const auto found = store.find(table_of("image", {"deep.png"}), settings_of("cnn(image)"));
  expect_pixels(read_pixels(store, found[0], {1, 3, 4}), {1, 3, 4}, deep.value);
}

TEST(ImageStore, JpegIsNearWhatWasWritten) {
  const ScratchFolder folder;
  const TestImage image{
      3, 24, 40, [](int c, int y, int x) { return 40.0 + 30 * c + 2 * y + x; }, GDT_Byte, {"QUALITY=98"}};
  image.write("JPEG", folder.file("a.jpg"));
  ImageStore store(folder.path());
  const auto found = store.find(table_of("image", {"a.jpg"}), settings_of("cnn(image)"));
  expect_pixels(read_pixels(store, found[0], {3, 24, 40}), {3, 24, 40}, image.value, 6.0);
}

TEST(ImageStore, AlphaIsLeftOutUnlessAskedFor) {
  const ScratchFolder folder;
  const TestImage image{4, 5, 7, [](int c, int y, int x) { return 40.0 * c + 5 * y + x; }};
  image.write("PNG", folder.file("a.png"));
  ImageStore store(folder.path());
  const Table table = table_of("image", {"a.png"});
  const auto plain = store.find(table, settings_of("cnn(image)"));
  EXPECT_EQ(store.shape(plain[0]), kShape);
  expect_pixels(read_pixels(store, plain[0], kShape), kShape, image.value);
  const auto chosen = store.find(table, settings_of("cnn(image, bands=[4, 2])"));
  expect_pixels(read_pixels(store, chosen[0], {2, 5, 7}), {2, 5, 7},
                [&](int c, int y, int x) { return image.value(c == 0 ? 3 : 1, y, x); });
}

TEST(ImageStore, APaletteBecomesColours) {
  const ScratchFolder folder;
  TestImage image{1, 5, 7, [](int, int y, int x) { return (2 * y + x) % 4; }};
  const GDALColorEntry colours[] = {{10, 20, 30, 255}, {200, 100, 50, 255}, {0, 255, 7, 255}, {90, 91, 92, 255}};
  image.change = [&](GDALDatasetH dataset) {
    const GDALColorTableH table = GDALCreateColorTable(GPI_RGB);
    for (int i = 0; i < 4; ++i) GDALSetColorEntry(table, i, &colours[i]);
    GDALSetRasterColorTable(GDALGetRasterBand(dataset, 1), table);
    GDALDestroyColorTable(table);
  };
  image.write("PNG", folder.file("a.png"));
  ImageStore store(folder.path());
  const auto found = store.find(table_of("image", {"a.png"}), settings_of("cnn(image)"));
  EXPECT_EQ(store.shape(found[0]), kShape);
  expect_pixels(read_pixels(store, found[0], kShape), kShape, [&](int c, int y, int x) {
    const GDALColorEntry& colour = colours[static_cast<int>(image.value(0, y, x))];
    return c == 0 ? colour.c1 : c == 1 ? colour.c2 : colour.c3;
  });
}

// A channel without any value stays without: who standardises it knows what stands for none.
TEST(ImageStore, PixelsWithoutAValueGetTheMean) {
  const ScratchFolder folder;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TestImage image{2, 2, 3,
                  [&](int c, int y, int x) {
                    return c == 1 ? nan : y == 0 && x == 1 ? -999.0 : y == 1 && x == 2 ? nan : 4.0 * y + x;
                  },
                  GDT_Float32};
  image.change = [](GDALDatasetH dataset) { GDALSetRasterNoDataValue(GDALGetRasterBand(dataset, 1), -999.0); };
  image.write("GTiff", folder.file("a.tif"));
  ImageStore store(folder.path());
  const auto found = store.find(table_of("image", {"a.tif"}), settings_of("cnn(image)"));
  const double mean = (0.0 + 2 + 4 + 5) / 4;
  const double expected[] = {0, mean, 2, 4, 5, mean};
  const std::vector<float> pixels = read_pixels(store, found[0], {2, 2, 3});
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(pixels[i], expected[i]);
    EXPECT_TRUE(std::isnan(pixels[6 + i]));
  }
}

// A plane keeps its slope when it is resized: value(x + 1/2) = value at the same place of the image.
TEST(ImageStore, ResizesAndCrops) {
  const ScratchFolder folder;
  const TestImage image{1, 60, 90, [](int, int y, int x) { return 5.0 + 0.5 * y - 2.0 * x; }, GDT_Float32};
  image.write("GTiff", folder.file("a.tif"));
  std::string numbers;
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 90; ++x)
      numbers += big_endian_text(std::bit_cast<std::uint32_t>(static_cast<float>(image.value(0, y, x))));
  }
  folder.write("a.idx", idx_text(0x0D, {1, 60, 90}, numbers));
  ImageStore store(folder.path());
  for (const std::string name : {"a.tif", "a.idx[0]"}) {
    const Table table = table_of("image", {name});
    for (const ImageShape shape : {ImageShape{1, 20, 30}, {1, 12, 9}, {1, 48, 80}, {1, 100, 120}}) {
      const auto found = store.find(table, settings_of("cnn(image)"));
      const std::vector<float> pixels = read_pixels(store, found[0], shape);
      const double down = 60.0 / static_cast<double>(shape.height), across = 90.0 / static_cast<double>(shape.width);
      std::size_t i = 0;
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x, ++i) {
          // Near an edge the weights are lopsided, and a little everywhere when pixels do not go whole into one.
          if (std::min(y, x) < 1 || y > shape.height - 2 || x > shape.width - 2) continue;
          const double expected = 5.0 + 0.5 * ((y + 0.5) * down - 0.5) - 2.0 * ((x + 0.5) * across - 0.5);
          const double tolerance = shape.height == 48 ? 0.1 * (0.5 + 2.0) : 1e-3;
          EXPECT_NEAR(pixels[i], expected, tolerance)
              << name << " " << shape.height << " x " << shape.width << " at " << y << ", " << x;
        }
      }
    }
    const auto found = store.find(table, settings_of("cnn(image, size=[20, 31], fit=crop)"));
    EXPECT_EQ(store.shape(found[0]), (ImageShape{1, 20, 31}));
    expect_pixels(read_pixels(store, found[0], {1, 20, 31}), {1, 20, 31},
                  [&](int, int y, int x) { return image.value(0, y + 20, x + 29); });
  }
  EXPECT_EQ(
      trouble_of(folder, "a.tif", {1, 61, 20}, "cnn(image, size=[61, 20], fit=crop)"),
      "row 2, \"a.tif\": is 90 x 60 pixels, too small for fit=crop to cut 20 x 61 out of it; use fit=resize, or a "
      "smaller size=[height, width]");
}

TEST(ImageStore, ReadsVariablesOfNetcdf) {
  const ScratchFolder folder;
  const TestImage image{1, 5, 7, [](int, int y, int x) { return 0.25 * y + 3 * x; }, GDT_Float32};
  image.write("netCDF", folder.file("climate.nc"));
  ImageStore store(folder.path());
  for (const std::string name : {"NETCDF:climate.nc:Band1", "NETCDF:\"climate.nc\":Band1", "climate.nc"}) {
    const auto found = store.find(table_of("image", {name}), settings_of("cnn(image)"));
    expect_pixels(read_pixels(store, found[0], {1, 5, 7}), {1, 5, 7}, image.value);
  }
  EXPECT_EQ(trouble_of(folder, "NETCDF:../climate.nc:Band1", {1, 5, 7}).substr(0, 78),
            "row 2: column \"image\": \"NETCDF:../climate.nc:Band1\" leads out of the folder of");
}

TEST(ImageStore, NamesStayInTheFolder) {
  const ScratchFolder folder, elsewhere;
  std::filesystem::create_directory(folder.file("inside"));
  TestImage().write("PNG", folder.file("a.png"));
  TestImage().write("PNG", elsewhere.file("a.png"));
  std::filesystem::create_symlink(elsewhere.file("a.png"), folder.file("link.png"));
  std::filesystem::create_symlink(folder.file("a.png"), folder.file("inside/good.png"));
  const std::string out = " leads out of the folder of the table, \"f\"; move the file there, or give images=DIR";
  const std::string up = "../" + std::filesystem::path(elsewhere.path()).filename().string() + "/a.png";
  for (const std::string& name :
       {std::string("../x.png"), up, std::string("link.png"), std::string("inside/../../a.png"),
        elsewhere.file("a.png"), std::string("/vsicurl/http://example.org/a.png"),
        std::string("/vsizip/a.zip/a.png")}) {
    EXPECT_EQ(trouble_of(folder, name, kShape), "row 2: column \"image\": \"" + name + "\"" + out);
  }
  for (const std::string name :
       {"b.png", "inside", "WMS:http://example.org", "http://example.org/a.png", "a.png/b.png"}) {
    EXPECT_EQ(trouble_of(folder, name, kShape),
              "row 2: column \"image\": there is no file \"" + name + "\" in the folder \"f\"");
  }
  EXPECT_EQ(trouble_of(folder, "inside/good.png", kShape), "");
  // A program of GDAL's that fetches pixels from elsewhere is no image.
  folder.write("a.vrt",
               "<VRTDataset rasterXSize=\"7\" rasterYSize=\"5\"><VRTRasterBand dataType=\"Byte\" band=\"1\">"
               "<SimpleSource><SourceFilename>" +
                   elsewhere.file("a.png") +
                   "</SourceFilename><SourceBand>1"
                   "</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>");
  EXPECT_EQ(trouble_of(folder, "a.vrt", {1, 5, 7}).substr(0, 43), "row 2, \"a.vrt\": cannot be read as an image:");
  ImageStore nowhere(folder.file("none"));
  EXPECT_EQ(message_of<DataError>([&] { nowhere.find(table_of("image", {"a.png"}), settings_of("cnn(image)")); },
                                  folder.path()),
            "the folder of images, \"f/none\", cannot be read: No such file or directory");
}

TEST(ImageStore, SaysWhatIsWrongWithAFile) {
  const ScratchFolder folder;
  folder.write("empty.png", "");
  folder.write("junk.png", "this is no image");
  TestImage{1}.write("PNG", folder.file("grey.png"));
  TestImage{4, 5, 7, TestImage().value, GDT_Byte, {"PHOTOMETRIC=CMYK"}}.write("GTiff", folder.file("cmyk.tif"));
  CPLPushErrorHandler(CPLQuietErrorHandler);  // warns that it will be taken for CMYK
  TestImage{4}.write("JPEG", folder.file("cmyk.jpg"));
  CPLPopErrorHandler();
  TestImage{1, 5, 7, TestImage().value, GDT_CFloat32}.write("GTiff", folder.file("complex.tif"));
  TestImage{1, 5, 7, TestImage().value, GDT_Byte, {"PIXELTYPE=SIGNEDBYTE"}}.write("GTiff", folder.file("signed.tif"));
  const TestImage large{3, 100, 150};
  for (const auto& [driver, name] : {std::pair{"PNG", "png"}, {"JPEG", "jpg"}, {"GTiff", "tif"}}) {
    large.write(driver, folder.file(std::string("whole.") + name));
    const std::string bytes = folder.read(std::string("whole.") + name);
    folder.write(std::string("cut.") + name, bytes.substr(0, bytes.size() / 2));
  }
  EXPECT_EQ(trouble_of(folder, "empty.png", kShape), "row 2, \"empty.png\": the file is empty");
  EXPECT_EQ(trouble_of(folder, "junk.png", kShape),
            "row 2, \"junk.png\": cannot be read as an image: `f/junk.png' not recognized as a supported file format.");
  EXPECT_EQ(
      trouble_of(folder, "grey.png", kShape),
      "row 2, \"grey.png\": has 1 channel, the others have 3; save it like the others, or choose channels that all "
      "have, as in bands=[1]");
  EXPECT_EQ(trouble_of(folder, "grey.png", kShape, "cnn(image, bands=[1, 3])"),
            "row 2, \"grey.png\": has 1 channel, but bands= asks for channel 3");
  EXPECT_EQ(trouble_of(folder, "cmyk.tif", kShape), "row 2, \"cmyk.tif\": is in CMYK colours; save it as RGB");
  EXPECT_EQ(trouble_of(folder, "cmyk.jpg", kShape), "row 2, \"cmyk.jpg\": is in CMYK colours; save it as RGB");
  EXPECT_EQ(trouble_of(folder, "complex.tif", {1, 5, 7}),
            "row 2, \"complex.tif\": holds complex numbers; save their real part, or their size");
  EXPECT_EQ(trouble_of(folder, "signed.tif", {1, 5, 7}),
            "row 2, \"signed.tif\": holds bytes with a sign, which are not read; save it as 16-bit numbers");
  for (const std::string name : {"cut.png", "cut.jpg", "cut.tif"}) {
    EXPECT_EQ(trouble_of(folder, name, {3, 100, 150}).substr(0, 53),
              "row 2, \"" + name + "\": cannot be read, it may be cut short");
  }
}

TEST(ImageStore, WideRastersAreReadHugeOnesRefused) {
  const ScratchFolder folder;
  const TestImage wide{
      1, 20, 100000, [](int, int y, int x) { return 1e-3 * x + y; }, GDT_Float32, {"COMPRESS=DEFLATE"}};
  wide.write("GTiff", folder.file("wide.tif"));
  ImageStore store(folder.path());
  const auto found = store.find(table_of("image", {"wide.tif"}), settings_of("cnn(image, size=[20, 50])"));
  // Each pixel is the mean of 2000: 1e-3 (2000 x + 999.5) + y.
  expect_pixels(
      read_pixels(store, found[0], {1, 20, 50}), {1, 20, 50}, [](int, int y, int x) { return 2.0 * x + 0.9995 + y; },
      1e-4);

  GDALAllRegister();
  const char* const options[] = {"SPARSE_OK=TRUE", "TILED=YES", nullptr};
  GDALClose(
      GDALCreate(GDALGetDriverByName("GTiff"), folder.file("huge.tif").c_str(), 100000, 100000, 1, GDT_Byte, options));
  EXPECT_EQ(trouble_of(folder, "huge.tif", {1, 32, 32}),
            "row 2, \"huge.tif\": is 100000 x 100000 pixels; more than 1e8 are not read whole: make it smaller, or cut "
            "patches of it with raster=\"...\", at=(lat, lon), size=...");
}

TEST(ImageStore, ReadsIdxFiles) {
  const ScratchFolder folder;
  std::string bytes;
  for (int i = 0; i < 3 * 4 * 5; ++i) bytes += static_cast<char>(4 * i);
  folder.write("a.idx3-ubyte", idx_text(0x08, {3, 4, 5}, bytes));
  folder.write("last.idx", idx_text(0x08, {2, 2, 5, 3}, bytes));
  folder.write("first.idx", idx_text(0x08, {1, 5, 2, 6}, bytes));
  std::string shorts, wholes, doubles, signs;
  for (int i = 0; i < 6; ++i) {
    shorts += big_endian_text(static_cast<std::uint16_t>(-300 * i));
    wholes += big_endian_text(static_cast<std::uint32_t>(-70000 * i));
    doubles += big_endian_text(std::bit_cast<std::uint64_t>(-0.5 * i));
    signs += static_cast<char>(-20 * i);
  }
  folder.write("9[0].idx", idx_text(0x09, {1, 2, 3}, signs));
  folder.write("B.idx", idx_text(0x0B, {1, 2, 3}, shorts));
  folder.write("C.idx", idx_text(0x0C, {1, 2, 3}, wholes));
  folder.write("E.idx", idx_text(0x0E, {1, 2, 3}, doubles));

  ImageStore store(folder.path());
  Table table;
  add_numbers(table, "row", {2, 0, std::nan(""), 2});
  const auto found = store.find(table, settings_of("cnn(row, idx=\"a.idx3-ubyte\")"));
  EXPECT_EQ(found[2], -1);
  EXPECT_EQ(found[3], found[0]);
  EXPECT_EQ(store.shape(found[0]), (ImageShape{1, 4, 5}));
  EXPECT_EQ(store.describe(found[1]), "row 2, image 0 of \"a.idx3-ubyte\"");
  expect_pixels(read_pixels(store, found[0], {1, 4, 5}), {1, 4, 5},
                [](int, int y, int x) { return 4 * (40 + 5 * y + x); });
  EXPECT_EQ(store.cached_bytes(), 20);

  const auto named =
      store.find(table_of("image", {"last.idx[1]", "first.idx[0]", "9[0].idx[0]", "B.idx[0]", "C.idx[0]", "E.idx[0]"}),
                 settings_of("cnn(image)"));
  expect_pixels(read_pixels(store, named[0], {3, 2, 5}), {3, 2, 5},
                [](int c, int y, int x) { return (4 * (30 + 15 * y + 3 * x + c)) % 256; });
  expect_pixels(read_pixels(store, named[1], {5, 2, 6}), {5, 2, 6},
                [](int c, int y, int x) { return (4 * (12 * c + 6 * y + x)) % 256; });
  const double steps[] = {-20, -300, -70000, -0.5};
  for (std::size_t i = 0; i < 4; ++i) {
    expect_pixels(read_pixels(store, named[i + 2], {1, 2, 3}), {1, 2, 3},
                  [&](int, int y, int x) { return steps[i] * (3 * y + x); });
  }
  const auto bands = store.find(table_of("image", {"last.idx[0]"}), settings_of("cnn(image, bands=[3, 1])"));
  expect_pixels(read_pixels(store, bands[0], {2, 2, 5}), {2, 2, 5},
                [](int c, int y, int x) { return 4 * (15 * y + 3 * x + (c == 0 ? 2 : 0)); });
}

TEST(ImageStore, SaysWhatIsWrongWithAnIdxFile) {
  const ScratchFolder folder;
  folder.write("good.idx", idx_text(0x08, {2, 1, 3}, "abcdef"));
  folder.write("cut.idx", idx_text(0x08, {2, 1, 3}, "abcde"));
  folder.write("head.idx", idx_text(0x08, {2, 1, 3}, "").substr(0, 9));
  folder.write("labels.idx", idx_text(0x08, {2}, "ab"));
  folder.write("type.idx", idx_text(0x0A, {2, 1, 3}, "abcdef"));
  folder.write("many.idx", idx_text(0x0E, {4294967295u, 4294967295u, 4294967295u, 5}, "abcdef"));
  folder.write("none.idx", idx_text(0x08, {0, 1, 3}, ""));
  folder.write("empty.idx", "");
  const auto trouble = [&](const std::string& call, double number) {
    Table table;
    add_numbers(table, "n", {0, number});
    ImageStore store(folder.path());
    return message_of<DataError>([&] { store.find(table, settings_of(call)); }, folder.path());
  };
  const std::string good = "cnn(n, idx=\"good.idx\")", none = " in \"good.idx\", which has 2, counted from 0";
  EXPECT_EQ(trouble(good, 1), "");
  EXPECT_EQ(trouble(good, 2), "row 2: column \"n\": there is no image 2" + none);
  EXPECT_EQ(trouble(good, -1), "row 2: column \"n\": there is no image -1" + none);
  EXPECT_EQ(trouble(good, 0.5), "row 2: column \"n\": there is no image 0.5" + none);
  const std::pair<std::string, std::string> rows[] = {
      {"cut", "is cut short: 6 bytes of pixels were expected in it, but it has 5"},
      {"head", "is cut short, within its first bytes"},
      {"labels", "is an idx file of 1 dimensions; images have 3, number, height and width, or 4, with channels"},
      {"type", "is not an idx file, which starts with two zero bytes and a type (gzip is not read)"},
      {"none", "is an idx file without pixels"},
      {"empty", "is empty"},
  };
  for (const auto& [name, message] : rows) {
    EXPECT_EQ(trouble("cnn(n, idx=\"" + name + ".idx\")", 0), "idx=: \"" + name + ".idx\" " + message);
  }
  EXPECT_NE(trouble("cnn(n, idx=\"many.idx\")", 0).find("is cut short: 3.169"), std::string::npos);
  EXPECT_EQ(trouble("cnn(n, idx=\"gone.idx\")", 0), "idx=: there is no file \"gone.idx\" in the folder \"f\"");
  EXPECT_EQ(trouble("cnn(n)", 0),
            "column \"n\" must hold names of image files, but it is of type number; numbers of "
            "images in an idx file need idx=\"file\"");
  EXPECT_EQ(trouble_of(folder, "good.idx[2]", {1, 1, 3}),
            "row 2: column \"image\": \"good.idx\" has 2 images, counted from 0; there is no image 2");
  EXPECT_EQ(message_of<DataError>([&] { ImageStore(folder.path()).find(table_of("n", {"a"}), settings_of(good)); }),
            "column \"n\" must be numbers of images in \"good.idx\", but it is of type text");
}

TEST(ImageStore, TheCacheIsBoundedAndSpares) {
  const ScratchFolder folder;
  const TestImage bytes, numbers{3, 5, 7, TestImage().value, GDT_UInt16};
  bytes.write("PNG", folder.file("a.png"));
  bytes.write("PNG", folder.file("b.png"));
  numbers.write("PNG", folder.file("c.png"));
  const Table table = table_of("image", {"a.png", "b.png", "c.png"});
  for (const std::int64_t limit :
       {std::int64_t{0}, std::int64_t{104}, std::int64_t{105}, std::int64_t{600}, ImageStore::kCacheBytes}) {
    ImageStore store(folder.path(), limit);
    const auto found = store.find(table, settings_of("cnn(image)"));
    for (int again = 0; again < 2; ++again) {
      for (const std::int64_t image : found) expect_pixels(read_pixels(store, image, kShape), kShape, bytes.value);
    }
    // Three times 5 x 7: two images of 105 bytes, one of 105 floats.
    EXPECT_EQ(store.cached_bytes(), limit < 105 ? 0 : limit == 105 ? 105 : limit == 600 ? 210 : 630) << limit;
  }
  ImageStore store(folder.path());
  const auto found = store.find(table, settings_of("cnn(image)"));
  read_pixels(store, found[0], kShape);
  for (const char* name : {"a.png", "b.png"}) std::filesystem::remove(folder.file(name));
  expect_pixels(read_pixels(store, found[0], kShape), kShape, bytes.value);
  EXPECT_NE(message_of<DataError>([&] { read_pixels(store, found[1], kShape); }), "") << "it has never been read";
}

TEST(ImageStore, ThreadsReadTheSameImages) {
  const ScratchFolder folder;
  std::vector<std::string> names;
  for (int i = 0; i < 24; ++i) {
    names.push_back(std::to_string(i) + (i % 2 ? ".png" : ".tif"));
    const TestImage image{3, 5, 7, [&](int c, int y, int x) { return 5.0 * i + 40 * c + 7 * y + x; }};
    image.write(i % 2 ? "PNG" : "GTiff", folder.file(names.back()));
  }
  ImageStore store(folder.path(), 105 * 10);
  const Table table = table_of("image", names);
  std::array<int, 8> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        const auto found = store.find(table, settings_of(t % 2 ? "cnn(image)" : "cnn(image, bands=[1, 2, 3])"));
        for (int turn = 0; turn < 10; ++turn) {
          for (std::size_t k = 0; k < found.size(); ++k) {
            const std::size_t i = (k * 7 + t) % found.size();
            const std::vector<float> pixels = read_pixels(store, found[i], kShape);
            wrong[t] +=
                pixels[0] != 5.0f * static_cast<float>(i) || pixels[104] != 5.0f * static_cast<float>(i) + 114.0f;
          }
        }
      });
    }
  }
  EXPECT_EQ(wrong, (std::array<int, 8>{}));
  EXPECT_EQ(store.cached_bytes(), 1050);
}

TEST(ImageStore, TablesBringTheirFolder) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.file("images"));
  TestImage().write("PNG", folder.file("a.png"));
  TestImage().write("PNG", folder.file("images/b.png"));
  folder.write("t.csv", "y,image\n1,a.png\n2,images/b.png\n3,a.png\n4,\n5,a.png\n");
  const ImageSettings settings = settings_of("cnn(image)");
  const Table table = read_table(folder.file("t.csv"));  // a category: few names
  const auto found = table.images->find(table, settings);
  EXPECT_EQ(found, (std::vector<std::int64_t>{0, 1, 0, -1, 0}));
  expect_pixels(read_pixels(*table.images, found[1], kShape), kShape, TestImage().value);

  ReadOptions options;
  options.image_folder = folder.file("images");
  options.known = {{"image", ColumnType::text, "", {}}};
  EXPECT_EQ(message_of<DataError>(
                [&] {
                  const Table other = read_table(folder.file("t.csv"), options);
                  other.images->find(other, settings);
                },
                folder.path()),
            "row 1: column \"image\": there is no file \"a.png\" in the folder \"f/images\"");

  folder.write("s.csv", "y,image\n1,a.png\n2,images/b.png\n3,a.png\n4,c.png\n");
  options.image_folder = "";
  TableStream stream(folder.file("s.csv"), options);
  Table first, second;
  std::vector<std::string> lines;
  ASSERT_TRUE(stream.next(3, first, lines));
  const std::shared_ptr<ImageStore> images = first.images;
  EXPECT_EQ(images->find(first, settings), (std::vector<std::int64_t>{0, 1, 0}));
  ASSERT_TRUE(stream.next(3, second, lines));
  EXPECT_EQ(second.images, images);
  EXPECT_EQ(message_of<DataError>([&] { images->find(second, settings); }, folder.path()),
            "row 4: column \"image\": there is no file \"c.png\" in the folder \"f\"");
}

}  // namespace
}  // namespace ick
