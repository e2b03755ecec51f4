#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fit/noise.h"
#include "ick/predict/calibration.h"
#include "inference/left_out.h"
#include "inference/stage.h"

namespace ick {

// Rows, by their place, in parts that count alike: each row by itself where `split` draws them at random, else blocks of
// one time, place or group.
std::vector<std::vector<std::int64_t>> exchangeable_parts(const Table& table, const Split& split, const Dataset& rows);

// Scores |y - mean| / sd of rows that a model had not seen, `split` having set them apart: rows drawn at random are
// exchangeable, those of one time, place or group only as blocks.
Calibration calibrated(const Table& table, const Split& split, const Dataset& rows, const std::vector<double>& scores);

// Parts of a model's own rows, as they are predicted when they are left out in turn.
struct LeftOutRows {
  Unseen unseen;       // part after part
  LeftOutParts parts;  // of these rows of the table, in the order of cell_of:
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> sizes;  // of the parts
  bool at_random = false;           // rows were drawn one by one; else parts count
  std::string text;                 // "24 futures of 14 d"
};
LeftOutRows left_out_rows(const LeftOutParts& parts, const std::vector<FunctionMoments>& found, bool at_random,
                          const Dataset& rows, const Scaling& scaling);
// Networks are trained again without parts after a second training, which leaves no rows that the model has not seen; up
// to 50,000 rows, without images.
bool may_retrain(const FitPlan& plan, std::int64_t rows);
// Of kernels only in closed form; of networks, `refitted`, by training: each of several processes does all of it. None
// where there are too few parts.
std::optional<LeftOutRows> leave_out(const Stage& stage, const FunctionPosterior& posterior, bool refitted);
// `scores` of its rows, not a number where there is none.
Calibration calibrated(const LeftOutRows& left_out, const std::vector<double>& scores);

}  // namespace ick
