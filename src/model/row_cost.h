#pragma once

#include <ATen/core/Tensor.h>

#include "ick/likelihood/likelihood.h"

// A likelihood on tensors.
namespace ick {

// What each row costs, -log p(y | f): (E, B), differentiable in f (E, B), of several classes (E, B, C), and in
// log_scale (E), log s^2, which is undefined for likelihoods that learn no scale. y (B) or (E, B). `error` (B) or
// undefined: known variances that are added to s^2. In the type of f, with a scale in float64.
at::Tensor row_costs(const Likelihood& likelihood, const at::Tensor& f, const at::Tensor& y,
                     const at::Tensor& log_scale = {}, const at::Tensor& error = {});

// The mean of an observation, link^-1(f), for all but classes.
at::Tensor mean_at(const Likelihood& likelihood, const at::Tensor& f);

// The probability of each class, f over a temperature: (E, B, C) in float64. For two classes those of both.
at::Tensor probabilities(const Likelihood& likelihood, const at::Tensor& f, double temperature = 1.0);

}  // namespace ick
