#pragma once

#include <string>

namespace ick {

// Parameters are optimised without limits (raw) and shown, set and used in natural units (value).
//   real       value = raw
//   positive   value = exp(raw)
//   interval   value = low + (high - low) s(raw)       where low <= 0
//              value = low (high / low)^s(raw)         where low > 0: decades count alike     s(r) = 1 / (1 + e^-r)
struct Constraint {
  enum class Kind { real, positive, interval };
  Kind kind = Kind::real;
  double low = 0.0, high = 0.0;  // for interval

  static constexpr Constraint real() { return {}; }
  static constexpr Constraint positive() { return {Kind::positive, 0.0, 0.0}; }
  static Constraint interval(double low, double high);  // UsageError unless low < high, both finite
};

// Three functions of one number: value(raw), its inverse, and d value / d raw.
double constrain(const Constraint& constraint, double raw);
double unconstrain(const Constraint& constraint, double value);
double constrain_slope(const Constraint& constraint, double raw);

// True when `value` lies strictly inside, where unconstrain is finite.
bool admits(const Constraint& constraint, double value);

// "a number", "a positive number", "a number between 1 and 5"
std::string describe(const Constraint& constraint);

}  // namespace ick
