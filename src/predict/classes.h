#pragma once

#include "ick/predict/composite.h"

namespace ick {

// The most probable class of each row, and the set of those whose probability is at least 1 - threshold.
void choose_classes(Prediction& prediction, double threshold);

// The temperature that makes the classes seen most likely, given the functions of members (E, n, C) or (E, n) and the
// class of each row (n): golden sections over its logarithm, which is N(0, 1/2^2) before there are rows: without an
// error among them it would vanish.
double fit_temperature(const Likelihood& likelihood, const at::Tensor& functions, const at::Tensor& y);

}  // namespace ick
