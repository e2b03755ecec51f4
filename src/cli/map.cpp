#include "cli/map.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

#include "cli/fit_text.h"
#include "cli/made_rows.h"
#include "ick/base/text.h"

namespace ick {

void MapRequest::add_to(CLI::App& app) {
  CLI::Option* const grid = app.add_option(
      "--grid", wanted.grid,
      "Write a map instead of rows, --out map.tif or map.nc: of the cells of a raster that have a value, "
      "or of a box, X0,Y0,X1,Y1,STEP (X is the longitude)");
  app.add_option("--columns", wanted.columns, "Columns of the map's place, as lat,lon; found by their names by default")
      ->delimiter(',')
      ->needs(grid);
  add_set(app, set, true);
  app.get_option("--set")->needs(grid);
  app.add_option("--preview", wanted.preview, "Picture of the map's first band, a PNG file")->needs(grid);
  app.add_flag("--yes", yes, "More than 10,000,000 cells, too")->needs(grid);
}

int MapRequest::run(const StoredModel& stored, const std::string& data, const std::string& out,
                    const DataOptions& reading) const {
  if (out.empty() || out == "-") throw UsageError("--grid writes a map, a file; say which: --out map.tif, or map.nc");
  RasterMapOptions options = wanted;
  options.set = set_values(set);
  if (yes) options.most = std::numeric_limits<std::int64_t>::max();
  reading.read_options();  // threads
  const DataSummary summary = summary_of_model(stored, data, reading);
  using Watch = std::chrono::steady_clock;
  Watch::time_point said = Watch::now();
  const RasterMapReport report =
      write_map(*stored.model, summary, options, out, [&](std::int64_t done, std::int64_t all) {
        constexpr std::chrono::seconds kOften(10);
        if (Watch::now() - said < kOften) return;
        said = Watch::now();
        fmt::print(stderr, "{:.1f}% of {} cells\n", 100.0 * static_cast<double>(done) / static_cast<double>(all), all);
      });
  say_held(report.held);
  if (report.predicted < report.cells) {
    fmt::print(stderr, "{} of {} cells without a value, in the raster or of the model\n",
               report.cells - report.predicted, report.cells);
  }
  if (report.extrapolated > 0) {
    fmt::print(stderr, "{} of {} cells extrapolate: no training row is near\n", report.extrapolated, report.predicted);
  }
  if (!stored.model->interval_calibration().knows(options.level)) {
    const bool classes = !stored.model->classes().empty();
    if (!classes) {
      fmt::print(stderr, "intervals are {}\n",
                 uncalibrated_text(stored.model->interval_calibration(), options.level, classes));
    }
  }
  if (report.crs.empty()) fmt::print(stderr, "the map has no coordinate system: neither has the grid\n");
  fmt::print(stderr, "{} x {} cells{}{} written to {}: {}\n", report.width, report.height,
             report.times > 1 ? fmt::format(" at {} times", report.times) : "",
             report.crs.empty() ? "" : " (" + report.crs + ")", out, join_words(report.bands));
  return 0;
}

}  // namespace ick
