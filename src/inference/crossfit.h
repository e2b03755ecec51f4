#pragma once

#include <ATen/core/Tensor.h>

#include "inference/stage.h"

namespace ick {

// Residuals of a stage's training rows, each by networks that have not seen the row:
//   r_i = y_i - f_{-k(i)}(x_i),   f_{-k}: trained on the rows outside of fold k
struct CrossFit {
  at::Tensor residuals;  // (n) in float64, standardised as the stage's targets are
  at::Tensor folds;      // (n) in int64: k(i)
};

// After the stage is trained: one member, kernels held at the stage's values, as many epochs as its best. Folds are
// rows drawn at random, or whole groups where validation rows are: the residual of a row has to be like that of a row to
// be predicted, whose neighbours the model has seen. Undefined tensors when the rows are one group.
CrossFit cross_fit(const Stage& stage, int folds);

}  // namespace ick
