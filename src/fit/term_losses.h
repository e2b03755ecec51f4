#pragma once

#include <vector>

#include "fit/noise.h"
#include "ick/predict/composite.h"
#include "inference/stage.h"

// What predictions of rows that a model has not seen lose without a term.
namespace ick {

// The mean of each term's part over training rows, as many as tell: (T) in float64, standardised.
at::Tensor centres_of(const Stage& stage, const FunctionPosterior& posterior);

// The function at rows that `posterior` has not seen, before the link and without offsets, then each term's part less its
// centre, last the offset less its mean where rows have one: (1 + T, n), in the target's units where the link is the
// identity. Undefined for classes.
at::Tensor centred_parts(const Stage& stage, const FunctionPosterior& posterior, const Dataset& unseen);

// Predictions of these rows in the target's units.
struct Located {
  const at::Tensor& location;  // (n) as Predictive has it, and the scale
  const at::Tensor& scale;
  const std::vector<double>& seen;
  const at::Tensor& weights;                             // or undefined
  const std::vector<std::vector<std::int64_t>>& blocks;  // of rows, that count alike
};
// Fills in rmse_lost and its error: with e_i the squared error of row i, e_ti that without term t, w_i its weight,
//   sqrt(mean_w e_t) - sqrt(mean_w e)
// whose standard error is that of its linearisation, over the blocks.
void add_losses(const CompositePredictor& model, const Unseen& unseen, const Located& located,
                std::vector<TermShare>& terms);

}  // namespace ick
