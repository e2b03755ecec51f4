#include "train/evidence.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "posterior/bilinear.h"

namespace ick {

namespace {

const double kLog2Pi = std::log(2.0 * std::numbers::pi);

}  // namespace

at::Tensor exact_evidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y,
                          const at::Tensor& log_noise) {
  const auto n = static_cast<double>(x.size(0));
  const at::Tensor covariance =
      share * kernel.matrix(x, x)[0] + log_noise.exp() * at::eye(x.size(0), at::kDouble);  // (n, n)
  const at::Tensor factor = lower_factor(covariance);
  const at::Tensor columns = y.dim() == 1 ? y.unsqueeze(1) : y;  // (n, M)
  const at::Tensor whitened = at::linalg_solve_triangular(factor, columns, false);
  const double count = static_cast<double>(columns.size(1));
  return 0.5 * kLog2Pi + (factor.diagonal().log().sum() + 0.5 * whitened.square().sum() / count) / n;
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

}  // namespace

EvidenceSearch::EvidenceSearch(Kernel& kernel, const SumOfProducts& products, std::int64_t rows, Evidence evidence,
                               std::optional<double> log_noise)
    : kernel_(kernel),
      rows_(static_cast<double>(rows)),
      evidence_(std::move(evidence)),
      noise_held_(log_noise.has_value()),
      deviations_(prior_deviations(kernel, products)) {
  const double* raw = kernel.parameters().raw().data_ptr<double>();
  start_.assign(raw, raw + kernel.parameters().size());
  start_.push_back(log_noise.value_or(kStartLogNoise));
}

Evaluation EvidenceSearch::operator()(const std::vector<double>& at) {
  at::Tensor raw = kernel_.parameters().raw();
  raw.detach().copy_(at::tensor(at, at::kDouble).narrow(0, 0, raw.numel()).view_as(raw));
  at::Tensor log_noise = at::full({}, at.back(), at::kDouble).requires_grad_(true);
  raw.mutable_grad() = at::zeros_like(raw);
  const at::Tensor value = evidence_(log_noise);
  value.backward();
  Evaluation evaluation;
  evaluation.value = value.item<double>();
  evaluation.gradient.assign(raw.grad().data_ptr<double>(), raw.grad().data_ptr<double>() + raw.numel());
  evaluation.gradient.push_back(noise_held_ ? 0.0 : log_noise.grad().item<double>());
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double z = (at[i] - start_[i]) / deviations_[i];
    evaluation.value += 0.5 * z * z / rows_;
    evaluation.gradient[i] += z / (deviations_[i] * rows_);
  }
  return evaluation;
}

LbfgsResult EvidenceSearch::search(const std::vector<double>& from, int iterations, const LbfgsProgress& progress) {
  LbfgsOptions options;
  options.iterations = iterations;
  return minimise([this](const std::vector<double>& at) { return (*this)(at); }, from, options, progress);
}

}  // namespace ick
