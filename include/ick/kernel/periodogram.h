#pragma once

#include <span>
#include <vector>

namespace ick {

// The `count` strongest frequencies of y over x, in cycles per unit of x, strongest first; x need not be even or sorted.
// Gradient descent never finds a period from afar, so kernels that repeat start from these. Fewer are returned when the
// spectrum has fewer peaks: none for under 4 rows, a constant x or a straight line.
std::vector<double> strongest_frequencies(std::span<const double> x, std::span<const double> y, int count);

}  // namespace ick
