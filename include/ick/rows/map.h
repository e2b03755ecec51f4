#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ick/dataset/summary.h"
#include "ick/predict/predictor.h"
#include "ick/rows/held.h"

namespace ick {

struct RasterMapOptions {
  std::string grid = "";  // a raster whose cells are predicted, or "X0,Y0,X1,Y1,STEP" (X is the longitude)
  std::vector<std::string> columns = {};  // of the place, two; found by their names when empty
  SetValues set = {};              // other columns; of a time perhaps several for a netCDF file: FIRST..LAST/STEP
  double level = 0.9;              // of the interval
  std::string preview = "";        // PNG file of the first band, "" for none
  std::int64_t most = 10'000'000;  // cells, times included
};

struct RasterMapReport {
  std::int64_t width = 0, height = 0, times = 0;
  std::int64_t cells = 0, predicted = 0;  // times included
  std::vector<std::string> bands;
  std::vector<HeldColumn> held;
  std::int64_t extrapolated = 0;  // cells where a source of the kernels does
  std::string crs;                // "WGS 84 / UTM zone 43N"; "" for none
};

// Predictions of a model on a grid, as a file that other programs read, written tile by tile, few of them in memory:
// - .tif: a GeoTIFF of one time with the bands mean, sd, lower, upper and, where the model has kernels, support (0
//   inside, 1 edge, 2 extrapolating: the worst of its sources); of classes the most probable one (its number from 0)
//   and the probability of each;
// - .nc: a netCDF file (64-bit offset) with the same as variables over time, y and x.
// Cells without a value in the raster, or without a prediction, are not a number, which is their nodata value. The map
// has the raster's coordinate system and geotransform; a model that reads latitude and longitude gets the centres of
// the cells in degrees (WGS84), any other one the raster's own coordinates. UsageError or DataError with a whole sentence
// where that cannot be, and for more cells than `most`, with an estimate.
RasterMapReport write_map(const Predictor& model, const DataSummary& summary, const RasterMapOptions& options,
                          const std::string& path,
                          const std::function<void(std::int64_t done, std::int64_t all)>& progress = {});

}  // namespace ick
