#include "ick/kernel/table.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <utility>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/formula/expression.h"
#include "ick/kernel/plain_view.h"
#include "kernel/list.h"

namespace ick {

namespace {

// Room for those of other programs: rows stay where they are.
constexpr std::size_t kMostAdded = 256;

template <std::size_t... i>
std::vector<KernelRow> make_rows(std::index_sequence<i...>) {
  std::vector<KernelRow> rows;
  rows.reserve(sizeof...(i) + kMostAdded);
  (rows.push_back(kernel_row<std::tuple_element_t<i, KernelList>>(static_cast<int>(i))), ...);
  return rows;
}

std::vector<KernelRow>& all_rows() {
  static std::vector<KernelRow> rows = make_rows(std::make_index_sequence<kKernelCount>());
  return rows;
}

}  // namespace

int KernelRow::parameter_count(const Structure& structure) const {
  int count = 0;
  for (const ParameterDeclaration& each : parameters) count += size_of(each.shape, structure);
  return count;
}

std::string KernelRow::title() const { return std::string(name) + (inputs == Inputs::place ? " (sphere)" : ""); }

std::span<const KernelRow> kernel_table() { return all_rows(); }

void add_kernel(KernelRow row) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::vector<KernelRow>& rows = all_rows();
  for (const KernelRow& each : rows) {
    if (each.name != row.name || each.inputs != row.inputs) continue;
    throw UsageError("there is a kernel named \"" + std::string(row.name) + "\" already; give another name");
  }
  if (rows.size() == rows.capacity())
    throw UsageError("no more than " + std::to_string(kMostAdded) + " kernels can be added");
  row.index = static_cast<int>(rows.size());
  rows.push_back(row);
}

const KernelRow& find_kernel(std::string_view name, bool sphere, std::size_t position) {
  bool known = false;
  std::vector<std::string> names;
  for (const KernelRow& row : kernel_table()) {
    if (row.name == name && (row.inputs == Inputs::place) == sphere) return row;
    known = known || row.name == name;
    if ((row.inputs == Inputs::place) == sphere) names.emplace_back(row.name);
  }
  const std::string place = where(position);
  if (known) throw UsageError(place + std::string(name) + " does not work on the sphere; use " + join_words(names));
  throw UsageError(place + "no kernel named \"" + std::string(name) + "\"" +
                   (nearest_name(name, names).empty() ? "; `ick list kernels` shows all" : did_you_mean(name, names)));
}

bool reads_levels(std::string_view name) {
  return std::any_of(kernel_table().begin(), kernel_table().end(),
                     [&](const KernelRow& row) { return row.name == name && row.inputs == Inputs::level; });
}

void place_to_point(double latitude, double longitude, double* point) {
  constexpr double kRadians = std::numbers::pi / 180.0;
  const double ring = kEarthRadius * std::cos(latitude * kRadians);
  point[0] = ring * std::cos(longitude * kRadians);
  point[1] = ring * std::sin(longitude * kRadians);
  point[2] = kEarthRadius * std::sin(latitude * kRadians);
}

}  // namespace ick
