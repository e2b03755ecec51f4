#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ick/net/network.h"
#include "ick/train/progress.h"

namespace ick {

// A fit that can be resumed: what it has, at the end of some step of some epoch.
struct Checkpoint {
  std::string phase;
  std::map<std::string, double> numbers;  // counters and sums
  TensorState tensors;                    // parameters, the optimiser's state, the best parameters so far
};

struct FitPlan;
class Ranks;

// How a fit speaks and listens. All may be empty.
struct FitHooks {
  std::function<void(const Progress&)> progress;
  std::function<bool()> interrupted;                  // asked at every step; true: write a checkpoint and stop
  std::function<void(const Checkpoint&)> checkpoint;  // keep this
  std::function<void(const FitPlan&)> planned;        // formula and rows are in order, training begins
  Ranks* ranks = nullptr;  // processes that train this model together, all calling fit() alike
};

}  // namespace ick
