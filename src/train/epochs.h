#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "ick/base/seed.h"

// What every training on mini-batches does from epoch to epoch.
namespace ick {

// Learning rates over a run, relative: `at` is the share of the steps that is done. Down along a cosine to a hundredth;
// one cycle: up in a straight line over the first tenth before.
inline double cosine(double at) { return 0.01 + 0.99 * 0.5 * (1.0 + std::cos(std::numbers::pi * at)); }
inline double one_cycle(double at) { return at < 0.1 ? 0.1 + 0.9 * at / 0.1 : cosine((at - 0.1) / 0.9); }

inline std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  for (std::int64_t i = std::ssize(order) - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

}  // namespace ick
