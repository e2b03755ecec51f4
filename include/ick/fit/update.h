#pragma once

#include <cstdint>

#include "ick/fit/report.h"
#include "ick/fit/update_report.h"
#include "ick/predict/composite.h"
#include "ick/table/table.h"

namespace ick {

struct Update {
  CompositePredictor model;
  UpdateReport report;
};

// A model given further rows at the parameters it has: kernels, features, noise, scalings and calibration stay, and the
// posterior is that of old and new rows together. `fit` is the report of its fit, `added` the rows that were taken in
// since then. UsageError for models that keep nothing that rows could be added to; DataError when the rows have no
// target, other columns or levels that the model does not know.
Update update_model(const CompositePredictor& model, const FitReport& fit, std::int64_t added, const Table& table);

}  // namespace ick
