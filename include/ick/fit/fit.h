#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

FitPlan plan_fit(const Table& table, const Formula& formula, const FitOptions& options);

// Trains a model. `resume` is a checkpoint of the same fit: the result is the same, bit for bit, as without
// interruption (with the same number of threads). Throws Interrupted after the checkpoint when hooks.interrupted says
// so.
Fit fit_model(const Table& table, const Formula& formula, const FitOptions& options = {}, const FitHooks& hooks = {},
              const Checkpoint* resume = nullptr);
Fit fit_model(const Table& table, const std::string& formula, const FitOptions& options = {});

// Columns of the table a formula reads as levels: the reader should take them as categories.
std::vector<std::string> level_columns(const Formula& formula);
// Columns that hold the names of images: the reader should take them as text.
std::vector<std::string> image_columns(const Formula& formula);

}  // namespace ick
