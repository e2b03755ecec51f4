#include "ick/kernel/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/formula/expression.h"
#include "kernel/list.h"

namespace ick {

namespace {

// A formula's view of one pair of rows in plain doubles.
template <class K>
struct PlainView {
  const Structure& s;
  const double* parameters;
  const double* first;
  const double* second;

  const Structure& structure() const { return s; }
  double x(int d) const { return first[d]; }
  double y(int d) const { return second[d]; }
  double p(int k, int i = 0, int j = 0) const {
    int offset = place_of(K::parameters[k].shape, s, i, j);
    for (int before = 0; before < k; ++before) offset += size_of(K::parameters[before].shape, s);
    return parameters[offset];
  }
  double lookup(int k, double level, int j) const { return p(k, static_cast<int>(level), j); }
  double sin_between(int d) const { return sin_turns(K::frequency(*this, d) * (x(d) - y(d))); }
};

template <class K>
double plain_value(const Structure& structure, const double* parameters, const double* x, const double* y) {
  return K::value(PlainView<K>{structure, parameters, x, y});
}

template <class K>
constexpr double smoothness_of() {
  if constexpr (requires { K::smoothness; }) return K::smoothness;
  return 0.0;
}

template <class K>
constexpr bool is_centred() {
  if constexpr (requires { K::centred; }) return K::centred;
  return false;
}

template <class K>
constexpr auto rank_function() -> std::int64_t (*)(const Structure&) {
  if constexpr (requires(const Structure& s) { K::rank(s); }) return K::rank;
  return nullptr;
}

template <std::size_t... i>
std::array<KernelRow, sizeof...(i)> make_rows(std::index_sequence<i...>) {
  const auto row = [](int index, auto kernel) {
    using K = decltype(kernel);
    static_assert(K::parameters.size() <= kMostParameters);
    return KernelRow{index,         K::name,        K::formula,      K::inputs,         K::spectrum, smoothness_of<K>(),
                     K::parameters, plain_value<K>, is_centred<K>(), rank_function<K>()};
  };
  return {row(i, std::tuple_element_t<i, KernelList>{})...};
}

}  // namespace

int KernelRow::parameter_count(const Structure& structure) const {
  int count = 0;
  for (const ParameterDeclaration& each : parameters) count += size_of(each.shape, structure);
  return count;
}

std::string KernelRow::title() const { return std::string(name) + (inputs == Inputs::place ? " (sphere)" : ""); }

std::span<const KernelRow> kernel_table() {
  static const auto rows = make_rows(std::make_index_sequence<kKernelCount>());
  return rows;
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
