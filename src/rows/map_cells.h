#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rows/map_file.h"
#include "rows/place.h"
#include "rows/placed_raster.h"

namespace ick::detail {

// Where the cells of a map are: those of a raster, or of a box of the model's own coordinates.
class MapCells {
 public:
  MapCells(const std::string& grid, const Place& place);  // a file, or X0,Y0,X1,Y1,STEP

  MapLayout layout() const;  // without bands and times

  // Centres of the cells that have a value and a place, and which of the window's they are.
  struct Centres {
    std::vector<double> x, y;
    std::vector<std::size_t> cell;
  };
  Centres centres(const CellWindow& window) const;

 private:
  MapLayout layout_;
  std::optional<PlacedRaster> raster_;
};

}  // namespace ick::detail
