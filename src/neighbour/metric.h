#pragma once

#include <cstdint>
#include <vector>

#include "ick/kernel/kernel.h"

namespace ick {

// Coordinates of rows in which those are near that a product of kernels correlates: inputs over lengthscales, angles of
// what repeats as points of a circle, places as points of the sphere, levels as points whose distances say how little
// they have in common. (n, size) row by row. What has no distance, linear or constant, has no coordinate: a product of
// such kernels alone has none.
struct Coordinates {
  std::vector<double> at;
  int size = 0;
};

// `theta` are the kernel's parameters (P), natural; x (n, D) in float64 are columns of the kernel.
Coordinates coordinates_of(const std::vector<Factor>& product, const double* theta, const at::Tensor& x);

}  // namespace ick
