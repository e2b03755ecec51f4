#pragma once

#include "ick/train/fit.h"

namespace ick {

std::int64_t count_of(const std::vector<bool>& rows);  // those that are true

// Solved, not trained by gradient descent.
bool is_closed_form(const FitOptions& options);

// Functions that a model of this likelihood has: one for each class of a categorical target, else one.
std::int64_t outputs_of(const FitOptions& options, const Encoder& encoder);

// The likelihood of the target, if the options do not say; UsageError or DataError when it does not go with the others.
void choose_likelihood(const Table& table, const Formula& formula, const std::vector<bool>& use, FitPlan& plan);
// All other options that are left open, for so many training rows.
void choose_options(const ModelSpec& spec, std::int64_t rows, FitPlan& plan);

EncoderPlan encoder_plan(const ModelSpec& spec, const FitOptions& options);

// What a fit's tensors take, about: rows, and for each member parameters, what the optimiser keeps, the work of a step.
struct FitBytes {
  double rows = 0.0, member = 0.0;
};
FitBytes bytes_of(const FitPlan& plan);
// UsageError when that is more than `free` bytes: how many members would fit.
void check_memory(const FitPlan& plan, double free);

}  // namespace ick
