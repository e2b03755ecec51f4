#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/model/spec.h"
#include "ick/train/options.h"

namespace ick {

// What will be done: every choice made, nothing trained.
struct FitPlan {
  ModelSpec spec;
  FitOptions options;
  bool engine_asked = false;  // by the user; else a better one may take its place
  Encoder encoder;
  std::vector<bool> training, validation, holdout;  // rows of the table
  std::string validation_reason;
  EncodingNotes notes;
  std::vector<Message> remarks;  // sentences: what was asked for and has no effect
};

EncoderPlan encoder_plan(const ModelSpec& spec, const FitOptions& options);

// Of so many rows, the share that is set apart for validation: 0 where none can be spared.
double usual_validation_share(std::int64_t rows);

std::vector<bool> rows_with_value(const Table& table, const std::string& column);  // of text: all

std::int64_t count_of(const std::vector<bool>& rows);  // those that are true

// Functions that a model of this likelihood has: one for each class of a categorical target, else one.
std::int64_t outputs_of(const FitOptions& options, const Encoder& encoder);

}  // namespace ick
