#include "ick/rows/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/stopwatch.h"
#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/text.h"
#include "ick/train/threads.h"
#include "rows/map_cells.h"
#include "rows/preview.h"
#include "rows/values.h"

namespace ick {

namespace {

using detail::CellWindow;
using detail::MapLayout;

constexpr std::int64_t kSide = 256;  // of a tile, in cells
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

std::vector<MapLayout::Band> bands_of(const Predictor& model) {
  std::vector<MapLayout::Band> bands;
  const std::vector<std::string>& classes = model.classes();
  if (classes.empty()) {
    const std::string target = model.target().name;
    bands = {{"mean", target, ""},
             {"sd", "standard deviation of an observation, noise included", ""},
             {"lower", "lower end of the interval", ""},
             {"upper", "upper end of the interval", ""}};
  } else {
    std::string numbers = "most probable, ";
    for (std::size_t c = 0; c < classes.size(); ++c)
      numbers += (c > 0 ? ", " : "") + std::to_string(c) + " " + classes[c];
    bands.push_back({"class", numbers, ""});
    for (std::size_t c = 0; c < classes.size(); ++c) bands.push_back({"p_" + classes[c], "probability", ""});
  }
  if (!model.support_names().empty()) bands.push_back({"support", "0 inside, 1 edge, 2 extrapolating", ""});
  return bands;
}

// Numbers of all bands at some rows. Support is the worst of the sources that know.
std::vector<std::vector<double>> numbers_of(const Predictor& model, const Prediction& p) {
  std::vector<std::vector<double>> bands;
  if (model.classes().empty()) {
    bands = {p.mean, p.sd, p.lower, p.upper};
  } else {
    bands.emplace_back();
    for (const std::int64_t each : p.most_probable)
      bands[0].push_back(each < 0 ? std::nan("") : static_cast<double>(each));
    bands.insert(bands.end(), p.probability.begin(), p.probability.end());
  }
  if (p.support.empty()) return bands;
  std::vector<double>& worst = bands.emplace_back(bands[0].size(), std::nan(""));
  for (const std::vector<Support>& source : p.support) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] != Support::unknown) worst[i] = std::fmax(worst[i], static_cast<double>(source[i]));
    }
  }
  return bands;
}

// What is the same for all tiles.
class Map {
 public:
  Map(const Predictor& model, const DataSummary& summary, const RasterMapOptions& options)
      : model_(model),
        summary_(summary),
        place_(detail::find_place(summary, options.columns)),
        cells_(options.grid, place_) {
    wanted_.level = options.level;
    wanted_.support = !model.support_names().empty();
    layout_ = cells_.layout();
    layout_.bands = bands_of(model);
    SetValues set = options.set;
    std::vector<std::string> made = {place_.x, place_.y};
    for (const auto& [name, cell] : options.set) {
      const ColumnSummary& column = summary.column(name);
      if (column.info.type != ColumnType::time || !layout_.times.empty()) continue;
      time_ = &column;
      layout_.times = detail::times_of(column.info, cell, summary.step, setting("set", name + "=" + cell) + ": ");
      time_text_ = cell;
      made.push_back(name);
      set.erase(name);
    }
    held_ = detail::held_values(summary, set, made);
  }

  const MapLayout& layout() const { return layout_; }
  std::vector<HeldColumn> held() const {
    std::vector<HeldColumn> said;
    if (time_ != nullptr) said.push_back({time_->info.name, time_text_, false});
    for (const detail::HeldValue& each : held_) said.push_back(each.said());
    return said;
  }
  std::int64_t times() const { return std::max<std::int64_t>(1, std::ssize(layout_.times)); }
  std::int64_t size() const { return layout_.width * layout_.height * times(); }

  struct Tile {
    std::int64_t time = 0;
    CellWindow window;
    detail::MapCells::Centres centres;
    std::vector<std::vector<float>> bands;
  };

  void place(Tile& tile) const { tile.centres = cells_.centres(tile.window); }  // by one thread

  void predict(Tile& tile) const {
    tile.bands.assign(layout_.bands.size(), std::vector<float>(static_cast<std::size_t>(tile.window.cells()), kNone));
    const std::vector<std::size_t>& cell = tile.centres.cell;
    const auto most = static_cast<std::size_t>(model_.rows_at_once());
    for (std::size_t first = 0; first < cell.size(); first += most) {
      const std::size_t end = std::min(first + most, cell.size());
      const std::vector<std::vector<double>> found =
          numbers_of(model_, model_.predict(rows(tile, first, end), wanted_));
      for (std::size_t b = 0; b < found.size(); ++b) {
        for (std::size_t i = first; i < end; ++i) tile.bands[b][cell[i]] = static_cast<float>(found[b][i - first]);
      }
    }
  }

 private:
  Table rows(const Tile& tile, std::size_t first, std::size_t end) const {
    const auto part = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                 all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    std::vector<Column> columns;
    columns.push_back(detail::column_of(summary_.column(place_.x), part(tile.centres.x)));
    columns.push_back(detail::column_of(summary_.column(place_.y), part(tile.centres.y)));
    const auto hold = [&](const ColumnSummary& column, double value) {
      columns.push_back(detail::column_of(column, std::vector<double>(end - first, value)));
    };
    if (time_ != nullptr) hold(*time_, layout_.times[static_cast<std::size_t>(tile.time)]);
    for (const detail::HeldValue& each : held_) hold(*each.column, each.value);
    return detail::table_of(summary_, std::move(columns), static_cast<std::int64_t>(end - first));
  }

