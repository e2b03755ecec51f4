#include "model/lower_factor.h"

#include <ATen/ATen.h>

#include "ick/base/error.h"

namespace ick {

at::Tensor lower_factor(const at::Tensor& matrices) {
  const at::Tensor size = matrices.diagonal(0, -2, -1).mean(-1, true).unsqueeze(-1);
  at::Tensor with_jitter = matrices;
  for (double jitter = 1e-10; jitter < 1e-3; jitter *= 100.0) {
    const auto [factor, info] = at::linalg_cholesky_ex(with_jitter);
    if (info.eq(0).all().item<bool>() && factor.diagonal(0, -2, -1).isfinite().all().item<bool>()) return factor;
    with_jitter = matrices + jitter * size * at::eye(matrices.size(-1), matrices.options());
  }
  throw NumericError("a covariance of the training rows has no Cholesky factor; bound the kernel's parameters");
}

at::Tensor precision_of_rows(const at::Tensor& weights, const at::Tensor& error, const at::Tensor& noise_variance) {
  const at::Tensor precision = 1.0 / (error.defined() ? noise_variance + error : noise_variance);
  return weights.defined() ? weights * precision : precision;
}

}  // namespace ick
