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

// Parts of a stage's training rows as they are predicted by models that were trained without them: parameters of kernels,
// epochs and what was decided are the stage's, networks are trained anew, as many members as it has.
struct Retrained {
  LeftOutParts parts;
  std::vector<FunctionMoments> found;  // at the rows of each part, standardised as the stage's targets are
  bool at_random = false;              // rows were drawn one by one
};

// Parts are what validation rows are, a fifth of all at a time: rows drawn at random, groups, blocks; or futures, given
// what comes before each. `posterior` is the stage's. None where there are too few of them, and of rows set apart by a
// condition.
std::optional<Retrained> leave_out_and_train(const Stage& stage, const FunctionPosterior& posterior);

}  // namespace ick