  const Predictor& model_;
  const DataSummary& summary_;
  detail::Place place_;
  detail::MapCells cells_;
  MapLayout layout_;
  PredictOptions wanted_;
  const ColumnSummary* time_ = nullptr;
  std::string time_text_;  // as it was set
  std::vector<detail::HeldValue> held_;
};

std::string about(double seconds) {
  if (seconds < 120.0) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return seconds < 172'800.0 ? fmt::format("{:.0f} h", seconds / 3600.0)
                             : fmt::format("{:.0f} days", seconds / 86'400.0);
}

// What so many cells would cost, by some of them in the middle.
[[noreturn]] void refuse_size(const Map& map, std::int64_t most) {
  const MapLayout& layout = map.layout();
  Map::Tile tile;
  tile.window = {layout.width / 2, layout.height / 2, std::min<std::int64_t>(1000, layout.width - layout.width / 2), 1};
  map.place(tile);
  const Stopwatch watch;
  map.predict(tile);
  const auto cells = static_cast<double>(map.size());
  const double bytes = 4.0 * cells * static_cast<double>(layout.bands.size());
  const double each = watch.seconds() / static_cast<double>(std::max<std::size_t>(1, tile.centres.cell.size()));
  throw UsageError(fmt::format(
      "the map has {} x {} cells{}, {:.2g} in all: about {} with {} threads, and {:.2g} GB before compression; take "
      "larger cells or fewer times, or allow more than {:.2g} cells with {}",
      layout.width, layout.height, map.times() > 1 ? fmt::format(" at {} times", map.times()) : "", cells,
      about(cells * each / workers()), workers(), bytes / 1e9, static_cast<double>(most), setting("most")));
}

bool ends_with(const std::string& path, std::string_view end) {
  return path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

RasterMapReport write_map(const Predictor& model, const DataSummary& summary, const RasterMapOptions& options,
                          const std::string& path, const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const bool tiff = ends_with(path, ".tif") || ends_with(path, ".tiff"), netcdf = ends_with(path, ".nc");
  if (!tiff && !netcdf) {
    throw UsageError(setting("out", path) +
                     ": a map is a GeoTIFF or a netCDF file; expected a name that ends with .tif or .nc");
  }
  if (model.reads_images()) {
    throw UsageError(
        "the model reads images, which the cells of a map do not have; give predict a table that names them");
  }
  const Map map(model, summary, options);
  if (tiff && map.times() > 1) {
    throw UsageError(
        fmt::format("{}: a GeoTIFF is of one time, and {} are set; write a .nc", setting("out", path), map.times()));
  }
  if (map.size() > options.most) refuse_size(map, options.most);
  const MapLayout& layout = map.layout();
  RasterMapReport report;
  report.width = layout.width, report.height = layout.height, report.times = std::ssize(layout.times);
  report.cells = map.size();
  report.held = map.held();
  report.crs = detail::name_of_system(layout.wkt);
  for (const MapLayout::Band& each : layout.bands) report.bands.push_back(each.name);
  const bool supported = report.bands.back() == "support";
  const std::unique_ptr<detail::MapFile> file =
      tiff ? detail::create_geotiff(path, layout) : detail::create_netcdf(path, layout);
  std::optional<detail::Preview> preview;
  if (!options.preview.empty()) preview.emplace(layout.width, layout.height);

  std::vector<Map::Tile> tiles;          // on their way
  const ThreadScope threads(workers());  // after which tensors have those that they had
  use_torch_threads(1);
  const auto send = [&] {
    for (Map::Tile& tile : tiles) map.place(tile);
    parallel(static_cast<int>(tiles.size()), [&](int k, int) {
      use_torch_threads(1);  // each thread has its own number
      map.predict(tiles[static_cast<std::size_t>(k)]);
    });
    for (const Map::Tile& tile : tiles) {
      file->write(tile.time, tile.window, tile.bands);
      if (preview && tile.time == 0) preview->add(tile.window, tile.bands[0]);
      for (const float value : tile.bands[0]) report.predicted += std::isfinite(value);
      for (const float value : supported ? tile.bands.back() : std::vector<float>())
        report.extrapolated += value == 2.0f;
    }
    tiles.clear();
  };
  std::int64_t done = 0;
  for (std::int64_t time = 0; time < map.times(); ++time) {
    for (std::int64_t top = 0; top < layout.height; top += kSide) {
      for (std::int64_t left = 0; left < layout.width; left += kSide) {
        Map::Tile& tile = tiles.emplace_back();
        tile.time = time;
        tile.window = {left, top, std::min(kSide, layout.width - left), std::min(kSide, layout.height - top)};
        done += tile.window.cells();
        if (std::ssize(tiles) == workers()) send();
        if (progress && tiles.empty()) progress(done, map.size());
      }
    }
  }
  send();
  if (report.predicted == 0) {
    throw DataError("no cell of the map has a value: " + options.grid +
                    " is empty, or nowhere near latitudes and longitudes, or the model cannot predict at any");
  }
  file->finish();
  if (preview) preview->write(options.preview);
  return report;
}

}  // namespace ick
