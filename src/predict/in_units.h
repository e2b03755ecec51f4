#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/likelihood/predictive.h"
#include "ick/predict/calibration.h"
#include "ick/predict/prediction.h"

// From what a model knows of encoded rows to predictions of a table's.
namespace ick {

// A gap that training refused is a row that cannot be predicted: it is left out, not a reason to stop.
Encoder lenient(Encoder encoder);
// Which rows have all that is needed: (m) in int64
at::Tensor complete_rows(const Dataset& rows);
// Values (m) of the rows `index` among n, not a number elsewhere.
at::Tensor spread_out(const at::Tensor& values, const at::Tensor& index, std::int64_t n);
std::vector<double> to_vector(const at::Tensor& values);

struct PredictiveScale {
  const Encoder& encoder;
  Predictive predictive;
  const Calibration& calibration;
};

// From mean and variance of the function and variance of the noise, standardised, (n) each, to the target's units.
// `offset` (n) of standardised targets, or undefined.
Prediction in_units(const PredictiveScale& of, const at::Tensor& mean, const at::Tensor& variance,
                    const at::Tensor& noise_variance, double level, const at::Tensor& offset = {});

}  // namespace ick
