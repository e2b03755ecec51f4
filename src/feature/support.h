#pragma once

#include <ATen/core/Tensor.h>

#include "ick/kernel/kernel.h"

// What every map checks on the way in and out.
namespace ick {

// x (n, D) as contiguous float64. UsageError for another shape, DataError that names the row and the input that is not
// finite, NumericError that names the parameter that is not.
at::Tensor checked_rows(const at::Tensor& x, const Kernel& kernel);

// z itself. NumericError when it is not finite.
at::Tensor checked_features(const at::Tensor& z);

[[noreturn]] void throw_not_positive_definite(const Kernel& kernel);

}  // namespace ick
