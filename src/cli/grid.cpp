#include "ick/rows/grid.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/fit_text.h"
#include "cli/made_rows.h"

namespace ick {

namespace {

constexpr std::int64_t kMostCells = 10'000'000;  // without --yes
constexpr std::int64_t kAtOnce = 65'536;

struct GridRequest {
  std::string model, data, out;
  std::vector<std::string> set;
  GridOptions wanted;
  LoadOptions loading;
  bool yes = false;
  DataOptions reading;
};

void refuse_many(const Grid& grid) {
  std::map<std::string, Clock> clocks;
  constexpr std::int64_t kSome = 10'000;
  const auto cells = static_cast<double>(grid.cells());
  const double bytes = cells / kSome * static_cast<double>(csv_rows(grid.rows(grid.cells() / 2, kSome), clocks).size());
  throw UsageError(
      fmt::format("the grid has {:.3g} cells, about {:.2g} GB of text; take longer steps, or allow more than "
                  "{:.3g} cells with --yes",
                  cells, bytes / 1e9, static_cast<double>(kMostCells)));
}

int run_grid(GridRequest request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const DataSummary summary = summary_of_model(stored, request.data, request.reading);
  request.wanted.set = set_values(request.set);
  const Grid grid(summary, request.wanted);
  if (grid.cells() > kMostCells && !request.yes) refuse_many(grid);
  RowsWriter writer(request.out);
  for (std::int64_t first = 0; first < grid.cells(); first += kAtOnce) writer.write(grid.rows(first, kAtOnce));
  if (writer.rows() == 0) {
    throw DataError(request.wanted.within + ": none of " + count_text(grid.cells(), "cell") +
                    " is inside; take a shorter step, or look whether its coordinates are those of the columns");
  }
  writer.commit();
  const bool all = writer.rows() == grid.cells();
  fmt::print(stderr, "{}{}\n", count_text(writer.rows(), "row"),
             all ? "" : fmt::format(" of {} cells, those inside {}", grid.cells(), request.wanted.within));
  say_held(grid.held());
  return 0;
}

}  // namespace

Command add_grid(CLI::App& program) {
  auto request = std::make_shared<GridRequest>();
  CLI::App* app = program.add_subcommand("grid", "Rows of a grid over some columns, for predict");
  GridRequest& r = *request;
  app->add_option("model", r.model, "Folder of a model")->required();
  app->add_option("--columns", r.wanted.columns, "Columns of numbers, as lat,lon; the last one changes fastest")
      ->delimiter(',')
      ->required();
  app->add_option("--step", r.wanted.step, "Step of each column, or one of all: cells are at its multiples")
      ->delimiter(',')
      ->required();
  app->add_option("--within", r.wanted.within,
                  "GeoJSON file with areas, or raster: cells inside, or where it has a value; by default the range of "
                  "the rows that the model has seen");
  add_set(*app, r.set, true);
  app->add_option("--data", r.data, "Table with the range of the columns, instead of the rows that the model has seen");
  app->add_option("--out", r.out, "File to write; stdout by default");
  app->add_flag("--yes", r.yes, "More than 10,000,000 cells, too");
  add_trust(*app, r.loading);
  r.reading.add_to(*app);
  return {app, [request] { return run_grid(*request); }};
}

}  // namespace ick
