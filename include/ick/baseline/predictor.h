#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ick/baseline/baseline.h"
#include "ick/likelihood/likelihood.h"
#include "ick/predict/predictor.h"

namespace ick {

// A baseline after a fit: what it has learned, noise of one size about it, and calibration.
struct BaselinePredictor : Predictor {
  const Baseline* baseline = nullptr;
  std::string formula_text;
  Encoder encoder;
  std::shared_ptr<const BaselineRule> rule;
  const Likelihood* likelihood = find_likelihood("gaussian");
  double noise = 1.0;  // sd of an observation about the rule, standardised
  Calibration calibration;

  std::string_view kind() const override { return "baseline"; }
  std::string formula() const override { return formula_text; }
  const ColumnInfo& target() const override { return encoder.target; }
  std::vector<ColumnInfo> columns() const override { return encoder.columns(); }
  std::vector<ColumnInfo> scoring_columns() const override;
  const std::vector<std::string>& classes() const override { return encoder.classes; }
  Predictive predictive() const override { return {*likelihood, *encoder.transform}; }
  const Calibration& interval_calibration() const override { return calibration; }
  Moments training_moments() const override;
  bool has_weights() const override { return encoder.weights.has_value(); }
  double row_weight(const Table& table, std::int64_t row) const override;
  double noise_sd() const override;  // not a number for classes

  Prediction predict(const Table& table, const PredictOptions& options = {},
                     EncodingNotes* notes = nullptr) const override;
  std::vector<std::vector<double>> draw(const Table& table, const DrawOptions& options = {}) const override;

  // What it is, in words: "seasonal (hour of the day, day of the week)".
  std::string description() const;
};

}  // namespace ick
