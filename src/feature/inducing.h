#pragma once

#include <ATen/core/Tensor.h>

#include "feature/state.h"
#include "ick/feature/feature_map.h"

namespace ick {

// Inducing points of one product of kernels.
struct InducingPoints {
  at::Tensor z;  // (p, D), in the columns of x; for one period: where the first member's period puts them
  Placement placement = Placement::grid;
  at::Tensor turns;  // for one period: (p), fractions of a turn after `origin`, of the first column of the kernel
  double origin = 0.0;
};

// At most `count` points, and no more than the rank of the product; fewer when the rows are fewer or alike, or
// `explained` (MapOptions). Points as many as the rank reproduce the kernel: k(Z, Z) is regular. Rows beyond kMostRows
// are thinned by a seeded draw.
inline constexpr std::int64_t kMostRows = 8192;
InducingPoints place_points(const Kernel& product, const at::Tensor& x, std::int64_t count, Placement placement,
                            std::uint64_t seed, double explained = 0.0);

// The points of NystromMap::state(): "turns" (p) and "origin" (1) over one period, "points" (p, D) elsewhere and
// (E, p, D) once trained.
InducingPoints restore_points(const Kernel& product, const StateReader& state, std::int64_t count, Placement placement,
                              bool trained);

std::string placement_name(Placement placement);

}  // namespace ick
