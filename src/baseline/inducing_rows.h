#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "baseline/process_kernel.h"

namespace ick {

// Rows (n, inputs) that explain the others, at most `count`, by randomly pivoted Cholesky factorisation (Chen, Epperly,
// Tropp and Webber 2023): the next row is drawn in proportion to the variance that those before leave. Fewer where they
// explain all but a millionth of every row's. Beyond kMostInducingRows the rows are thinned by a draw. Returns their
// numbers, in int64.
inline constexpr std::int64_t kMostInducingRows = 8192;
at::Tensor inducing_rows(const ProcessKernel& kernel, const at::Tensor& inputs, std::int64_t count, std::uint64_t seed);

}  // namespace ick
