#pragma once

#include <string>
#include <string_view>

#include "ick/baseline/baseline.h"

// What files of baselines have in common.
namespace ick {

// A tensor of a rule that was kept, in float64 and dense. DataError when it is not there, or has another number of axes.
at::Tensor kept_tensor(const TensorState& tensors, std::string_view name, std::int64_t axes = 1);

// Weights of rows (n): one where the formula has none.
at::Tensor weights_or_one(const Dataset& rows);

}  // namespace ick
