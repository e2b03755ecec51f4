#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ick {

// The `count` strongest frequencies of y over x, in cycles per unit of x, strongest first; x may be in any order.
// Gradient descent never finds a period from afar, so kernels that repeat start from these. Fewer are returned when
// fewer peaks stand out from noise: none for under 4 rows, a constant x or a straight line.
std::vector<double> strongest_frequencies(std::span<const double> x, std::span<const double> y, int count);

// Share of the variance of y, whose mean is zero, that a + b cos(2 pi f x) + c sin(2 pi f x) explains, for f = step,
// 2 step, ..., steps * step.
std::vector<double> periodogram(const std::vector<double>& x, const std::vector<double>& y, double step,
                                std::size_t steps);

}  // namespace ick
