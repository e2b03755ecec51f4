#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ick/fit/report.h"
#include "ick/predict/composite.h"
#include "ick/train/fit_hooks.h"
#include "ick/train/plan.h"

namespace ick {

struct Fit {
  CompositePredictor model;
  FitReport report;
};

// Which rows are for what, and the likelihood: the part of a plan that all models of a formula have in common.
FitPlan plan_rows(const Table& table, const Formula& formula, const FitOptions& options);
FitPlan plan_fit(const Table& table, const Formula& formula, const FitOptions& options);

// The composite model of the formula, whatever options.model says. `resume` is a checkpoint of the same fit: the result is the same, bit for bit, as without
// interruption (with the same number of threads). Throws Interrupted after the checkpoint when hooks.interrupted says
// so.
Fit fit_model(const Table& table, const Formula& formula, const FitOptions& options = {}, const FitHooks& hooks = {},
              const Checkpoint* resume = nullptr);
Fit fit_model(const Table& table, const std::string& formula, const FitOptions& options = {});

// What options.model names: the composite model, or a baseline.
struct PredictorFit {
  std::shared_ptr<const Predictor> model;
  FitReport report;
};
PredictorFit fit_predictor(const Table& table, const Formula& formula, const FitOptions& options = {},
                           const FitHooks& hooks = {}, const Checkpoint* resume = nullptr);

// Columns of the table a formula reads as levels: the reader should take them as categories.
std::vector<std::string> level_columns(const Formula& formula);
// Columns that hold the names of images: the reader should take them as text.
std::vector<std::string> image_columns(const Formula& formula);

}  // namespace ick
