#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/inference/engine.h"
#include "ick/kernel/spread.h"
#include "ick/likelihood/predictive.h"
#include "ick/model/class_scores.h"
#include "ick/model/metrics.h"
#include "ick/model/model.h"
#include "ick/predict/calibration.h"
#include "ick/predict/predictor.h"
#include "ick/predict/support.h"

namespace ick {

struct GrownTrees;

// The composite model after a fit: encoder, posterior of the function, likelihood, noise and calibration. Copies share
// their tensors.
struct CompositePredictor : Predictor {
  std::shared_ptr<const GrownTrees> trees;  // of the formula, whose predictions the encoder reads as an offset; or null
  Encoder encoder;
  ModelOptions options;
  std::shared_ptr<const FunctionPosterior> posterior;
  const Likelihood* likelihood = find_likelihood("gaussian");
  double temperature = 1.0;  // functions of classes are divided by it, so that probabilities are calibrated
  double noise = 1.0;        // s in Likelihood::noise: for numbers the sd about the function, in standardised units
  // The same as a function of the row: this model's mean, about that of its training rows, is the logarithm of the
  // noise's variance over noise^2. `noise` is then that of a typical row.
  std::shared_ptr<const CompositePredictor> noise_model;

  // What the posterior's variances are multiplied with. Members of a second training may lie closer together than those
  // of the first, by which intervals are calibrated, for errors that are no smaller.
  double spread = 1.0;

  std::vector<double> centres;  // of each term's part, over training rows, standardised; empty: levels stay with terms

  RawSpread raw_spread;  // of the kernels' parameters, see parameters(); of those that have moved since it is void

  double solved_noise = 1.0;  // sd that weights in closed form were solved with; `noise` may have come from other rows

  Calibration calibration;             // scores of intervals on rows the model had not seen
  std::vector<SupportSource> support;  // one for each source of the kernels

  const Model& model() const { return posterior->model(); }
  const ModelSpec& spec() const { return model().spec(); }

  std::string_view kind() const override { return "composite"; }
  std::string formula() const override;
  const ColumnInfo& target() const override { return encoder.target; }
  std::vector<ColumnInfo> columns() const override;  // the noise's model included
  std::vector<ColumnInfo> scoring_columns() const override;
  const std::vector<std::string>& classes() const override { return encoder.classes; }
  Predictive predictive() const override { return {*likelihood, *encoder.transform}; }
  const Calibration& interval_calibration() const override { return calibration; }
  // Without a spread where targets are taken less an offset(...), which a constant does not know.
  Moments training_moments() const override;
  // The table as `encoder` reads it: with what its trees predict, in `made`; itself where it has no trees.
  const Table& readable(const Table& table, std::optional<Table>& made, EncodingNotes* notes = nullptr) const;

  bool has_weights() const override { return encoder.weights.has_value(); }
  double row_weight(const Table& table, std::int64_t row) const override;
  std::vector<ColumnInfo> known_levels() const override;
  bool reads_images() const override;
  std::int64_t rows_at_once() const override;
  std::vector<std::string> support_names() const override;
  std::vector<ParameterValue> parameters() const override;
  double noise_sd() const override;
  std::vector<KernelCurve> kernel_curves() const override;
  std::vector<KernelMatrix> kernel_matrices(const Table& table, std::int64_t most_rows) const override;

  // Rows one after the other in blocks: memory does not grow with the table beyond its tensors.
  Prediction predict(const Table& table, const PredictOptions& options = {},
                     EncodingNotes* notes = nullptr) const override;
  std::vector<ComponentName> component_names() const override;
  std::string component_scale() const override;
  std::vector<std::vector<double>> draw(const Table& table, const DrawOptions& options = {}) const override;

  // Mean and variance of the function (without noise; for links but the identity, of the mean of an observation) of
  // encoded rows, standardised: (n) each, in float64. Offsets of standardised targets are not in it.
  FunctionMoments predict_function(const Dataset& rows) const;
  // Probabilities of the classes, the mean over members: (n, C) in float64.
  at::Tensor predict_probabilities(const Dataset& rows) const;
  // The variance of the noise of these rows of a table, whose observations have the mean `mean` (n), standardised, with
  // known errors of measurement: (n) in float64; not a number where a column that the noise's model reads is missing.
  at::Tensor noise_variance(const Table& table, const Dataset& rows, const at::Tensor& mean = {}) const;

  // Back to the target's units. `offset` (n) of standardised targets, or undefined.
  Prediction in_units(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& noise_variance,
                      double level, const at::Tensor& offset = {}) const;

  // What the model or the seasons of the noise make of them, (n): the variance is noise^2 times this; undefined without.
  at::Tensor noise_shape_of(const Table& table, const Dataset& rows) const;

  std::vector<double> observed(const Table& table, const Dataset& rows) const;  // targets, in their units
  // Scores of some rows of the table, in its encoding, which may be more than fit into memory; DataError for none.
  Scores scores_of(const Table& table, const Dataset& rows) const;
  ClassScores class_scores_of(const Dataset& rows) const;

 private:
  Components components_of(const Dataset& rows, const at::Tensor& mean) const;
  at::Tensor draw_functions(const Dataset& rows, const DrawOptions& wanted) const;
};

// Whether a variance is the scale of its product, which is in the target's units, squared; those after the first of a
// product are pure numbers.
bool is_scale(const Kernel& kernel, const Parameter& variance);

// base and slope of Likelihood::noise for each mean: (n) each.
std::pair<at::Tensor, at::Tensor> noise_shape(const Likelihood& likelihood, const at::Tensor& mean);

}  // namespace ick
