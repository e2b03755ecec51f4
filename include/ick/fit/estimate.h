#pragma once

#include <cstdint>

#include "ick/fit/fit.h"

namespace ick {

// What a fit would take, found by making its model and timing a few steps.
struct FitEstimate {
  FitPlan plan;
  std::int64_t training_rows = 0, validation_rows = 0, holdout_rows = 0;
  std::int64_t features = 0;       // p of all terms
  std::int64_t parameters = 0;     // trainable parameters of all members
  double bytes = 0.0;              // tables, tensors, optimiser, one step's work; without the libraries' own
  double seconds_per_epoch = 0.0;  // or step of L-BFGS
  double seconds = 0.0;            // in all, about; stopping early makes it less
  double fold_seconds = 0.0;       // of these, for networks trained without a part of the rows, if neighbours are tried
  double left_out_seconds = 0.0;   // of these, for networks trained again to calibrate intervals on parts left out
};

FitEstimate estimate_fit(const Table& table, const Formula& formula, const FitOptions& options);

}  // namespace ick
