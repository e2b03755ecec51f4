#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ick/predict/composite.h"
#include "inference/stage.h"

namespace ick {

// Scores |y - mean| / sd of rows that a model had not seen, `split` having set them apart: rows drawn at random are
// exchangeable, those of one time, place or group only as blocks.
Calibration calibrated(const Table& table, const Split& split, const Dataset& rows, const std::vector<double>& scores);

// The same of parts of its own rows, left out in turn.
struct LeftOutScores {
  std::vector<std::vector<double>> scores;  // of each part
  std::string text;                         // "24 futures of 14 d"
};
// None where rows are set apart one by one, or the model would have to be trained again for each part. `model` is
// complete but for its calibration, the posterior of the rows of `stage`.
std::optional<LeftOutScores> left_out_scores(const Table& table, const Stage& stage, const CompositePredictor& model);

}  // namespace ick
