#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ick/baseline/baseline.h"
#include "train/evidence.h"  // numbers_of()

// What files of baselines have in common.
namespace ick {

// A tensor of a rule that was kept, in float64 and dense. DataError when it is not there, or has another number of axes.
at::Tensor kept_tensor(const TensorState& tensors, std::string_view name, std::int64_t axes = 1);

// The same as numbers: so many, or any number of them (-1). DataError for one that is not finite.
std::vector<double> kept_numbers(const TensorState& tensors, std::string_view name, std::int64_t count = -1);
[[noreturn]] void refuse_kept(std::string_view name);  // DataError: the baseline's `name` makes no sense

}  // namespace ick
