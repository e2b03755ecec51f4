#include "baseline/roles.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "ick/table/place_names.h"
#include "train/roles.h"

namespace ick {

namespace {

// A number alone is in the unit of the column, of hour(t) an hour.
void add_periods(const KernelSpec& kernel, const std::vector<DerivedColumn>& derived, BaselineRoles& roles) {
  const Argument* const period = kernel.find("period");
  if (period == nullptr) return;
  for (const std::string& name : kernel.columns) {
    const bool own = name == roles.time;
    if (!own && time_behind(derived, name) != roles.time) continue;
    for (const Quantity& each : period->values) {
      const std::string unit = !each.unit.empty() || own ? each.unit : find_derived(derived, name)->unit;
      const std::optional<double> known =
          unit.empty() && own ? each.number : convert(each.number, unit, roles.time_unit);
      if (known && *known > 0.0) roles.periods.push_back(*known);
    }
  }
}

void find_time(const BaselineTask& task, BaselineRoles& roles) {
  const FitOptions& o = task.plan.options;
  each_kernel(task.plan.spec, [&](const KernelSpec& kernel) {
    for (const std::string& read : kernel.columns) {
      const std::string behind = time_behind(task.plan.spec.derived, read), name = behind.empty() ? read : behind;
      const bool time = measures_time(task.table.column(name), o) || kernel.name == "periodic";
      if (roles.time.empty() && time) roles.time = name;
    }
  });
  for (const std::string& name : read_for(task.plan.spec.derived, roles.columns)) {
    if (roles.time.empty() && measures_time(task.table.column(name), o)) roles.time = name;
  }
  if (roles.time.empty()) return;
  const auto unit = o.units.find(roles.time);
  roles.time_unit = task.table.column(roles.time).info.type == ColumnType::time ? "d"
                    : unit != o.units.end()                                     ? unit->second
                                                                                : "";
  each_kernel(task.plan.spec, [&](const KernelSpec& kernel) { add_periods(kernel, task.plan.spec.derived, roles); });
}

bool holds_numbers(const Column& column) {
  return column.info.type == ColumnType::number || column.info.type == ColumnType::integer;
}

// Latitude and longitude by name or by a kernel on the sphere, or else the two or three numbers that a kernel reads.
void find_places(const BaselineTask& task, BaselineRoles& roles) {
  each_kernel(task.plan.spec, [&](const KernelSpec& kernel) {
    if (roles.places.empty() && kernel.sphere) roles.places = kernel.columns, roles.sphere = true;
  });
  if (roles.sphere) return;
  std::string north, east;
  for (const std::string& name : roles.columns) {
    if (!holds_numbers(task.table.column(name))) continue;
    if (north.empty() && runs_north(name)) north = name;
    if (east.empty() && runs_east(name)) east = name;
  }
  if (!north.empty() && !east.empty()) {
    roles.places = {north, east};
    roles.sphere = (north[0] == 'l' || north[0] == 'L') && (east[0] == 'l' || east[0] == 'L');
    return;
  }
  each_kernel(task.plan.spec, [&](const KernelSpec& kernel) {
    const bool fits = kernel.columns.size() == 2 || kernel.columns.size() == 3;
    const bool numbers = std::all_of(kernel.columns.begin(), kernel.columns.end(), [&](const std::string& name) {
      return name != roles.time && holds_numbers(task.table.column(name));
    });
    if (roles.places.empty() && fits && numbers) roles.places = kernel.columns;
  });
}

// Rows beyond the first of each pair of a time and a level; without levels, of each time.
std::int64_t repeated(const BaselineTask& task, const Numbers& times, const Numbers* levels) {
  std::vector<std::pair<double, double>> seen;
  for (std::int64_t i = 0; i < task.table.rows; ++i) {
    if (!task.plan.training[i] || std::isnan(times[i])) continue;
    seen.emplace_back(times[i], levels != nullptr && !std::isnan((*levels)[i]) ? (*levels)[i] : -1.0);
  }
  std::sort(seen.begin(), seen.end());
  return std::ssize(seen) - (std::unique(seen.begin(), seen.end()) - seen.begin());
}

}  // namespace

BaselineRoles roles_of(const BaselineTask& task) {
  BaselineRoles roles;
  add_new(roles.columns, task.plan.spec.kernel_columns);
  add_new(roles.columns, task.plan.spec.network_columns);
  if (task.plan.spec.trees) add_new(roles.columns, task.plan.spec.trees->columns);
  std::erase_if(roles.columns,
                [&](const std::string& name) { return task.table.column(name).info.type == ColumnType::text; });
  find_time(task, roles);
  find_places(task, roles);
  return roles;
}

std::string series_column(const BaselineTask& task, const BaselineRoles& roles) {
  constexpr double kNearlyAll = 0.95;
  const Numbers& times = task.table.column(roles.time).values;
  const std::int64_t together = repeated(task, times, nullptr);
  std::string found;
  auto fewest = static_cast<std::int64_t>((1.0 - kNearlyAll) * static_cast<double>(together));
  if (together == 0) return found;
  for (const std::string& name : roles.columns) {
    const Column& column = task.table.column(name);
    if (column.info.type != ColumnType::category) continue;
    const std::int64_t left = repeated(task, times, &column.values);
    if (left < fewest || (found.empty() && left == fewest)) found = name, fewest = left;
  }
  return found;
}

void read_seasons(const BaselineTask& task, EncoderPlan& plan) {
  const BaselineRoles roles = roles_of(task);
  plan.kernel_columns = {roles.time};
  NetworkPlan network;
  if (const std::string series = series_column(task, roles); !series.empty()) network.columns = {series};
  plan.networks = {network};
}

void read_all_columns(const BaselineTask& task, EncoderPlan& plan) {
  NetworkPlan all;
  all.columns = roles_of(task).columns;
  plan.networks = {all};
}

std::string why_not_columns(const BaselineTask& task) {
  return roles_of(task).columns.empty() ? "the formula reads no columns besides images" : "";
}

std::vector<std::int64_t> series_of(const Dataset& rows) {
  std::vector<std::int64_t> series(static_cast<std::size_t>(rows.size()), 0);
  if (rows.networks.empty() || rows.networks[0].size(1) == 0) return series;
  const at::Tensor levels = rows.networks[0].contiguous();
  const std::int64_t width = levels.size(1);
  const float* of_row = levels.data_ptr<float>();
  for (std::size_t i = 0; i < series.size(); ++i, of_row += width) {
    const float* const found = std::find(of_row, of_row + width, 1.0f);
    series[i] = found == of_row + width ? -1 : found - of_row;
  }
  return series;
}

}  // namespace ick
