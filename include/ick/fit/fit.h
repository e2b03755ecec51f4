#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ick/predict/composite.h"
#include "ick/train/fit_hooks.h"
#include "ick/train/plan.h"

namespace ick {

// One line of the learning curve.
struct EpochRecord {
  std::string phase;  // "train", "refit"
  std::int64_t epoch = 0;
  double loss = 0.0;
  double validation = 0.0;  // the score that early stopping watches, see Progress; not a number without validation rows
  double learning_rate = 0.0;
};

// The outcome of a fit, besides the model.
struct FitReport {
  FitOptions options;  // with every choice made
  std::int64_t rows = 0, training_rows = 0, validation_rows = 0, holdout_rows = 0;
  std::string validation_split, holdout_split;  // as text; "none"
  std::string validation_reason;                // why rows were set apart that way
  EncodingNotes notes;
  // Of a model that has not seen these rows; intervals of the validation rows, which calibrate, are Gaussian.
  std::optional<Scores> validation, holdout;
  std::optional<ClassScores> class_validation, class_holdout;  // instead, for classes
  std::int64_t epochs = 0, best_epoch = 0;
  bool polished = false;  // the last layers are those in closed form
  double seconds = 0.0;
  double waiting = 0.0;              // share of the training's seconds in which it stood still for images
  std::vector<EpochRecord> history;  // of this run; what came before an interrupted fit was resumed is not in it
};

struct Fit {
  CompositePredictor model;
  FitReport report;
};

FitPlan plan_fit(const Table& table, const Formula& formula, const FitOptions& options);

// Trains a model. `resume` is a checkpoint of the same fit: the result is the same, bit for bit, as without
// interruption (with the same number of threads). Throws Interrupted after the checkpoint when hooks.interrupted says
// so.
Fit fit(const Table& table, const Formula& formula, const FitOptions& options = {}, const FitHooks& hooks = {},
        const Checkpoint* resume = nullptr);
Fit fit(const Table& table, const std::string& formula, const FitOptions& options = {});

// Columns of the table a formula reads as levels: the reader should take them as categories.
std::vector<std::string> level_columns(const Formula& formula);
// Columns that hold the names of images: the reader should take them as text.
std::vector<std::string> image_columns(const Formula& formula);

}  // namespace ick
