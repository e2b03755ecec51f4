#pragma once

#include <ATen/core/Tensor.h>

#include "ick/kernel/kernel.h"

// What every map checks on the way in and out.
namespace ick {

// x (n, D) as contiguous float64. UsageError for another shape.
at::Tensor checked_rows(const at::Tensor& x, const Kernel& kernel);

// z itself. When it is not finite: DataError that names the input, or NumericError that names the parameter.
at::Tensor checked_features(const at::Tensor& z, const at::Tensor& x, const Kernel& kernel);

[[noreturn]] void throw_not_positive_definite(const Kernel& kernel);

}  // namespace ick
