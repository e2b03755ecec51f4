#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ick {

// A small counter-based generator (splitmix64): the same numbers on every platform and in every build, which the
// distributions of the standard library do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits();
  double uniform();                        // in (0, 1), never an end
  double normal();                         // mean 0, variance 1, by the inverse distribution function
  double chi_squared(int degrees);         // sum of `degrees` squared normals
  std::int64_t below(std::int64_t count);  // 0 .. count - 1

 private:
  std::uint64_t state_;
};

// 0 .. count - 1 in an order of no meaning.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed);

// A seed of its own for everything that draws, found by name: adding a consumer never shifts the draws of another.
//   seed_for(7, "term1.date.periodic.period")
std::uint64_t seed_for(std::uint64_t seed, std::string_view path);

// x with P(N(0,1) <= x) = u, 0 < u < 1 (relative error below 1e-15).
double normal_quantile(double u);

}  // namespace ick
