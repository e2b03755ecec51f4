#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/data_options.h"
#include "ick/rows/map.h"
#include "ick/store/model_directory.h"

namespace ick {

// predict --grid: a map in the place of rows.
struct MapRequest {
  RasterMapOptions wanted;
  std::vector<std::string> set;
  bool yes = false;

  void add_to(CLI::App& app);
  bool asked() const { return !wanted.grid.empty(); }
  // `data` may be empty: the model remembers.
  int run(const StoredModel& stored, const std::string& data, const std::string& out, const DataOptions& reading) const;
};

}  // namespace ick
