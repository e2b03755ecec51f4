#pragma once

#include <cstdint>
#include <string>

namespace ick {

// Where a fit stands, after each epoch (or step of L-BFGS).
struct Progress {
  std::string phase;             // "warm start", "train", "refit"
  std::string measure = "rmse";  // what the validation score is: rmse, log_loss (classes) or nlpd (counts)
  std::int64_t epoch = 0, epochs = 0;
  double loss = 0.0;  // mean over the epoch's rows, per member
  // RMSE in the target's units, of classes and counts the mean of -log p; not a number without validation rows
  double validation = 0.0;
  double best = 0.0;
  double learning_rate = 0.0;
  double rows_per_second = 0.0, seconds = 0.0, seconds_left = 0.0;
  double waiting = 0.0;  // share of the seconds in which training stood still for images
};

}  // namespace ick
