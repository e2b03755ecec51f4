#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ick/posterior/fitted.h"
#include "ick/train/options.h"

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
  double waiting = 0.0;  // share of the training's seconds in which it stood still for images
};

struct Fit {
  FittedModel model;
  FitReport report;
};

// What will be done: every choice made, nothing trained.
struct FitPlan {
  ModelSpec spec;
  FitOptions options;
  Encoder encoder;
  std::vector<bool> training, validation, holdout;  // rows of the table
  std::string validation_reason;
  EncodingNotes notes;
  std::vector<Message> remarks;  // sentences: what was asked for and has no effect
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
