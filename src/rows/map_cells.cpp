#include "rows/map_cells.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "ick/base/error.h"

namespace ick::detail {
namespace {

// "8,46,10,48,0.1"; none where it is anything else: the name of a file.
std::optional<std::array<double, 5>> parse_box(const std::string& text) {
  std::array<double, 5> box{};
  const char *at = text.data(), *const end = at + text.size();
  for (std::size_t k = 0; k < box.size(); ++k) {
    const auto [stop, error] = std::from_chars(at, end, box[k]);
    if (error != std::errc() || !std::isfinite(box[k])) return std::nullopt;
    if (k + 1 < box.size() ? stop == end || *stop != ',' : stop != end) return std::nullopt;
    at = stop + 1;
  }
  return box;
}

std::int64_t cells_of(double low, double high, double step, const std::string& grid) {
  constexpr double kMost = 1e9, kHair = 1e-9;  // a box that ends with a cell has none behind it
  const double cells = std::ceil((high - low) / step - kHair);
  if (high > low && step > 0.0 && cells <= kMost) return static_cast<std::int64_t>(std::max(cells, 1.0));
  throw UsageError(setting("grid", grid) +
                   ": expected X0,Y0,X1,Y1,STEP with X0 < X1, Y0 < Y1, a positive step and at "
                   "most a billion cells along a side");
}

}  // namespace

MapCells::MapCells(const std::string& grid, const Place& place) {
  layout_.degrees = place.degrees;
  if (const auto box = parse_box(grid)) {
    const auto [x0, y0, x1, y1, step] = *box;
    layout_.width = cells_of(x0, x1, step, grid), layout_.height = cells_of(y0, y1, step, grid);
    layout_.place = {x0, step, 0.0, y0 + step * static_cast<double>(layout_.height), 0.0, -step};
    if (place.degrees) layout_.wkt = wkt_of_degrees();
  } else {
    raster_.emplace(grid, place.degrees);
    layout_.width = raster_->width(), layout_.height = raster_->height();
    layout_.place = raster_->place();
    layout_.wkt = raster_->wkt();
    layout_.degrees = is_geographic(layout_.wkt);
  }
  if (!place.degrees || (raster_ && !layout_.degrees) || layout_.place[2] != 0.0 || layout_.place[4] != 0.0) return;
  const std::array<double, 6>& p = layout_.place;
  const double x[] = {p[0] + 0.5 * p[1], p[0] + p[1] * (static_cast<double>(layout_.width) - 0.5)};
  const double y[] = {p[3] + 0.5 * p[5], p[3] + p[5] * (static_cast<double>(layout_.height) - 0.5)};
  check_range(place, std::min(x[0], x[1]), std::max(x[0], x[1]), std::min(y[0], y[1]), std::max(y[0], y[1]));
}

MapLayout MapCells::layout() const { return layout_; }

MapCells::Centres MapCells::centres(const CellWindow& window) const {
  const std::array<double, 6>& p = layout_.place;
  const std::vector<bool> there = raster_ ? raster_->with_value(window) : std::vector<bool>();
  Centres all;
  for (std::int64_t i = 0; i < window.cells(); ++i) {
    if (raster_ && !there[static_cast<std::size_t>(i)]) continue;
    const double column = static_cast<double>(window.left + i % window.width) + 0.5;
    const double row = static_cast<double>(window.top + i / window.width) + 0.5;
    all.x.push_back(p[0] + p[1] * column + p[2] * row);
    all.y.push_back(p[3] + p[4] * column + p[5] * row);
    all.cell.push_back(static_cast<std::size_t>(i));
  }
  if (!raster_) return all;
  raster_->to_places(all.x, all.y);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.x.size(); ++i) {
    if (!std::isfinite(all.x[i]) || !std::isfinite(all.y[i])) continue;
    all.x[kept] = all.x[i], all.y[kept] = all.y[i], all.cell[kept++] = all.cell[i];
  }
  all.x.resize(kept), all.y.resize(kept), all.cell.resize(kept);
  return all;
}

}  // namespace ick::detail
