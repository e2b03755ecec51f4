#pragma once

#include <cmath>
#include <numbers>

// What every training on mini-batches does from epoch to epoch.
namespace ick {

// Learning rates over a run, relative: `at` is the share of the steps that is done. Down along a cosine to a hundredth;
// one cycle: up in a straight line over the first tenth before.
inline double cosine(double at) { return 0.01 + 0.99 * 0.5 * (1.0 + std::cos(std::numbers::pi * at)); }
inline double one_cycle(double at) { return at < 0.1 ? 0.1 + 0.9 * at / 0.1 : cosine((at - 0.1) / 0.9); }

}  // namespace ick
