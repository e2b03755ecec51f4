#pragma once

#include <cstdint>

#include "ick/dataset/encoder.h"
#include "ick/model/model.h"

namespace ick {

constexpr double kMissedAtMost = 0.01;  // of the kernels' variance, that features may leave out

// A spec whose features carry the kernels, as far as that can be had.
struct EnoughFeatures {
  ModelSpec spec;
  double missed = 0.0;  // share of the variance that is still left out
};

// Features of the model's terms, doubled where the formula does not state them until, with the present parameters of
// the kernels, what all of them leave out,
//   sum_t mean_x (k_t(x, x) - |z_t(x)|^2),
// is at most kMissedAtMost of the variance (of the target's, where that is less). A term is doubled no further where
// that gains little, or costs more than it should: see the constants. For models with networks.
EnoughFeatures enough_features(const Model& model, const Encoder& encoder, const Dataset& rows,
                               const ModelOptions& options);

}  // namespace ick
