#include "ick/base/seed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
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

// M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", 1988: rational functions of
// degree 7, relative error about 1e-16. Six in seven draws take the first, which has no transcendental function.
double quantile_near_median(double offset) {  // u - 1/2, at most 0.425 in size
  constexpr std::array kNumerator = {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                                     4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                     1.3314166789178437745e+2, 3.3871328727963666080e+0};
  constexpr std::array kDenominator = {
      5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
      5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0};
  const double r = 0.180625 - offset * offset;
  return offset * polynomial(kNumerator, r) / polynomial(kDenominator, r);
}

// -x for P(N(0, 1) <= x) = u < 0.075
double quantile_in_tail(double u) {
  constexpr std::array kNearNumerator = {
      7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e+0,
      3.64784832476320460504e+0, 5.76949722146069140550e+0, 4.63033784615654529590e+0, 1.42343711074968357734e+0};
  constexpr std::array kNearDenominator = {
      1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
      6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1.0};
  constexpr std::array kFarNumerator = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                                        2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
                                        5.46378491116411436990e+0, 6.65790464350110377720e+0};
  constexpr std::array kFarDenominator = {
      2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
      1.48753612908506148525e-2,  1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0};
  const double root = std::sqrt(-std::log(u));
  if (root <= 5.0) return polynomial(kNearNumerator, root - 1.6) / polynomial(kNearDenominator, root - 1.6);
  return polynomial(kFarNumerator, root - 5.0) / polynomial(kFarDenominator, root - 5.0);
}

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

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  for (std::int64_t i = count - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

std::uint64_t seed_for(std::uint64_t seed, std::string_view path) {
  return Random(Random(seed).bits() ^ hash(path)).bits();
}

double normal_quantile(double u) {
  if (!(u > 0.0 && u < 1.0)) {
    throw UsageError("normal_quantile: found " + number_text(u) + " where a probability between 0 and 1 was expected");
  }
  const double offset = u - 0.5;
  if (std::abs(offset) <= 0.425) return quantile_near_median(offset);
  return offset < 0.0 ? -quantile_in_tail(u) : quantile_in_tail(1.0 - u);
}

}  // namespace ick
