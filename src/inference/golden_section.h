#pragma once

#include <cmath>

namespace ick {

// Where a function of one number with a single valley between `low` and `high` is lowest, to within `width`.
template <class Cost>
double golden_section(double low, double high, double width, const Cost& cost) {
  const double golden = (std::sqrt(5.0) - 1.0) / 2.0;
  while (high - low > width) {
    const double left = high - golden * (high - low), right = low + golden * (high - low);
    if (cost(left) < cost(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return 0.5 * (low + high);
}

}  // namespace ick
