#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "ick/fit/fit.h"

// The noise of an observation, learned from rows that a model has not seen.
namespace ick {

// Predictions of some rows of the table by models that had not seen them, in the target's units (of its logarithm for log
// targets).
struct Unseen {
  Dataset rows;               // y standardised
  at::Tensor mean, variance;  // of the function: (n) in float64; of classes the functions of members (E, n, C)
  at::Tensor y;               // (n)
  Scaling scaling;            // by which targets and errors of rows are standardised
  at::Tensor parts = {};      // of the function, see term_losses.h: (1 + T, n), or undefined
};

// The noise that makes the observations most likely: the minimum over t = log s^2 of
//   sum_i w_i (log(v_i + s^2 g_i) + (y_i - m_i)^2 / (v_i + s^2 g_i))
// by a grid and golden sections. `shape` g (n) and `weights` w (n), undefined: all one. `unit` is the target's standard
// deviation.
double fit_noise(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& y, const at::Tensor& shape,
                 double unit, const at::Tensor& weights = {});

// sigma ~ ..., for a table with this target. UsageError or DataError when it cannot be.
ModelSpec parse_noise_formula(const Table& table, const std::string& target, const FitOptions& options);

// A model of log (y - m)^2, fitted on these rows of the table. Its mean is log sigma^2, up to a constant.
std::shared_ptr<const CompositePredictor> fit_noise_model(const Table& table, const std::string& target,
                                                          const FitOptions& options, const Unseen& unseen,
                                                          const FitHooks& hooks);

}  // namespace ick
