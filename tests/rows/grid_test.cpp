#include "ick/rows/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "ick/table/time.h"
#include "support/message.h"
#include "table/image_case.h"

namespace ick {
namespace {

DataSummary grid_places() {
  DataSummary summary;
  summary.columns = {{{"date", ColumnType::time, "%Y-%m-%d", {}}, 17000.0, 18000.0},
                     {{"lat", ColumnType::number, "", {}}, 46.55, 47.31, 47.0},
                     {{"lon", ColumnType::number, "", {}}, -0.2, 0.4, 0.1},
                     {{"depth", ColumnType::integer, "", {}}, 3.0, 20.0, 7.0},
                     {{"kind", ColumnType::category, "", {"a", "b"}}, 0.0, 1.0, 1.0}};
  return summary;
}

TEST(Grid, AxesAreMultiplesOfTheStepOverTheRange) {
  const Table rows =
      grid_rows(grid_places(), {.columns = {"lat", "lon"}, .step = {0.5, 0.2}, .set = {{"date", "2019-07-01"}}});
  EXPECT_EQ(rows.names(), (std::vector<std::string>{"date", "lat", "lon", "depth", "kind"}));
  const std::vector<double> lat = {46.5, 47.0, 47.5}, lon = {-0.2, 0.0, 0.2, 0.4};
  ASSERT_EQ(rows.rows, 12);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(rows.column("lat").values[i], lat[i / 4]);
    EXPECT_EQ(rows.column("lon").values[i], lon[i % 4]);  // to the last digit
    EXPECT_EQ(rows.column("date").values[i], *parse_time("2019-07-01", "%Y-%m-%d"));
    EXPECT_EQ(rows.column("depth").values[i], 7.0);
    EXPECT_EQ(rows.column("kind").values[i], 1.0);
  }
}

TEST(Grid, PartsAreTheWhole) {
  const GridOptions options{.columns = {"depth", "lat", "lon"},
                            .step = {1, 0.1, 0.05},
                            .set = {{"date", "2019-01-01..2019-04-01/1month"}, {"kind", "a"}}};
  const Grid grid(grid_places(), options);
  const std::int64_t cells = 4 * 18 * 10 * 13;
  ASSERT_EQ(grid.cells(), cells);
  const Table all = grid_rows(grid_places(), options);
  ASSERT_EQ(all.rows, cells);
  for (std::int64_t first = 0; first < cells; first += 1000) {
    const Table part = grid.rows(first, 1000);
    ASSERT_EQ(part.rows, std::min<std::int64_t>(1000, cells - first));
    for (std::size_t c = 0; c < part.columns.size(); ++c) {
      for (std::int64_t i = 0; i < part.rows; ++i) {
        ASSERT_EQ(part.columns[c].values[static_cast<std::size_t>(i)],
                  all.columns[c].values[static_cast<std::size_t>(first + i)]);
      }
    }
  }
  EXPECT_EQ(all.column("date").values[static_cast<std::size_t>(cells - 1)], *parse_time("2019-04-01", "%Y-%m-%d"));
}

// A triangle with a hole, and two squares elsewhere, which overlap.
TEST(Grid, CellsWithinAnArea) {
  const ScratchFolder folder;
  folder.write("a.geojson", R"({"type": "FeatureCollection", "features": [
      {"type": "Feature", "properties": {"name": "x"}, "geometry": {"type": "Polygon", "coordinates":
        [[[0, 40], [10, 40], [0, 50], [0, 40]], [[1.3, 41.3], [3.3, 41.3], [3.3, 43.3], [1.3, 43.3], [1.3, 41.3]]]}},
      {"type": "Feature", "properties": null, "geometry": null},
      {"type": "Feature", "properties": {}, "geometry": {"type": "GeometryCollection", "geometries": [
        {"type": "Point", "coordinates": [0, 0]},
        {"type": "MultiPolygon", "coordinates": [[[[20.1, 44.1], [22.1, 44.1], [22.1, 46.1], [20.1, 46.1], [20.1, 44.1]]],
          [[[21.1, 45.1], [23.1, 45.1], [23.1, 47.1], [21.1, 47.1], [21.1, 45.1]]]]}]}}]})");
  const Table rows = grid_rows(
      grid_places(),
      {.columns = {"lat", "lon"}, .step = {0.25}, .within = folder.file("a.geojson"), .set = {{"date", "2019-07-01"}}});
  std::int64_t expected = 0;
  for (int i = 0; i <= 40; ++i) {
    for (int j = 0; j <= 93; ++j) {
      const double y = 40 + 0.25 * i, x = 0.25 * j;
      // As the scan line has it: the west edge and the lower end belong to an area, the east edge and the upper end do not.
      const bool triangle = x > 0 && x <= 50 - y && y<50, hole = x> 1.3 && x < 3.3 && y > 41.3 && y < 43.3;
      const bool square = x > 20.1 && x < 22.1 && y > 44.1 && y < 46.1;
      const bool other = x > 21.1 && x < 23.1 && y > 45.1 && y < 47.1;
      expected += (triangle && !hole) || square || other;
    }
  }
  EXPECT_EQ(rows.rows, expected);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i) {
    const double x = rows.column("lon").values[i], y = rows.column("lat").values[i];
    ASSERT_TRUE((x + y <= 50.0 && !(x > 1.3 && x < 3.3 && y > 41.3 && y < 43.3)) || (x > 20.1 && x < 23.1));
  }
}

