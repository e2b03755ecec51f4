#include <algorithm>
#include <cmath>

#include "table/image_case.h"

namespace ick {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Puts a raster on the map: x = left + step column, y = top - step row, in the system of this EPSG number; 0: none.
std::function<void(GDALDatasetH)> placed(double left, double top, double step, int epsg) {
  return [=](GDALDatasetH dataset) {
    double transform[6] = {left, step, 0, top, 0, -step};
    GDALSetGeoTransform(dataset, transform);
    if (epsg == 0) return;
    const OGRSpatialReferenceH system = OSRNewSpatialReference(nullptr);
    OSRImportFromEPSG(system, epsg);
    GDALSetSpatialRef(dataset, system);
    OSRDestroySpatialReference(system);
  };
}

Table places(const std::vector<double>& latitude, const std::vector<double>& longitude) {
  Table table;
  add_numbers(table, "lat", latitude);
  add_numbers(table, "lon", longitude);
  return table;
}

ImageSettings patches(const std::string& name, const std::string& size) {
  return settings_of("cnn(raster=\"" + name + "\", at=(lat, lon), size=" + size + ")");
}

// 10 to 18 degrees east, 44 to 50 north, a quarter of a degree a pixel; values are linear in longitude and latitude of
// the pixels' centres.
double plane(double latitude, double longitude) { return 100.0 + 8.0 * longitude - 4.0 * latitude; }

TestImage small_map(int epsg = 4326) {
  TestImage image{2, 24, 32, {}, GDT_Float32};
  image.value = [](int c, int y, int x) { return (c + 1) * plane(50.0 - 0.25 * (y + 0.5), 10.0 + 0.25 * (x + 0.5)); };
  image.change = placed(10.0, 50.0, 0.25, epsg);
  return image;
}

TEST(ImagePatch, HasTheValuesAroundItsPlace) {
  const ScratchFolder folder;
  for (const int epsg : {4326, 0}) {
    small_map(epsg).write("GTiff", folder.file("map.tif"));
    ImageStore store(folder.path());
    // In the pixel of row 10 and column 13, whose centre is at 47.375, 13.375.
    const auto found = store.find(places({47.3, 47.49, 47.3, kMissing, 47.3, 43.9, 47.3, 44.0, 47.3},
                                         {13.3, 13.49, 13.5, 13.3, kMissing, 13.3, 9.99, 18.0, 373.3}),
                                  patches("map.tif", "[4, 5]"));
    EXPECT_EQ(found, (std::vector<std::int64_t>{0, 0, 1, -1, -1, -1, -1, 2, 0})) << epsg;
    EXPECT_EQ(store.shape(found[0]), (ImageShape{2, 4, 5}));
    EXPECT_EQ(store.describe(1), "row 3, patch of \"map.tif\"");
    expect_pixels(read_pixels(store, found[0], {2, 4, 5}), {2, 4, 5}, [](int c, int y, int x) {
      return (c + 1) * plane(47.375 - 0.25 * (y - 2), 13.375 + 0.25 * (x - 2));
    });
    // The last pixel of all: rows and columns beyond repeat the edge.
    expect_pixels(read_pixels(store, found[7], {2, 4, 5}), {2, 4, 5}, [](int c, int y, int x) {
      return (c + 1) * plane(44.125 - 0.25 * std::min(y - 2, 0), 17.875 + 0.25 * std::min(x - 2, 0));
    });
  }
}

TEST(ImagePatch, FindsPlacesInOtherProjections) {
  const ScratchFolder folder;
  TestImage image{1, 40, 50, [](int, int y, int x) { return 1000.0 * y + x; }, GDT_Float32};
  image.change = placed(400000.0, 5300000.0, 100.0, 32633);  // UTM 33 north, 100 m
  image.write("GTiff", folder.file("utm.tif"));

  const OGRSpatialReferenceH utm = OSRNewSpatialReference(nullptr), degrees = OSRNewSpatialReference(nullptr);
  OSRImportFromEPSG(utm, 32633);
  OSRImportFromEPSG(degrees, 4326);  // latitude first, as the authority has it
  const OGRCoordinateTransformationH back = OCTNewCoordinateTransformation(utm, degrees);
  std::vector<double> latitude, longitude;
  const std::pair<int, int> centres[] = {{17, 21}, {0, 0}, {39, 49}, {5, 44}};
  for (const auto& [row, column] : centres) {
    double x = 400000.0 + 100.0 * (column + 0.3), y = 5300000.0 - 100.0 * (row + 0.8);
    ASSERT_TRUE(OCTTransform(back, 1, &x, &y, nullptr));
    latitude.push_back(x);
    longitude.push_back(y);
  }
  OCTDestroyCoordinateTransformation(back);
  OSRDestroySpatialReference(utm);
  OSRDestroySpatialReference(degrees);
  latitude.insert(latitude.end(), {0.0, -47.0, kMissing});
  longitude.insert(longitude.end(), {-165.0, 13.0, 13.0});

  ImageStore store(folder.path());
  const auto found = store.find(places(latitude, longitude), patches("utm.tif", "3"));
  EXPECT_EQ(std::vector<std::int64_t>(found.begin() + 4, found.end()), (std::vector<std::int64_t>{-1, -1, -1}));
  for (std::size_t i = 0; i < 4; ++i) {
    expect_pixels(read_pixels(store, found[i], {1, 3, 3}), {1, 3, 3}, [&](int, int y, int x) {
      return 1000.0 * std::clamp(centres[i].first + y - 1, 0, 39) + std::clamp(centres[i].second + x - 1, 0, 49);
    });
  }
}

// Longitudes 20 to 380, as oceanographers have them.
TEST(ImagePatch, GoesAroundTheEarth) {
  const ScratchFolder folder;
  TestImage image{1, 18, 36, [](int, int y, int x) { return 100.0 * y + x; }, GDT_Int16};
  image.change = placed(20.0, 90.0, 10.0, 4326);
  image.write("netCDF", folder.file("earth.nc"));
  image.write("GTiff", folder.file("earth.tif"));
  for (const std::string name : {"earth.tif", "NETCDF:earth.nc:Band1"}) {
    ImageStore store(folder.path());
    const auto found = store.find(places({35, 35, 35, -90, 90}, {22, 382, -338, 15, 200}), patches(name, "[3, 6]"));
    EXPECT_EQ(found[1], found[0]);
    EXPECT_EQ(found[2], found[0]);
    expect_pixels(read_pixels(store, found[0], {1, 3, 6}), {1, 3, 6},
                  [](int, int y, int x) { return 100.0 * (4 + y) + (33 + x) % 36; });
    expect_pixels(read_pixels(store, found[3], {1, 3, 6}), {1, 3, 6},
                  [](int, int y, int x) { return 100.0 * std::min(16 + y, 17) + (32 + x) % 36; });
    expect_pixels(read_pixels(store, found[4], {1, 3, 6}), {1, 3, 6},
                  [](int, int y, int x) { return 100.0 * std::max(y - 1, 0) + 15 + x; });
    const auto wide = store.find(places({35}, {22}), patches(name, "[1, 80]"));
    expect_pixels(read_pixels(store, wide[0], {1, 1, 80}), {1, 1, 80},
                  [](int, int, int x) { return 500.0 + (x + 32) % 36; });
  }
}

// As some maps of the Earth are: the first column again at the end, and steps that are not quite a whole part of 360.
TEST(ImagePatch, TheFirstColumnMayComeTwice) {
  const ScratchFolder folder;
  TestImage image{1, 18, 37, [](int, int y, int x) { return 100.0 * y + x % 36; }, GDT_Int16};
  image.change = placed(20.00000005, 89.999982, 9.999999, 0);
  image.write("GTiff", folder.file("earth.tif"));
  ImageStore store(folder.path());
  const auto found = store.find(places({35, 90, -90}, {22, 375, 375}), patches("earth.tif", "[1, 6]"));
  expect_pixels(read_pixels(store, found[0], {1, 1, 6}), {1, 1, 6},
                [](int, int, int x) { return 500.0 + (33 + x) % 36; });
  EXPECT_EQ(read_pixels(store, found[1], {1, 1, 6})[3], 35.0f);
  EXPECT_EQ(read_pixels(store, found[2], {1, 1, 6})[3], 1735.0f);
}

TEST(ImagePatch, MayBeLargerThanTheRaster) {
  const ScratchFolder folder;
  small_map().write("GTiff", folder.file("map.tif"));
  ImageStore store(folder.path());
  const auto found = store.find(places({47.3}, {13.3}), patches("map.tif", "80"));  // row 10, column 13
  expect_pixels(read_pixels(store, found[0], {2, 80, 80}), {2, 80, 80}, [](int c, int y, int x) {
    return small_map().value(c, std::clamp(y - 30, 0, 23), std::clamp(x - 27, 0, 31));
  });
}

TEST(ImagePatch, SaysWhatIsWrong) {
  const ScratchFolder folder;
  TestImage().write("PNG", folder.file("picture.png"));
  small_map().write("GTiff", folder.file("map.tif"));
  TestImage metres;
  metres.change = placed(400000.0, 5300000.0, 100.0, 0);
  metres.write("GTiff", folder.file("metres.tif"));
  const auto trouble = [&](const std::string& name, const Table& table) {
    ImageStore store(folder.path());
    return message_of<DataError>([&] { store.find(table, patches(name, "3")); }, folder.path());
  };
  const Table good = places({47.3}, {13.3});
  EXPECT_EQ(trouble("map.tif", good), "");
  EXPECT_EQ(trouble("gone.tif", good), "raster=: there is no file \"gone.tif\" in the folder \"f\"");
  EXPECT_EQ(
      trouble("../map.tif", good),
      "raster=: \"../map.tif\" leads out of the folder of the table, \"f\"; move the file there, or give images=DIR");
  EXPECT_EQ(
      trouble("picture.png", good),
      "raster=: \"picture.png\" does not say where on Earth it is; patches need a raster with a geotransform, such "
      "as a GeoTIFF");
  EXPECT_EQ(trouble("metres.tif", good),
            "raster=: \"metres.tif\" has no coordinate system, and its coordinates are not degrees; give it one "
            "(gdal_edit.py -a_srs)");
  EXPECT_EQ(
      trouble("map.tif", places({47.3, 120.5}, {13.3, 40})),
      "row 2: column \"lat\": 120.5 is not a latitude (expected -90 to 90 degrees); at=(...) has the latitude first");
  EXPECT_EQ(trouble("map.tif", table_of("lat", {"north"})),
            "column \"lat\" must be latitudes in degrees, but it is of type text");
}

}  // namespace
}  // namespace ick
