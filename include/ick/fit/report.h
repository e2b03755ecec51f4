#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ick/base/message.h"
#include "ick/dataset/notes.h"
#include "ick/dataset/summary.h"
#include "ick/model/class_scores.h"
#include "ick/model/metrics.h"
#include "ick/predict/prediction.h"
#include "ick/train/options.h"

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
  std::string calibrated_on;  // parts of the rows that were left out in turn, "24 futures of 14 d"; "": validation rows
  EncodingNotes notes;
  // Scores of a model that has not seen these rows; intervals of the validation rows, which calibrate, are Gaussian.
  std::optional<Scores> validation, holdout;
  std::optional<ClassScores> class_validation, class_holdout;  // instead, for classes
  std::int64_t epochs = 0, best_epoch = 0;
  bool polished = false;               // the last layers are those in closed form
  std::vector<TermShare> term_shares;  // over training rows; empty for classes and what is no sum
  std::optional<DataSummary> summary;  // of training and validation rows; none in models of older versions
  std::vector<Message> remarks;        // sentences: what was chosen on the way, what looks wrong
  double seconds = 0.0;
  double waiting = 0.0;              // share of the training's seconds in which it stood still for images
  std::vector<EpochRecord> history;  // epochs of this run; those before a fit was resumed are not in it
};

}  // namespace ick
