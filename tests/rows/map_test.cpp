#include "ick/rows/map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/ick.h"
#include "ick/likelihood/likelihood.h"
#include "ick/table/time.h"
#include "support/message.h"
#include "support/table_case.h"
#include "table/image_case.h"

namespace ick {
namespace {

double day_number(const char* text) { return *parse_time(text, "%Y-%m-%d"); }

// Known at every place, so that it can be said what a map is to hold.
class Plane : public Predictor {
 public:
  explicit Plane(std::vector<std::string> classes = {}, std::string x = "lon", std::string y = "lat")
      : classes_(std::move(classes)), x_(std::move(x)), y_(std::move(y)) {}

  static double mean_at(double x, double y, double time, double wind) { return 3 * x - 2 * y + 0.01 * time + wind; }

  std::string_view kind() const override { return "plane"; }
  std::string formula() const override { return "a plane"; }
  const ColumnInfo& target() const override { return target_; }
  std::vector<ColumnInfo> columns() const override { return {}; }
  std::vector<ColumnInfo> scoring_columns() const override { return {target_}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  Predictive predictive() const override { return {likelihood_named("gaussian"), *find_transform("")}; }
  const Calibration& interval_calibration() const override { return calibration_; }
  Moments training_moments() const override { return {0.0, 1.0}; }
  double noise_sd() const override { return 1.0; }
  std::int64_t rows_at_once() const override { return 1000; }
  std::vector<std::string> support_names() const override { return {"lat, lon", "date"}; }
  std::vector<std::vector<double>> draw(const Table&, const DrawOptions&) const override { return {}; }

  // Below 0 there is no prediction. Support of the second source is unknown in the south.
  Prediction predict(const Table& table, const PredictOptions& options, EncodingNotes*) const override {
    most_rows = std::max(most_rows.load(), table.rows);
    Prediction p;
    p.support.resize(2);
    p.probability.resize(classes_.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(table.rows); ++i) {
      const double x = table.column(x_).values[i], y = table.column(y_).values[i];
      const Column* const date = table.find("date");
      double mean = mean_at(x, y, date ? date->values[i] : 0.0, table.column("wind").values[i]);
      if (mean < 0.0) mean = std::nan("");
      p.mean.push_back(mean), p.sd.push_back(0.5 + std::abs(y));
      p.lower.push_back(mean - options.level), p.upper.push_back(mean + 2 * options.level);
      p.support[0].push_back(x < 9.0 ? Support::inside : Support::edge);
      p.support[1].push_back(y < 46.0 ? Support::unknown : x < 10.0 ? Support::inside : Support::extrapolating);
      p.most_probable.push_back(std::isnan(mean) ? -1 : static_cast<std::int64_t>(mean) % 2);
      for (std::size_t c = 0; c < classes_.size(); ++c) p.probability[c].push_back(c == 0 ? 0.25 : 0.75);
    }
    return p;
  }
  mutable std::atomic<std::int64_t> most_rows = 0;

 private:
  ColumnInfo target_{"pm25", ColumnType::number, "", {}};
  std::vector<std::string> classes_;
  std::string x_, y_;
  Calibration calibration_;
};

DataSummary map_places(const std::string& x = "lon", const std::string& y = "lat") {
  DataSummary summary;
  summary.columns = {{{"date", ColumnType::time, "%Y-%m-%d", {}}, 17000.0, 18000.0},
                     {{y, ColumnType::number, "", {}}, 45.0, 48.0, 47.0},
                     {{x, ColumnType::number, "", {}}, 7.0, 11.0, 8.0},
                     {{"wind", ColumnType::number, "", {}}, 0.0, 9.0, 3.25}};
  summary.time = "date";
  summary.step = {0.0, 1};
  return summary;
}

struct Opened {
  explicit Opened(const std::string& path, unsigned flags = GDAL_OF_RASTER) {
    GDALAllRegister();
    dataset = GDALOpenEx(path.c_str(), flags, nullptr, nullptr, nullptr);
    if (dataset == nullptr) throw std::runtime_error("GDAL cannot open " + path);
  }
  ~Opened() { GDALClose(dataset); }
  std::vector<double> band(int number) const {
    const int width = GDALGetRasterXSize(dataset), height = GDALGetRasterYSize(dataset);
    std::vector<double> values(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    EXPECT_EQ(GDALRasterIO(GDALGetRasterBand(dataset, number), GF_Read, 0, 0, width, height, values.data(), width,
                           height, GDT_Float64, 0, 0),
              CE_None);
    return values;
  }
  GDALDatasetH dataset;
};

void expect_equal(double found, double expected, std::size_t cell) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << cell;
  } else {
    EXPECT_EQ(found, static_cast<double>(static_cast<float>(expected))) << cell;
  }
}

TEST(Map, AGeoTiffHasPredictionsOfTheCentresOfItsCells) {
  const ScratchFolder folder;
  const Plane model;
  const double t = 0.01 * day_number("2019-07-01");
  set_workers(3);
  const RasterMapReport report =
      write_map(model, map_places(),
                {.grid = "7,44,11.5,48,0.01", .set = {{"date", "2019-07-01"}, {"wind", "-115"}}, .level = 0.8},
                folder.file("m.tif"));
  set_workers(1);
  EXPECT_LE(model.most_rows, 1000);
  EXPECT_EQ(report.width, 450);
  EXPECT_EQ(report.height, 400);
  EXPECT_EQ(report.crs, "WGS 84");
  EXPECT_EQ(report.bands, (std::vector<std::string>{"mean", "sd", "lower", "upper", "support"}));
  const Opened map(folder.file("m.tif"));
  double place[6];
  ASSERT_EQ(GDALGetGeoTransform(map.dataset, place), CE_None);
  EXPECT_EQ(std::vector<double>(place, place + 6), (std::vector<double>{7, 0.01, 0, 48, 0, -0.01}));
  EXPECT_STREQ(OSRGetAuthorityCode(GDALGetSpatialRef(map.dataset), nullptr), "4326");
  ASSERT_EQ(GDALGetRasterCount(map.dataset), 5);
  int block_width = 0, block_height = 0, has_none = 0;
  GDALGetBlockSize(GDALGetRasterBand(map.dataset, 1), &block_width, &block_height);
  EXPECT_EQ(block_width, 256);
  EXPECT_STREQ(GDALGetMetadataItem(map.dataset, "COMPRESSION", "IMAGE_STRUCTURE"), "DEFLATE");
  std::vector<std::vector<double>> bands;
  for (int b = 1; b <= 5; ++b) {
    EXPECT_TRUE(std::isnan(GDALGetRasterNoDataValue(GDALGetRasterBand(map.dataset, b), &has_none)));
    EXPECT_TRUE(has_none);
    bands.push_back(map.band(b));
  }
  EXPECT_STREQ(GDALGetDescription(GDALGetRasterBand(map.dataset, 5)), "support: 0 inside, 1 edge, 2 extrapolating");
  std::int64_t predicted = 0, extrapolated = 0;
  for (std::size_t i = 0; i < bands[0].size(); ++i) {
    const double x = 7 + 0.01 * (static_cast<double>(i % 450) + 0.5),
                 y = 48 - 0.01 * (static_cast<double>(i / 450) + 0.5);
    double mean = 3 * x - 2 * y + t - 115;
    if (std::abs(mean) < 1e-9) continue;
    if (mean < 0.0) mean = std::nan("");
    predicted += std::isfinite(mean);
    const double support = y > 46 && x > 10 ? 2 : x > 9 ? 1 : 0;
    extrapolated += support == 2;
    if (std::isnan(mean)) {
      EXPECT_TRUE(std::isnan(bands[0][i]));
      continue;
    }
    ASSERT_NEAR(bands[0][i], mean, 1e-6 * std::abs(mean) + 1e-6);
    ASSERT_NEAR(bands[1][i], 0.5 + y, 1e-5);
    ASSERT_NEAR(bands[2][i], mean - 0.8, 1e-5);
    ASSERT_NEAR(bands[3][i], mean + 1.6, 1e-5);
    ASSERT_EQ(bands[4][i], support);
  }
  EXPECT_EQ(report.predicted, predicted);
  EXPECT_GT(predicted, 0);
  EXPECT_LT(predicted, 450 * 400);
  EXPECT_EQ(report.extrapolated, extrapolated);
}

// Two bands of cells around the central meridian of zone 43, with a hole.
void write_utm(const std::string& path, int epsg) {
  TestImage image{1, 30, 40};
  image.value = [](int, int row, int column) { return row == 4 && column < 7 ? 0.0 : 8.0; };
  image.change = [epsg](GDALDatasetH raster) {
    double place[] = {480'000, 1'000, 0, 3'200'000, 0, -1'000};
    GDALSetGeoTransform(raster, place);
    if (epsg > 0) {
      OGRSpatialReferenceH system = OSRNewSpatialReference(nullptr);
      OSRImportFromEPSG(system, epsg);
      GDALSetSpatialRef(raster, system);
      OSRDestroySpatialReference(system);
    }
    GDALSetRasterNoDataValue(GDALGetRasterBand(raster, 1), 0);
  };
  image.write("GTiff", path);
}

// Latitude and longitude of UTM coordinates in zone 43 (Snyder 1987, "Map projections", equations 8-17 to 8-25).
std::pair<double, double> degrees_of(double easting, double northing) {
  const double a = 6'378'137.0, f = 1 / 298.257223563, e2 = f * (2 - f), k0 = 0.9996, ep2 = e2 / (1 - e2);
  const double m = northing / k0, mu = m / (a * (1 - e2 / 4 - 3 * e2 * e2 / 64 - 5 * e2 * e2 * e2 / 256));
  const double e1 = (1 - std::sqrt(1 - e2)) / (1 + std::sqrt(1 - e2));
  const double phi = mu + (3 * e1 / 2 - 27 * std::pow(e1, 3) / 32) * std::sin(2 * mu) +
                     (21 * e1 * e1 / 16 - 55 * std::pow(e1, 4) / 32) * std::sin(4 * mu) +
                     151 * std::pow(e1, 3) / 96 * std::sin(6 * mu) + 1097 * std::pow(e1, 4) / 512 * std::sin(8 * mu);
  const double c = ep2 * std::pow(std::cos(phi), 2), t = std::pow(std::tan(phi), 2);
  const double n = a / std::sqrt(1 - e2 * std::pow(std::sin(phi), 2));
  const double r = a * (1 - e2) / std::pow(1 - e2 * std::pow(std::sin(phi), 2), 1.5),
               d = (easting - 500'000) / (n * k0);
  const double latitude =
      phi - n * std::tan(phi) / r * (d * d / 2 - (5 + 3 * t + 10 * c - 4 * c * c - 9 * ep2) * std::pow(d, 4) / 24);
  const double longitude = (d - (1 + 2 * t + c) * std::pow(d, 3) / 6) / std::cos(phi);
  return {latitude * 180 / std::numbers::pi, 75 + longitude * 180 / std::numbers::pi};
}

TEST(Map, ARasterInMetresIsPredictedInDegreesAndKeepsItsCoordinates) {
  const ScratchFolder folder;
  write_utm(folder.file("utm.tif"), 32643);
  const Plane model;
  const RasterMapReport report = write_map(
      model, map_places(), {.grid = folder.file("utm.tif"), .set = {{"date", "2019-07-01"}}}, folder.file("m.tif"));
  EXPECT_EQ(report.crs, "WGS 84 / UTM zone 43N");
  EXPECT_EQ(report.predicted, 30 * 40 - 7);
  EXPECT_EQ(report.held.at(1).value, "3.25");
  const Opened map(folder.file("m.tif"));
  EXPECT_STREQ(OSRGetAuthorityCode(GDALGetSpatialRef(map.dataset), nullptr), "32643");
  double place[6];
  GDALGetGeoTransform(map.dataset, place);
  EXPECT_EQ(std::vector<double>(place, place + 6), (std::vector<double>{480'000, 1'000, 0, 3'200'000, 0, -1'000}));
  const std::vector<double> mean = map.band(1), sd = map.band(2);
  for (int row = 0; row < 30; ++row) {
    for (int column = 0; column < 40; ++column) {
      const auto i = static_cast<std::size_t>(40 * row + column);
      if (row == 4 && column < 7) {
        EXPECT_TRUE(std::isnan(mean[i]));
        continue;
      }
      const auto [y, x] = degrees_of(480'500 + 1'000.0 * column, 3'199'500 - 1'000.0 * row);
      ASSERT_NEAR(sd[i], 0.5 + y, 1e-5);
      ASSERT_NEAR(mean[i], Plane::mean_at(x, y, day_number("2019-07-01"), 3.25), 3e-5);
    }
  }
}

TEST(Map, AModelOfOtherCoordinatesGetsThoseOfTheRaster) {
  const ScratchFolder folder;
  write_utm(folder.file("plain.tif"), 0);
  const Plane model({}, "x", "y");
  const RasterMapReport report = write_map(
      model, map_places("x", "y"), {.grid = folder.file("plain.tif"), .set = {{"date", "2019-07-01"}, {"wind", "1e7"}}},
      folder.file("m.tif"));
  EXPECT_EQ(report.crs, "");
  const Opened map(folder.file("m.tif"));
  EXPECT_EQ(GDALGetSpatialRef(map.dataset), nullptr);
  expect_equal(map.band(1)[40 * 2 + 3], 3 * 483'500.0 - 2 * 3'197'500.0 + 0.01 * day_number("2019-07-01") + 1e7, 83);
  EXPECT_NE(message_of<DataError>([&] {
              write_map(Plane(), map_places(), {.grid = folder.file("plain.tif"), .set = {{"date", "2019-07-01"}}},
                        folder.file("n.tif"));
            }).find("has no coordinate system, and the model reads latitude and longitude"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.file("n.tif")));
}

TEST(Map, ANetcdfFileHasSeveralTimes) {
  const ScratchFolder folder;
  const Plane model;
  const RasterMapReport report =
      write_map(model, map_places(),
                {.grid = "7,45,8.5,46,0.25", .set = {{"date", "2019-01-31..2019-05-01/1month"}, {"wind", "500"}}},
                folder.file("m.nc"));
  EXPECT_EQ(report.times, 4);
  EXPECT_EQ(report.cells, 4 * 6 * 4);
  const std::vector<double> days = {day_number("2019-01-31"), day_number("2019-02-28"), day_number("2019-03-31"),
                                    day_number("2019-04-30")};
  const Opened map("NETCDF:\"" + folder.file("m.nc") + "\":mean");
  ASSERT_EQ(GDALGetRasterCount(map.dataset), 4);
  double place[6];
  GDALGetGeoTransform(map.dataset, place);
  EXPECT_EQ(std::vector<double>(place, place + 6), (std::vector<double>{7, 0.25, 0, 46, 0, -0.25}));
  ASSERT_NE(GDALGetSpatialRef(map.dataset), nullptr);
  EXPECT_TRUE(OSRIsGeographic(GDALGetSpatialRef(map.dataset)));
  for (int time = 0; time < 4; ++time) {
    const GDALRasterBandH band = GDALGetRasterBand(map.dataset, time + 1);
    EXPECT_EQ(std::stod(GDALGetMetadataItem(band, "NETCDF_DIM_time", nullptr)), days[static_cast<std::size_t>(time)]);
    int has_none = 0;
    EXPECT_TRUE(std::isnan(GDALGetRasterNoDataValue(band, &has_none)));
    const std::vector<double> values = map.band(time + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = 7.125 + 0.25 * static_cast<double>(i % 6), y = 45.875 - 0.25 * static_cast<double>(i / 6);
      ASSERT_NEAR(values[i], Plane::mean_at(x, y, days[static_cast<std::size_t>(time)], 500), 1e-4);
    }
  }
  EXPECT_STREQ(GDALGetMetadataItem(map.dataset, "time#units", nullptr), "days since 1970-01-01 00:00:00");
  EXPECT_EQ(folder.read("m.nc").substr(0, 4), std::string("CDF\x02", 4));  // which ick reads, too
}

TEST(Map, ClassesAreBandsOfProbabilities) {
  const ScratchFolder folder;
  const RasterMapReport report =
      write_map(Plane({"cat", "dog"}), map_places(),
                {.grid = "7,45,8,46,0.25", .set = {{"date", "2019-07-01"}, {"wind", "500"}}}, folder.file("m.tif"));
  EXPECT_EQ(report.bands, (std::vector<std::string>{"class", "p_cat", "p_dog", "support"}));
  const Opened map(folder.file("m.tif"));
  EXPECT_STREQ(GDALGetDescription(GDALGetRasterBand(map.dataset, 1)), "class: most probable, 0 cat, 1 dog");
  EXPECT_EQ(map.band(3)[5], 0.75);
  const double mean = Plane::mean_at(7.375, 45.625, day_number("2019-07-01"), 500);
  EXPECT_EQ(map.band(1)[5], static_cast<double>(static_cast<int>(mean) % 2));
}

TEST(Map, ThePreviewIsDarkWhereValuesAreSmall) {
  const ScratchFolder folder;
  write_map(
      Plane(), map_places(),
      {.grid = "7,44,27.5,48,0.01", .set = {{"date", "2019-07-01"}, {"wind", "500"}}, .preview = folder.file("m.png")},
      folder.file("m.tif"));
  const Opened picture(folder.file("m.png"));
  EXPECT_EQ(GDALGetRasterXSize(picture.dataset), 684);  // three cells each, of 2050
  EXPECT_EQ(GDALGetRasterYSize(picture.dataset), 134);
  const auto light = [&](std::size_t pixel) {
    return 0.2126 * picture.band(1)[pixel] + 0.7152 * picture.band(2)[pixel] + 0.0722 * picture.band(3)[pixel];
  };
  for (std::size_t column = 30; column < 650; column += 30)
    EXPECT_LT(light(684 * 60 + column - 30), light(684 * 60 + column));
  EXPECT_EQ(picture.band(4)[0], 255.0);
}

TEST(Map, WhatCannotBeIsRefusedInASentenceAndLeavesNothing) {
  const ScratchFolder folder;
  const auto refused = [&](RasterMapOptions options, const std::string& name = "m.tif",
                           const DataSummary& summary = map_places()) {
    if (!options.set.contains("date")) options.set["date"] = "2019-07-01";
    const std::string text =
        message_of<Error>([&] { write_map(Plane(), summary, options, folder.file(name)); }, folder.path());
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << text;
    return text;
  };
  const std::string huge = refused({.grid = "0,40,31.7,71.7,0.001"});
  EXPECT_NE(huge.find("the map has 31700 x 31700 cells, 1e+09 in all: about"), std::string::npos) << huge;
  EXPECT_NE(huge.find("20 GB before compression"), std::string::npos) << huge;
  EXPECT_NE(huge.find("allow more than 1e+07 cells with most"), std::string::npos) << huge;
  EXPECT_NE(refused({.grid = "0,80,5,95,1"}).find("beyond a pole"), std::string::npos);
  EXPECT_NE(refused({.grid = "-200,0,300,10,1"}).find("at most one turn"), std::string::npos);
  EXPECT_NE(refused({.grid = "5,5,1,8,1"}).find("expected X0,Y0,X1,Y1,STEP"), std::string::npos);
  EXPECT_NE(refused({.grid = "5,5,9,8,-1"}).find("expected X0,Y0,X1,Y1,STEP"), std::string::npos);
  EXPECT_NE(refused({.grid = folder.file("none.tif")}).find("No such file"), std::string::npos);
  EXPECT_NE(refused({.grid = "7,45,8,46,1"}, "m.png").find("ends with .tif or .nc"), std::string::npos);
  EXPECT_NE(refused({.grid = "7,45,8,46,1", .set = {{"date", "2019-01-01..2019-03-01/1month"}}})
                .find("a GeoTIFF is of one time, and 3 are set"),
            std::string::npos);
  EXPECT_NE(refused({.grid = "7,45,8,46,1", .set = {{"winds", "1"}}}).find("did you mean \"wind\"?"),
            std::string::npos);
  EXPECT_NE(refused({.grid = "7,45,8,46,1"}, "m.tif", map_places("east", "up")).find("reads no place by name"),
            std::string::npos);
  EXPECT_NE(refused({.grid = "7,45,8,46,1", .set = {{"wind", "-5000"}}}).find("no cell of the map has a value"),
            std::string::npos);
}

TEST(Map, ATrainedModelPredictsTheSameOnAMapAndInATable) {
  const ScratchFolder folder;
  const Table table = mixed_table(120, 4);
  std::vector<double> lat, lon;
  for (int i = 0; i < 120; ++i) lat.push_back(46 + 0.017 * (i % 61)), lon.push_back(8 + 0.031 * (i % 37));
  Table placed = table;
  placed.columns.push_back(column_of("lat", lat));
  placed.columns.push_back(column_of("lon", lon));
  const Fitted fitted = fit(placed, "y ~ matern32(lat, lon, sphere) + rbf(a)", {});
  ASSERT_TRUE(fitted.report().summary.has_value());
  fitted.save(folder.file("a.model"));
  const DataSummary summary = remembered(folder.file("a.model"));
  write_map(fitted.model(), summary, {.grid = "8,46,9.1,47.1,0.1"}, folder.file("m.tif"));
  std::vector<double> x, y;
  for (int row = 0; row < 11; ++row) {
    for (int column = 0; column < 11; ++column) x.push_back(8.05 + 0.1 * column), y.push_back(47.05 - 0.1 * row);
  }
  const Prediction p =
      fitted->predict(table_of({column_of("lat", y), column_of("lon", x),
                                column_of("a", std::vector<double>(121, summary.column("a").typical))}));
  const Opened map(folder.file("m.tif"));
  const std::vector<double> mean = map.band(1), upper = map.band(4);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    EXPECT_NEAR(mean[i], p.mean[i], 1e-5 * std::abs(p.mean[i]));
    EXPECT_NEAR(upper[i], p.upper[i], 1e-5 * std::abs(p.upper[i]));
  }
}

}  // namespace
}  // namespace ick
