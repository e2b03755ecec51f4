#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ick/dataset/summary.h"
#include "ick/rows/held.h"
#include "ick/table/table.h"

namespace ick {

struct GridOptions {
  std::vector<std::string> columns = {};  // of numbers, each an axis; the last one changes fastest
  std::vector<double> step = {};          // of each column, or one of all
  std::string within = "";                // GeoJSON with areas, or a raster: only cells inside, or that have a value
  SetValues set = {};                     // of a time perhaps several: FIRST..LAST/STEP, the slowest axis
};

// Rows of a grid: each axis has the multiples of its step over the range of the rows that the model has seen, or with
// `within` over that of the area. Columns that are no axis are set, or held at typical values; a time has to be set.
// UsageError for columns that the model does not read, a latitude beyond a pole; DataError for an area that cannot be
// read. Of a place: latitude and longitude are degrees, any other pair is in the coordinates of the area's file.
class Grid {
 public:
  Grid(const DataSummary& summary, const GridOptions& options);
  ~Grid();
  Grid(Grid&&) noexcept;

  std::int64_t cells() const;  // all, inside or not
  const std::vector<HeldColumn>& held() const;
  Table rows(std::int64_t first, std::int64_t count) const;  // of these cells those inside

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of them at once; UsageError when there are more than `most` cells.
Table grid_rows(const DataSummary& summary, const GridOptions& options, std::int64_t most = 10'000'000);

}  // namespace ick
