#include "ick/kernel/constraint.h"

#include <cmath>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

double sigmoid(double r) { return r >= 0.0 ? 1.0 / (1.0 + std::exp(-r)) : std::exp(r) / (1.0 + std::exp(r)); }

// log(high / low), of bounds whose ratio may be too large for a double
double log_ratio(const Constraint& c) { return std::log(c.high) - std::log(c.low); }

}  // namespace

Constraint Constraint::interval(double low, double high) {
  if (!(std::isfinite(low) && std::isfinite(high) && low < high)) {
    throw UsageError("bounds " + number_text(low) + " and " + number_text(high) +
                     " do not enclose anything; give a low and a higher high");
  }
  return {Kind::interval, low, high};
}

double constrain(const Constraint& constraint, double raw) {
  switch (constraint.kind) {
    case Constraint::Kind::real:
      return raw;
    case Constraint::Kind::positive:
      return std::exp(raw);
    case Constraint::Kind::interval:
      break;
  }
  const double share = sigmoid(raw);
  if (constraint.low > 0.0) return constraint.low * std::exp(log_ratio(constraint) * share);
  return constraint.low + (constraint.high - constraint.low) * share;
}

double unconstrain(const Constraint& constraint, double value) {
  switch (constraint.kind) {
    case Constraint::Kind::real:
      return value;
    case Constraint::Kind::positive:
      return std::log(value);
    case Constraint::Kind::interval:
      break;
  }
  if (constraint.low > 0.0)
    return std::log((std::log(value) - std::log(constraint.low)) / (std::log(constraint.high) - std::log(value)));
  return std::log((value - constraint.low) / (constraint.high - value));
}

double constrain_slope(const Constraint& constraint, double raw) {
  switch (constraint.kind) {
    case Constraint::Kind::real:
      return 1.0;
    case Constraint::Kind::positive:
      return std::exp(raw);
    case Constraint::Kind::interval:
      break;
  }
  const double slope = sigmoid(raw) * sigmoid(-raw);
  if (constraint.low > 0.0) return constrain(constraint, raw) * log_ratio(constraint) * slope;
  return (constraint.high - constraint.low) * slope;
}

bool admits(const Constraint& constraint, double value) {
  switch (constraint.kind) {
    case Constraint::Kind::real:
      return std::isfinite(value);
    case Constraint::Kind::positive:
      return std::isfinite(value) && value > 0.0;
    case Constraint::Kind::interval:
      return value > constraint.low && value < constraint.high;
  }
  return false;
}

std::string describe(const Constraint& constraint) {
  switch (constraint.kind) {
    case Constraint::Kind::real:
      return "a number";
    case Constraint::Kind::positive:
      return "a positive number";
    case Constraint::Kind::interval:
      break;
  }
  return "a number between " + number_text(constraint.low) + " and " + number_text(constraint.high);
}

}  // namespace ick
