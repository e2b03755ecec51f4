#pragma once

#include <cmath>

namespace ick {

// What is believed of a raw parameter before any row is seen: normal, with one sd below its centre and one above. For a
// positive parameter, whose raw number is its logarithm, it is log-normal.
struct Prior {
  double centre = 0.0, below = 3.0, above = 3.0;

  double sds(double raw) const { return (raw - centre) / (raw < centre ? below : above); }  // from the centre
  double cost(double raw) const { return 0.5 * sds(raw) * sds(raw); }                       // -log p, up to a constant
  double slope(double raw) const { return sds(raw) / (raw < centre ? below : above); }
};

inline constexpr double kNinety = 1.6448536269514722;     // 5% of a normal lie above as many sds
inline constexpr double kPriorTail = 2.3263478740408408;  // 1%
inline constexpr double kEdge = 2.0;                      // a value further out than this is at the edge of its prior

}  // namespace ick
