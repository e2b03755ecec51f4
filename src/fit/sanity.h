#pragma once

#include <vector>

#include "ick/fit/fit.h"
#include "ick/inference/function_posterior.h"
#include "inference/stage.h"

// A look at a model before it is kept: what no user would want to find out later.
namespace ick {

// Before anything else is computed of it: rows not seen are predicted worse than by the mean of the training rows, or
// points in the box of its inputs far beyond the target's range. Then another start is worth its time.
bool looks_wrong(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& training,
                 const Dataset& unseen, std::uint64_t seed);

// Points in the box of the inputs are predicted far beyond the range of the target.
bool is_wild(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& training,
             std::uint64_t seed);

// Mean squared error at rows not seen, standardised; infinite where it is not a number.
double unseen_error(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& unseen);

// Sentences with advice about a finished model of numbers; none where nothing is odd.
std::vector<Message> odd_things(const Table& table, const FitPlan& plan, const Stage& stage, const Fit& fit);

}  // namespace ick
