#pragma once

#include "ick/fit/fit.h"
#include "inference/stage.h"

// A look at the model of a second training: no rows were set apart for it, so the first one has to vouch for it.
namespace ick {

// One of the two trainings, with what makes numbers of a table's rows for it.
struct Trained {
  const FunctionPosterior& posterior;
  const Encoder& encoder;
  bool wild = false;
};

// How far members lie apart: the median variance of the function, in the target's units squared, at up to 1,000 of the
// rows that both trainings learn from.
double spread_of(const Table& table, const FitPlan& plan, const Trained& model);

// Why the first model is better kept, a half sentence; empty where the second looks right. It looks wrong where
// - it predicts validation rows, from which it has learned, worse than the first did, which had not;
// - it and the first differ, in the future that begins with its last row, by far more than the first erred in the future of
//   its own;
// - points in the box of the inputs are predicted far beyond the range of the target (is_wild), and by the first they are
//   not.
// `unseen` are predictions of the validation rows by the first, in the target's units (n).
std::string why_second_is_wrong(const Table& table, const FitPlan& plan, const Trained& first, const Trained& second,
                                const at::Tensor& unseen);

}  // namespace ick
