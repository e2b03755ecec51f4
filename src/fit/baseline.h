#pragma once

#include "ick/baseline/baseline.h"
#include "ick/fit/fit.h"

namespace ick {

// The same, but for a formula of trees alone: model is the baseline that these are, where it is left open.
FitOptions with_model(const Formula& formula, FitOptions options);

// The formula to be fitted: of a baseline that is a formula, that one. UsageError when it cannot serve.
Formula formula_of_model(const Table& table, const Formula& formula, const FitOptions& options);

// Rows of a baseline that learns, with remarks; UsageError when it cannot serve.
FitPlan plan_baseline(const Table& table, const Formula& formula, const FitOptions& options);

// A baseline that learns, on the rows that the formula's composite model would have, with intervals by the same
// calibration.
PredictorFit fit_baseline(const Table& table, const Formula& formula, const FitOptions& options, const FitHooks& hooks);

}  // namespace ick