TEST(Grid, CellsWhereARasterHasAValue) {
  const ScratchFolder folder;
  TestImage image{1, 20, 30};
  image.type = GDT_Float32;
  image.value = [](int, int row, int column) { return (row + column) % 3 == 0 ? -9999.0 : 1.0; };
  image.change = [](GDALDatasetH raster) {
    double place[] = {-0.2, 0.02, 0, 47.2, 0, -0.02};
    GDALSetGeoTransform(raster, place);
    OGRSpatialReferenceH system = OSRNewSpatialReference(nullptr);
    OSRImportFromEPSG(system, 4326);
    GDALSetSpatialRef(raster, system);
    OSRDestroySpatialReference(system);
    GDALSetRasterNoDataValue(GDALGetRasterBand(raster, 1), -9999.0);
  };
  image.write("GTiff", folder.file("r.tif"));
  const GridOptions options{
      .columns = {"lat", "lon"}, .step = {0.013}, .within = folder.file("r.tif"), .set = {{"date", "2019-07-01"}}};
  const Table rows = grid_rows(grid_places(), options);
  std::int64_t expected = 0;
  for (int i = 3599; i <= 3632; ++i) {
    for (int j = -17; j <= 32; ++j) {
      const auto row = std::floor((47.2 - 0.013 * i) / 0.02), column = std::floor((0.013 * j + 0.2) / 0.02);
      const bool there = row >= 0 && row < 20 && column >= 0 && column < 30;
      expected += there && static_cast<int>(row + column) % 3 != 0;
    }
  }
  EXPECT_EQ(rows.rows, expected);
}

TEST(Grid, WhatCannotBeIsRefusedInASentence) {
  const ScratchFolder folder;
  const auto refused = [&](GridOptions options) {
    if (!options.set.contains("date")) options.set["date"] = "2019-07-01";
    return message_of<Error>([&] { grid_rows(grid_places(), options); }, folder.path() + "/g");
  };
  const std::vector<std::string> place = {"lat", "lon"};
  EXPECT_NE(refused({.columns = place, .step = {1e-5}}).find("the grid has 4.56e+09 cells"), std::string::npos);
  EXPECT_NE(refused({.columns = place, .step = {1e-9}}).find("more than ten million steps"), std::string::npos);
  EXPECT_EQ(refused({.columns = place, .step = {0}}), "step=0: expected a positive number");
  EXPECT_EQ(refused({.columns = place, .step = {1, 2, 3}}),
            "step: 3 steps for 2 columns; expected one of all, or one of each");
  EXPECT_EQ(refused({.columns = {"lat", "lone"}, .step = {1}}),
            "the model reads no column named \"lone\"; did you mean \"lon\"?");
  EXPECT_EQ(refused({.columns = {"lat", "lat"}, .step = {1}}), "columns: \"lat\" stands there twice");
  EXPECT_NE(refused({.columns = {"kind"}, .step = {1}}).find("\"kind\" is a category"), std::string::npos);
  EXPECT_NE(refused({.columns = {"depth"}, .step = {1}, .within = "x"}).find("is for grids of two columns"),
            std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] {
              grid_rows(grid_places(), {.columns = place, .step = {1}});
            }).find("the model reads the time \"date\", and one has to be given: set=\"date=2019-04-14\""),
            std::string::npos);
  EXPECT_NE(
      refused({.columns = place, .step = {1}, .set = {{"date", "2019-02-01..2019-01-01/1d"}}}).find("before the first"),
      std::string::npos);
  const auto within = [&](const std::string& text) {
    folder.write("g", text);
    return refused({.columns = place, .step = {1}, .within = folder.file("g")});
  };
  EXPECT_NE(within("{").find("f: not the GeoJSON it should be"), std::string::npos);
  EXPECT_NE(within(R"({"type": "Point", "coordinates": [1, 2]})").find("no Polygon or MultiPolygon"),
            std::string::npos);
  EXPECT_NE(within(R"({"type": "Polygon", "coordinates": [[["a", 2], [1, 3]]]})").find("not the GeoJSON"),
            std::string::npos);
  EXPECT_NE(
      within(
          R"({"type": "Polygon", "crs": {"type": "link", "properties": {"href": "http://127.0.0.1/crs"}}, "coordinates": []})")
          .find("its \"crs\" is not longitude and latitude"),
      std::string::npos);
  EXPECT_NE(
      within(R"({"type": "Polygon", "coordinates": [[[0, 80], [5, 95], [3, 80], [0, 80]]]})").find("beyond a pole"),
      std::string::npos);
  EXPECT_NE(within("<VRTDataset rasterXSize=\"5\" rasterYSize=\"5\"></VRTDataset>").find("cannot be read as an image"),
            std::string::npos);
  std::string deep = R"({"type": "Point", "coordinates": [1, 2]})";
  for (int i = 0; i < 5000; ++i) deep = R"({"type": "GeometryCollection", "geometries": [)" + deep + "]}";
  EXPECT_NE(within(deep).find("a hundred deep"), std::string::npos);
}

}  // namespace
}  // namespace ick
