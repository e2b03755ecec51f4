#include "ick/rows/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "rows/area.h"
#include "rows/place.h"
#include "rows/values.h"

namespace ick {

namespace {

constexpr double kMostOfAxis = 1e7;

// A number without the last digits that multiples of 0.1 have.
double tidy(double value) { return value == 0.0 ? 0.0 : std::stod(fmt::format("{:.12g}", value)); }

struct Axis {
  const ColumnSummary* column = nullptr;
  std::vector<double> values;
};

// The multiples of the step from the last one below `low` to the first one above `high`.
Axis axis_of(const ColumnSummary& column, double step, double low, double high) {
  const std::string& name = column.info.name;
  if (column.info.type != ColumnType::number && column.info.type != ColumnType::integer) {
    throw UsageError(setting("columns") + ": \"" + name + "\" is a " + std::string(column_type_name(column.info.type)) +
                     "; an axis of a grid is a column of numbers, others are set: " + setting("set", name + "=..."));
  }
  if (!(step > 0.0) || !std::isfinite(step)) {
    throw UsageError(setting("step", number_text(step)) + ": expected a positive number");
  }
  if (!std::isfinite(low) || !std::isfinite(high)) {
    throw UsageError("column \"" + name + "\" has no range: no row that the model has seen has a value");
  }
  constexpr double kHair = 1e-9;  // of a step: a range that begins at a multiple has none below
  const double first = std::floor(low / step + kHair), last = std::ceil(high / step - kHair);
  if (last - first >= kMostOfAxis) {
    throw UsageError(fmt::format("{}: \"{}\" reaches from {} to {}, more than ten million steps; expected a longer one",
                                 setting("step", number_text(step)), name, number_text(low), number_text(high)));
  }
  Axis axis{&column, {}};
  for (double k = first; k <= last; ++k) axis.values.push_back(tidy(k * step));
  return axis;
}

}  // namespace

struct Grid::State {
  DataSummary summary;
  std::vector<Axis> axes;  // the slowest first
  std::vector<detail::HeldValue> held;
  std::vector<HeldColumn> said;
  std::unique_ptr<detail::Area> area;
  std::size_t x = 0, y = 0;  // axes of the place, where there is an area
};

Grid::Grid(const DataSummary& summary, const GridOptions& options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.summary = summary;
  if (options.columns.empty())
    throw UsageError("which columns has the grid? Expected " + setting("columns", "lat,lon"));
  if (options.step.size() != 1 && options.step.size() != options.columns.size()) {
    throw UsageError(fmt::format("{}: {} steps for {} columns; expected one of all, or one of each", setting("step"),
                                 options.step.size(), options.columns.size()));
  }
  for (std::size_t i = 0; i < options.columns.size(); ++i) {
    if (std::count(options.columns.begin(), options.columns.end(), options.columns[i]) > 1) {
      throw UsageError(setting("columns") + ": \"" + options.columns[i] + "\" stands there twice");
    }
  }
  const bool has_place = options.columns.size() == 2;
  const detail::Place place = has_place ? detail::place_of(options.columns) : detail::Place{};
  std::optional<detail::Area::Box> box;
  if (!options.within.empty()) {
    if (!has_place) throw UsageError(setting("within") + " is for grids of two columns, those of a place");
    state.area = detail::open_area(options.within, place.degrees);
    box = state.area->box();
  }
  // A time of several values is the slowest axis.
  SetValues set = options.set;
  std::vector<std::string> made = options.columns;
  for (const auto& [name, cell] : options.set) {
    const ColumnSummary& column = state.summary.column(name);
    if (column.info.type != ColumnType::time || cell.find("..") == std::string::npos || contains(made, name)) continue;
    const std::string at = setting("set", name + "=" + cell) + ": ";
    state.axes.push_back({&column, detail::times_of(column.info, cell, summary.step, at)});
    made.push_back(name);
    set.erase(name);
  }
  for (std::size_t i = 0; i < options.columns.size(); ++i) {
    const ColumnSummary& column = state.summary.column(options.columns[i]);
    const double step = options.step[options.step.size() == 1 ? 0 : i];
    const bool is_x = has_place && column.info.name == place.x;
    const double low = !box ? column.low : is_x ? box->x_low : box->y_low;
    const double high = !box ? column.high : is_x ? box->x_high : box->y_high;
    (is_x ? state.x : state.y) = state.axes.size();
    state.axes.push_back(axis_of(column, step, low, high));
    if (place.degrees && !is_x && low >= -90.0 && high <= 90.0) {  // nor is there a multiple beyond a pole
      std::erase_if(state.axes.back().values, [](double y) { return std::abs(y) > 90.0; });
    }
  }
  if (has_place) {
    const std::vector<double>&x = state.axes[state.x].values, &y = state.axes[state.y].values;
    check_range(place, x.front(), x.front(), y.front(), y.back());
  }
  state.held = detail::held_values(state.summary, set, made);
  for (const detail::HeldValue& each : state.held) state.said.push_back(each.said());
}

Grid::~Grid() = default;
Grid::Grid(Grid&&) noexcept = default;

std::int64_t Grid::cells() const {
  double cells = 1.0;
  for (const Axis& axis : state_->axes) cells *= static_cast<double>(axis.values.size());
  return static_cast<std::int64_t>(std::min(cells, 9e18));
}

const std::vector<HeldColumn>& Grid::held() const { return state_->said; }

Table Grid::rows(std::int64_t first, std::int64_t count) const {
  const State& state = *state_;
  const std::int64_t end = std::min(first + count, cells());
  std::vector<std::vector<double>> values(state.axes.size());
  for (std::int64_t cell = first; cell < end; ++cell) {
    std::int64_t rest = cell;
    for (std::size_t a = state.axes.size(); a-- > 0;) {
      const std::vector<double>& axis = state.axes[a].values;
      values[a].push_back(axis[static_cast<std::size_t>(rest % std::ssize(axis))]);
      rest /= std::ssize(axis);
    }
  }
  if (state.area) {
    const std::vector<bool> inside = state.area->inside(values[state.x], values[state.y]);
    for (std::vector<double>& each : values) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < each.size(); ++i) {
        if (inside[i]) each[kept++] = each[i];
      }
      each.resize(kept);
    }
  }
  const std::size_t rows = values.front().size();
  std::vector<Column> columns;
  for (std::size_t a = 0; a < values.size(); ++a) {
    columns.push_back(detail::column_of(*state.axes[a].column, std::move(values[a])));
  }
  for (const detail::HeldValue& each : state.held) {
    columns.push_back(detail::column_of(*each.column, std::vector<double>(rows, each.value)));
  }
  return detail::table_of(state.summary, std::move(columns), static_cast<std::int64_t>(rows));
}

Table grid_rows(const DataSummary& summary, const GridOptions& options, std::int64_t most) {
  const Grid grid(summary, options);
  if (grid.cells() <= most) return grid.rows(0, grid.cells());
  throw UsageError(fmt::format("the grid has {:.3g} cells, and at most {:.3g} are made at once; take a longer step",
                               static_cast<double>(grid.cells()), static_cast<double>(most)));
}

}  // namespace ick
