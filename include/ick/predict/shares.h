#pragma once

#include <vector>

#include "ick/predict/predictor.h"

namespace ick {

// What a term has of the variance of predictions, f = constant + sum_t f_t, over the rows of a table:
//   cov(f_t, f) / var(f)
// Shares add up to one. One is negative where a term takes back what another one says. Not a number where all predictions
// are the same; empty for models that are no sum of terms.
std::vector<TermShare> term_shares(const Predictor& model, const Table& table);

}  // namespace ick
