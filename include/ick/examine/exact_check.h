#pragma once

#include <string>

#include "ick/predict/exact_process.h"
#include "ick/store/model_directory.h"

namespace ick {

// A stored model beside the exact Gaussian process that it stands for.
struct ExactCheck {
  Comparison comparison;
  std::string compared_at, name;  // where the compared rows come from, for people and for scripts
  bool own_rows = false;          // given all the rows the model was trained on, and no others
};

// Given the rows of the fit, at rows that it has not seen: the holdout, else validation rows of a fit without a second
// training, else points between its rows. Another table: one half given the other, none of which it has seen. At most
// `rows` of each. UsageError for a model that has no exact process: a baseline, a likelihood that is not Gaussian,
// networks without a kernel in closed form; DataError for too few rows.
ExactCheck check_against_exact(const StoredModel& stored, const Table& table, std::int64_t rows);

// "kernel features", "ensemble posterior of 8 members": what is compared.
std::string posterior_text(const CompositePredictor& model);

}  // namespace ick
