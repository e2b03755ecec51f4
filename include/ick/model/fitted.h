#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/model/metrics.h"
#include "ick/model/model.h"

namespace ick {

// Predictions of the rows of a table, in the target's units. sd is that of a new observation: it includes the noise.
// Not a number for rows that cannot be predicted (a kernel's column is missing).
struct Prediction {
  std::vector<double> mean, sd, lower, upper;
  std::vector<double> location, scale;  // of the Gaussian: the same as mean and sd, or of the logarithm for log targets
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
  std::shared_ptr<const Model> model;
  double noise = 1.0;  // sd of an observation about the function, in standardised units
  // Lower factor L of I + Phi'Phi / s^2, (P + 1, P + 1), for models of kernels only; else undefined.
  at::Tensor posterior;

  const ModelSpec& spec() const { return model->spec(); }

  // Rows one after the other in blocks: memory does not grow with the table beyond its tensors.
  Prediction predict(const Table& table, double level = 0.9, EncodingNotes* notes = nullptr) const;

  // Mean and variance of the function (without noise) of encoded rows, standardised: (n) each, in float64.
  std::pair<at::Tensor, at::Tensor> predict_function(const Dataset& rows) const;

  // Back to the target's units.
  Prediction in_units(const at::Tensor& mean, const at::Tensor& variance, double level) const;

  // Scores of rows with a target; DataError when there are none.
  Scores evaluate(const Table& table, EncodingNotes* notes = nullptr) const;
  Scores evaluate(const Dataset& rows) const;

  std::vector<ParameterValue> kernel_values() const;
};

}  // namespace ick
