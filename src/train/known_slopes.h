#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ick/kernel/parameter.h"

namespace ick {

// A cost whose derivatives came along with it, as one node of the graph: () in float64, differentiable in the raw
// parameters of one member and in log_noise (). `d_theta` (P) are derivatives in natural parameters.
at::Tensor known_slopes(const ParameterSet& parameters, const at::Tensor& log_noise, double cost,
                        const std::vector<double>& d_theta, double d_log_noise);

}  // namespace ick
