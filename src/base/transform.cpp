#include "ick/base/transform.h"

#include <array>
#include <cmath>
#include <numbers>

namespace ick {

namespace {

bool any(double) { return true; }
bool positive(double y) { return y > 0.0; }
bool not_negative(double y) { return y >= 0.0; }
bool proportion(double y) { return y > 0.0 && y < 1.0; }

double same(double y) { return y; }
double zero(double) { return 0.0; }

// exp(m + s^2 / 2), and the mean times sqrt(exp(s^2) - 1)
void log_normal_moments(double& mean, double& sd) {
  const double variance = sd * sd;
  mean = std::exp(mean + 0.5 * variance);
  sd = mean * std::sqrt(std::expm1(variance));
}

double square_of_positive(double z) { return z > 0.0 ? z * z : 0.0; }

// Moments of max(Z, 0)^2, with a = m / s:
//   E = (m^2 + s^2) Phi(a) + m s phi(a),   E^2 = (m^4 + 6 m^2 s^2 + 3 s^4) Phi(a) + (m^3 s + 5 m s^3) phi(a)
void square_moments(double& mean, double& sd) {
  const double m = mean, s = sd, a = m / s;
  const double below = 0.5 * std::erfc(-a / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * a * a) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const double m2 = m * m, s2 = s * s;
  mean = (m2 + s2) * below + m * s * density;
  const double fourth = (m2 * m2 + 6.0 * m2 * s2 + 3.0 * s2 * s2) * below + (m2 * m * s + 5.0 * m * s2 * s) * density;
  sd = std::sqrt(std::fmax(0.0, fourth - mean * mean));
}

double logit(double y) { return std::log(y) - std::log1p(-y); }
double logistic(double z) { return z >= 0.0 ? 1.0 / (1.0 + std::exp(-z)) : std::exp(z) / (1.0 + std::exp(z)); }

// No closed form: the trapezoid rule over eight standard deviations to each side, which for a smooth function times a
// Gaussian is exact to the last digits.
void logistic_moments(double& mean, double& sd) {
  constexpr int kSteps = 64;
  constexpr double kReach = 8.0;
  double weights = 0.0, first = 0.0, second = 0.0;
  for (int i = -kSteps; i <= kSteps; ++i) {
    const double u = kReach * i / kSteps, weight = std::exp(-0.5 * u * u), y = logistic(mean + sd * u);
    weights += weight;
    first += weight * y;
    second += weight * y * y;
  }
  mean = first / weights;
  sd = std::sqrt(std::fmax(0.0, second / weights - mean * mean));
}

void same_moments(double&, double&) {}

constexpr std::array kTransforms = {
    Transform{"", "numbers", any, same, same, zero, same_moments},
    Transform{"log", "positive numbers", positive, [](double y) { return std::log(y); },
              [](double z) { return std::exp(z); }, [](double y) { return -std::log(y); }, log_normal_moments},
    Transform{"sqrt", "numbers from 0", not_negative, [](double y) { return std::sqrt(y); }, square_of_positive,
              [](double y) { return -std::numbers::ln2 - 0.5 * std::log(y); }, square_moments},
    Transform{"logit", "numbers between 0 and 1", proportion, logit, logistic,
              [](double y) { return -std::log(y) - std::log1p(-y); }, logistic_moments},
};

}  // namespace

std::span<const Transform> transforms() { return kTransforms; }

const Transform* find_transform(std::string_view name) {
  for (const Transform& each : kTransforms) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace ick
