#pragma once

#include <ATen/core/Tensor.h>

namespace ick {

// Lower Cholesky factors of symmetric matrices (..., n, n), with a little more on the diagonal if they need it.
// NumericError when all fails.
at::Tensor lower_factor(const at::Tensor& matrices);

// 1 / noise of each row, w_i / (s^2 + e_i), for weights w (n) and known errors e (n), either of which may be undefined.
at::Tensor precision_of_rows(const at::Tensor& weights, const at::Tensor& error, const at::Tensor& noise_variance);

}  // namespace ick
