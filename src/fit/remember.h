#pragma once

#include "ick/dataset/summary.h"
#include "ick/predict/predictor.h"
#include "ick/train/plan.h"

namespace ick {

// What the model is to remember of its training and validation rows: nothing of the holdout.
DataSummary summary_of_fit(const Table& table, const Predictor& model, const FitPlan& plan);

}  // namespace ick
