#include "train/evidence.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ick/base/error.h"

namespace ick {

namespace {

const double kLog2Pi = std::log(2.0 * std::numbers::pi);

}  // namespace

at::Tensor lower_factor(const at::Tensor& matrix) {
  const double size = matrix.diagonal().mean().item<double>();
  at::Tensor with_jitter = matrix;
  for (double jitter = 1e-10; jitter < 1e-3; jitter *= 100.0) {
    const auto [factor, info] = at::linalg_cholesky_ex(with_jitter);
    if (info.item<int>() == 0 && factor.diagonal().isfinite().all().item<bool>()) return factor;
    with_jitter = matrix + jitter * size * at::eye(matrix.size(0), at::kDouble);
  }
  throw NumericError("a covariance of the training rows has no Cholesky factor; bound the kernel's parameters");
}

at::Tensor exact_evidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y,
                          const at::Tensor& log_noise) {
  const auto n = static_cast<double>(x.size(0));
  const at::Tensor covariance =
      share * kernel.matrix(x, x)[0] + log_noise.exp() * at::eye(x.size(0), at::kDouble);  // (n, n)
  const at::Tensor factor = lower_factor(covariance);
  const at::Tensor whitened = at::linalg_solve_triangular(factor, y.unsqueeze(1), false);
  return 0.5 * kLog2Pi + (factor.diagonal().log().sum() + 0.5 * whitened.square().sum()) / n;
}

at::Tensor linear_evidence(const Model& model, const at::Tensor& x, const at::Tensor& y, const at::Tensor& log_noise) {
  const auto n = static_cast<double>(x.size(0));
  const at::Tensor phi = model.linear_features(x)[0];  // (n, P + 1)
  const at::Tensor precision = (-log_noise).exp();     // 1 / s^2
  const at::Tensor a = at::eye(phi.size(1), at::kDouble) + precision * phi.t().matmul(phi);
  const at::Tensor factor = lower_factor(a);
  const at::Tensor explained = precision * at::linalg_solve_triangular(factor, phi.t().mv(y).unsqueeze(1), false);
  at::Tensor twice = n * (kLog2Pi + log_noise) + 2.0 * factor.diagonal().log().sum() + precision * y.square().sum() -
                     explained.square().sum();
  const at::Tensor kernel_variance = model.prior_variance(x)[0];                 // (n)
  const at::Tensor carried = phi.narrow(1, 0, phi.size(1) - 1).square().sum(1);  // (n)
  twice = twice + precision * (kernel_variance - carried).clamp_min(0.0).sum();
  return twice / (2.0 * n);
}

namespace {
constexpr double kWide = 3.0, kNarrow = 0.2;  // of raw numbers: logarithms, mostly
}

void add_weak_prior(const std::vector<double>& at, const std::vector<double>& start, double rows,
                    Evaluation& evaluation, const std::vector<double>& deviations) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double deviation = deviations.empty() ? kWide : deviations[i];
    const double z = (at[i] - start[i]) / deviation;
    evaluation.value += 0.5 * z * z / rows;
    evaluation.gradient[i] += z / (deviation * rows);
  }
}

std::vector<double> prior_deviations(const Kernel& kernel, const SumOfProducts& products) {
  std::vector<double> deviations(kernel.parameters().size() + 1, kWide);
  for (std::size_t t = 0; t < products.size(); ++t) {
    for (std::size_t f = 0; f < products[t].size(); ++f) {
      const Factor& factor = kernel.terms()[t][f];
      for (const Parameter& each : kernel.parameters().parameters()) {
        const std::int64_t end = factor.first_parameter + factor.parameter_count;
        if (each.first < factor.first_parameter || each.first >= end) continue;
        const std::string name = each.path.substr(each.path.rfind('.') + 1);
        if (products[t][f].find(name) == nullptr) continue;
        std::fill_n(deviations.begin() + each.first, each.count, kNarrow);
      }
    }
  }
  return deviations;
}

LinearPosterior linear_posterior(const Model& model, const at::Tensor& x, const at::Tensor& y, double noise_variance) {
  at::NoGradGuard no_grad;
  constexpr std::int64_t kBlock = 8192;
  at::Tensor a, b;
  for (std::int64_t first = 0; first < x.size(0); first += kBlock) {
    const std::int64_t count = std::min(kBlock, x.size(0) - first);
    const at::Tensor phi = model.linear_features(x.narrow(0, first, count))[0];
    if (!a.defined()) {
      a = at::eye(phi.size(1), at::kDouble);
      b = at::zeros({phi.size(1)}, at::kDouble);
    }
    a.addmm_(phi.t(), phi, 1.0, 1.0 / noise_variance);
    b.addmv_(phi.t(), y.narrow(0, first, count), 1.0, 1.0 / noise_variance);
  }
  const at::Tensor factor = lower_factor(a);
  return {at::cholesky_solve(b.unsqueeze(1), factor).squeeze(1), factor};
}

}  // namespace ick
