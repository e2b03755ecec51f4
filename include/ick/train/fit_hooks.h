#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ick/net/network.h"

namespace ick {

// Where a fit stands, after each epoch (or step of L-BFGS).
struct Progress {
  std::string phase;             // "warm start", "train", "refit"
  std::string measure = "rmse";  // of the validation score: rmse, log_loss (of classes) or nlpd (of counts)
  std::int64_t epoch = 0, epochs = 0;
  double loss = 0.0;  // mean over the epoch's rows, per member
  double validation =
      0.0;  // RMSE in the target's units, of classes and counts the mean of -log p; not a number without
            // validation rows
  double best = 0.0;
  double learning_rate = 0.0;
  double rows_per_second = 0.0, seconds = 0.0, seconds_left = 0.0;
  double waiting = 0.0;  // share of the seconds in which training stood still for images
};

// A fit that can be taken up again: what it has, at the end of some step of some epoch.
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
