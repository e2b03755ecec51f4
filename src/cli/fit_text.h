#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "ick/fit/estimate.h"
#include "ick/fit/fit.h"

// What `ick fit` says before and after.
namespace ick {

void say_plan(const Table& table, const FitPlan& plan, ProgressWriter& progress);                            // stderr
void print_fit(const PredictorFit& fit, const std::string& directory, bool json, ProgressWriter& progress);  // stdout
// The model and its scores, without what was said on the way; nothing of where it is.
void print_model(const Predictor& model, const FitReport& report);
void print_shares(const std::vector<TermShare>& shares, const Predictor& model);
nlohmann::json fit_json(const Predictor& model, const FitReport& report);
void print_estimate(const FitEstimate& estimate, bool json);  // stdout

std::string count_text(std::int64_t count, const std::string& word);  // "3 rows"
// What intervals, or sets of classes, are where rows are too few to calibrate them, and why: "the model's own: 3
// validation rows cannot calibrate an interval of 90%, 9 can". A line that begins with "intervals are", or "sets are".
std::string uncalibrated_text(const Calibration& calibration, double level, bool classes);
// The same for scripts: "calibrated", "widened" or "own", for sets "calibrated" or "all classes".
std::string basis_name(const Calibration& calibration, double level, bool classes);

// "rmse 2.61, mae 2.03, ..." on one line
std::string scores_text(const Scores& scores);
std::string scores_text(const ClassScores& scores);  // "accuracy 0.971, log loss 0.08, ..."

}  // namespace ick
