#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ick/kernel/declaration.h"

namespace at {
class Tensor;
}

namespace ick {

// One kernel, as the rest of the library sees it.
struct KernelRow {
  int index = 0;  // place in the table
  std::string_view name;
  std::string_view formula;
  Inputs inputs = Inputs::numbers;
  Spectrum spectrum = Spectrum::none;
  double smoothness = 0.0;  // nu, for Spectrum::student
  std::span<const ParameterDeclaration> parameters;

  // k(x, x') of one pair of rows, in plain doubles: what the other paths are compared with.
  double (*value)(const Structure& structure, const double* parameters, const double* x, const double* y) = nullptr;

  bool centred = false;                                        // the formula sees x - centre (InputSummary)
  std::int64_t (*rank)(const Structure& structure) = nullptr;  // features that carry the whole kernel; null: no end

  // Values of a kernel that another program brings, on tensors; null for the library's own, which have a fast path.
  at::Tensor (*values)(const Structure& structure, const at::Tensor& parameters, const at::Tensor& x,
                       const at::Tensor& y, bool paired) = nullptr;
  bool fuses() const { return values == nullptr; }

  int parameter_count(const Structure& structure) const;
  std::string title() const;  // "rbf", "rbf (sphere)"
};

std::span<const KernelRow> kernel_table();
void add_kernel(KernelRow row);  // see extend.h

// The kernel of that name; `sphere` picks the one on latitude and longitude. UsageError with a suggestion when there is
// none; `position` is the column of the formula.
const KernelRow& find_kernel(std::string_view name, bool sphere, std::size_t position);

bool reads_levels(std::string_view name);  // the kernel of that name takes a column of levels; false when there is none

// Mean radius of the Earth (IUGG), km.
inline constexpr double kEarthRadius = 6371.0088;

// (latitude, longitude) in degrees to a point in km from the Earth's centre.
void place_to_point(double latitude, double longitude, double* point);

}  // namespace ick
