#include "ick/base/seed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {
namespace {

// FNV-1a, 64 bits.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char byte : text) {
    value ^= static_cast<unsigned char>(byte);
    value *= 0x100000001b3;
  }
  return value;
}

// Horner's rule, highest power first.
template <std::size_t count>
double polynomial(const std::array<double, count>& coefficients, double x) {
  double value = 0.0;
  for (const double coefficient : coefficients) value = value * x + coefficient;
  return value;
}

// P. J. Acklam's rational approximations of the normal quantile, relative error 1.15e-9: about the median in the offset
// u - 1/2, in the lower tail (u < 0.02425) in sqrt(-2 log u).
double quantile_near_median(double offset) {
  constexpr std::array kNumerator = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                     1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array kDenominator = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                       6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  const double square = offset * offset;
  return offset * polynomial(kNumerator, square) / polynomial(kDenominator, square);
}

double quantile_in_tail(double u) {
  constexpr std::array kNumerator = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                     -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array kDenominator = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                       3.754408661907416e+00, 1.0};
  const double root = std::sqrt(-2.0 * std::log(u));
  return polynomial(kNumerator, root) / polynomial(kDenominator, root);
}

double normal_density(double x) { return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2; }

}  // namespace

// G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", 2014.
std::uint64_t Random::bits() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

// The midpoints of 2^52 equal cells: 52 bits and the half fill the 53 of a double, so nothing rounds to 0 or 1.
double Random::uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

double Random::normal() { return normal_quantile(uniform()); }

double Random::chi_squared(int degrees) {
  if (degrees < 0) {
    throw UsageError("chi_squared: found " + std::to_string(degrees) + " degrees where 0 or more were expected");
  }
  double sum = 0.0;
  for (int i = 0; i < degrees; ++i) {
    const double draw = normal();
    sum += draw * draw;
  }
  return sum;
}

std::int64_t Random::below(std::int64_t count) {
  if (count <= 0) {
    throw UsageError("below: found a count of " + std::to_string(count) + " where 1 or more was expected");
  }
  const auto range = static_cast<std::uint64_t>(count);
  // 2^64 mod range: without so many of the draws the rest divides evenly, and no remainder is favoured.
  const std::uint64_t surplus = (0 - range) % range;
  std::uint64_t draw = bits();
  while (draw < surplus) draw = bits();
  return static_cast<std::int64_t>(draw % range);
}

std::uint64_t seed_for(std::uint64_t seed, std::string_view path) {
  return Random(Random(seed).bits() ^ hash(path)).bits();
}

double normal_quantile(double u) {
  if (!(u > 0.0 && u < 1.0)) {
    throw UsageError("normal_quantile: found " + number_text(u) + " where a probability between 0 and 1 was expected");
  }
  const double offset = u - 0.5;
  // Near the median x goes to 0: the offset is exact there, and erf keeps the relative accuracy that 1 - erfc loses.
  if (std::abs(offset) <= 0.25) {
    const double start = quantile_near_median(offset);
    return start - (0.5 * std::erf(start / std::numbers::sqrt2) - offset) / normal_density(start);
  }
  const double tail = std::min(u, 1.0 - u);  // exact: 1 - u rounds only for u < 1/2
  double x = tail < 0.02425 ? quantile_in_tail(tail) : quantile_near_median(tail - 0.5);
  // Newton on log P(x) = log tail, nearly a parabola far out. Below the normal numbers erfc has too few bits to help.
  if (tail >= std::numeric_limits<double>::min()) {
    const double probability = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    x -= std::log(probability / tail) * probability / normal_density(x);
  }
  return u < 0.5 ? x : -x;
}

}  // namespace ick
