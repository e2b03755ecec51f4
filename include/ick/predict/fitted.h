#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/inference/engine.h"
#include "ick/likelihood/predictive.h"
#include "ick/model/class_scores.h"
#include "ick/model/metrics.h"
#include "ick/model/model.h"
#include "ick/predict/calibration.h"
#include "ick/predict/support.h"

namespace ick {

// Predictions of the rows of a table, in the target's units. sd is that of a new observation: it includes the noise.
// Not a number for rows that cannot be predicted (a kernel's column is missing).
struct Prediction {
  std::vector<double> mean, sd, lower, upper;
  std::vector<double> location, scale;  // as in Predictive: mean and sd, of the transformed target where there is one
  std::vector<double> function_sd;      // of the function alone, without the noise; for log targets of the logarithm
  std::vector<std::vector<Support>> support;  // for each source of FittedModel::support, when asked for

  // Of a target that is one of several classes, instead of all numbers above: for each class its probabilities, and
  // whether it is in the row's set of classes; the most probable one of each row, -1 where it cannot be predicted.
  std::vector<std::vector<double>> probability;
  std::vector<std::vector<bool>> in_set;
  std::vector<std::int64_t> most_probable;
};

// What to predict besides the mean and its deviation.
struct PredictOptions {
  double level = 0.9;    // of the interval, or the set of classes
  bool support = false;  // say for each row and source whether it lies inside the training rows
};

// One kernel parameter in the units of the data.
struct ParameterValue {
  std::string path;
  std::vector<double> values;  // mean over members of each number
  std::string unit;            // "d", "km", "mm^2"; "" for a pure number
  bool fixed = false;
};

// A model that has been trained: it can predict. Copies share their tensors.
struct FittedModel {
  Encoder encoder;
  ModelOptions options;
  std::shared_ptr<const FunctionPosterior> posterior;
  const Likelihood* likelihood = find_likelihood("gaussian");
  double temperature = 1.0;  // of classes: their functions are divided by it, so that probabilities are calibrated
  double noise = 1.0;        // s in Likelihood::noise: for numbers the sd about the function, in standardised units
  // The same as a function of the row: this model's mean, about that of its training rows, is the logarithm of the
  // noise's variance over noise^2. `noise` is then that of a typical row.
  std::shared_ptr<const FittedModel> noise_model;

  double solved_noise = 1.0;  // sd that weights in closed form were solved with; `noise` may have come from other rows

  Calibration calibration;             // of intervals, on rows the model had not seen
  std::vector<SupportSource> support;  // of the kernels

  const Model& model() const { return posterior->model(); }
  const ModelSpec& spec() const { return model().spec(); }
  std::vector<ColumnInfo> columns() const;  // everything it reads but the target, the noise's model included

  // Rows one after the other in blocks: memory does not grow with the table beyond its tensors.
  Prediction predict(const Table& table, const PredictOptions& options = {}, EncodingNotes* notes = nullptr) const;

  // Mean and variance of the function (without noise; for links but the identity, of the mean of an observation) of
  // encoded rows, standardised: (n) each, in float64. Offsets of standardised targets are not in it.
  FunctionMoments predict_function(const Dataset& rows) const { return moments_at(*posterior, *likelihood, rows); }
  // Of each class, the mean over members: (n, C) in float64.
  at::Tensor predict_probabilities(const Dataset& rows) const;
  // The variance of the noise of these rows of a table, whose observations have the mean `mean` (n), standardised, with
  // known errors of measurement: (n) in float64; not a number where a column that the noise's model reads is missing.
  at::Tensor noise_variance(const Table& table, const Dataset& rows, const at::Tensor& mean = {}) const;

  // Back to the target's units. `offset` (n) of standardised targets, or undefined.
  Prediction in_units(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& noise_variance,
                      double level, const at::Tensor& offset = {}) const;
  Predictive predictive() const { return {*likelihood, *encoder.transform}; }

  // What the noise's model makes of them, (n): the variance is noise^2 times this; undefined without one.
  at::Tensor noise_shape_of(const Table& table, const Dataset& rows) const;

  std::vector<double> observed(const Table& table, const Dataset& rows) const;  // targets, in their units
  // Scores of rows with a target, `rows` being some of the table's; DataError when there are none.
  Scores evaluate(const Table& table, EncodingNotes* notes = nullptr) const;
  Scores evaluate(const Table& table, const Dataset& rows) const;
  // The same of classes.
  ClassScores evaluate_classes(const Table& table, EncodingNotes* notes = nullptr) const;
  ClassScores evaluate_classes(const Dataset& rows) const;
  // A set holds the classes of probability at least 1 - threshold(level), and the most probable one. Sets hold the
  // class of a further row with probability at least `level` (split conformal prediction); all of them where there are
  // too few rows to calibrate on.
  double threshold(double level) const;

  std::vector<ParameterValue> kernel_values() const;
};

// base and slope of Likelihood::noise for each mean: (n) each.
std::pair<at::Tensor, at::Tensor> noise_shape(const Likelihood& likelihood, const at::Tensor& mean);

}  // namespace ick
