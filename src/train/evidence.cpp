#include "train/evidence.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "model/lower_factor.h"
#include "train/fused_evidence.h"

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

namespace {

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

std::vector<FusedTerm> fused_terms(const Kernel& kernel, const at::Tensor& x) {
  std::vector<FusedTerm> terms;
  for (const std::vector<Factor>& factors : kernel.terms()) {
    std::vector<FusedFactor> fused;
    std::vector<at::Tensor> columns;
    int inputs = 0;
    for (const Factor& f : factors) {
      check_levels(f, x);
      fused.push_back({f.row->index, f.structure, static_cast<int>(f.first_parameter), inputs});
      columns.push_back(Kernel::embed(f, x));
      inputs += f.structure.inputs;
    }
    terms.push_back({FusedProduct(std::move(fused)), numbers_of(at::cat(columns, 1)), inputs});
  }
  return terms;
}

// The cost as one node of the graph, with the derivatives that came along.
struct KnownSlopes : torch::autograd::Function<KnownSlopes> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& raw,
                            const at::Tensor& log_noise, const at::Tensor& d_raw, const FusedEvidence::Value& value) {
    context->save_for_backward({d_raw, at::full_like(log_noise, value.d_log_noise)});
    return at::full({}, value.cost, raw.options());
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {gradients[0] * saved[0], gradients[0] * saved[1], at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool fuses(const Kernel& kernel) {
  for (const std::vector<Factor>& factors : kernel.terms()) {
    if (!std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.row->fuses(); })) return false;
  }
  return true;
}

ExactEvidence::ExactEvidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y)
    : kernel_(kernel),
      share_(share),
      x_(x),
      y_(y),
      fused_(!fuses(kernel) ? nullptr
                            : std::make_shared<const FusedEvidence>(fused_terms(kernel, x),
                                                                    static_cast<int>(kernel.parameters().size()), share,
                                                                    numbers_of(y), static_cast<int>(x.size(0)))) {}

at::Tensor ExactEvidence::operator()(const at::Tensor& log_noise) const {
  if (fused_ == nullptr) return exact_evidence(kernel_, share_, x_, y_, log_noise);
  const at::Tensor& raw = kernel_.parameters().raw();  // (1, P)
  const std::vector<ParameterSet::Column> columns = kernel_.parameters().columns();
  std::vector<double> theta = numbers_of(raw);
  at::Tensor d_raw = at::zeros_like(raw);
  for (std::size_t i = 0; i < theta.size(); ++i) {
    if (!columns[i].fixed) d_raw.data_ptr<double>()[i] = constrain_slope(columns[i].constraint, theta[i]);
    theta[i] = constrain(columns[i].constraint, theta[i]);
  }
  const auto found = (*fused_)(theta.data(), log_noise.item<double>());
  if (!found) {
    throw NumericError("a covariance of the training rows has no Cholesky factor; bound the kernel's parameters");
  }
  for (std::size_t i = 0; i < theta.size(); ++i) d_raw.data_ptr<double>()[i] *= found->d_theta[i];
  return KnownSlopes::apply(raw, log_noise, d_raw, *found);
}

at::Tensor linear_evidence(const Model& model, const Dataset& rows, const at::Tensor& log_noise) {
  const auto n = static_cast<double>(rows.size());
  const at::Tensor phi = model.linear_features(rows.x)[0];  // (n, P + 1)
  const at::Tensor eye = at::eye(phi.size(1), at::kDouble);
  const auto left_out = [&] {  // what the features miss of the kernels: (n)
    const at::Tensor variance = model.prior_variance(rows.x)[0];
    return (variance - phi.narrow(1, 0, phi.size(1) - 1).square().sum(1)).clamp_min(0.0);
  };
  if (!rows.weights.defined() && !rows.error.defined()) {
    const at::Tensor precision = (-log_noise).exp();  // 1 / s^2
    const at::Tensor factor = lower_factor(eye + precision * phi.t().matmul(phi));
    const at::Tensor explained =
        precision * at::linalg_solve_triangular(factor, phi.t().mv(rows.y).unsqueeze(1), false);
    const at::Tensor twice = n * (kLog2Pi + log_noise) + 2.0 * factor.diagonal().log().sum() +
                             precision * rows.y.square().sum() - explained.square().sum();
    return (twice + precision * left_out().sum()) / (2.0 * n);
  }
  const at::Tensor precision = precision_of_rows(rows.weights, rows.error, log_noise.exp());  // (n)
  const at::Tensor weighted = phi * precision.unsqueeze(1);
  const at::Tensor factor = lower_factor(eye + phi.t().matmul(weighted));
  const at::Tensor explained = at::linalg_solve_triangular(factor, weighted.t().mv(rows.y).unsqueeze(1), false);
  const at::Tensor twice = n * kLog2Pi - precision.log().sum() + 2.0 * factor.diagonal().log().sum() +
                           (precision * (rows.y.square() + left_out())).sum() - explained.square().sum();
  return twice / (2.0 * n);
}

namespace {

constexpr double kWide = 3.0, kNarrow = 0.2;  // of raw numbers: logarithms, mostly

std::vector<double> prior_deviations(const Kernel& kernel, const KernelSum& products) {
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

EvidenceSearch::EvidenceSearch(Kernel& kernel, const KernelSum& products, std::int64_t rows, Evidence evidence,
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

CostAndGradient EvidenceSearch::operator()(const std::vector<double>& at) {
  at::Tensor raw = kernel_.parameters().raw();
  raw.detach().copy_(at::tensor(at, at::kDouble).narrow(0, 0, raw.numel()).view_as(raw));
  at::Tensor log_noise = at::full({}, at.back(), at::kDouble).requires_grad_(true);
  raw.mutable_grad() = at::zeros_like(raw);
  const at::Tensor value = evidence_(log_noise);
  value.backward();
  CostAndGradient evaluation;
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

LbfgsResult EvidenceSearch::search(const std::vector<double>& from, int iterations, const LbfgsProgress& progress,
                                   const std::vector<double>& units) {
  LbfgsOptions options;
  options.iterations = iterations;
  const auto measured = [&](std::vector<double> numbers, bool up) {
    for (std::size_t i = 0; i < units.size(); ++i) numbers[i] *= up ? units[i] : 1.0 / units[i];
    return numbers;
  };
  const auto cost = [&](const std::vector<double>& at) {
    CostAndGradient found = (*this)(measured(at, true));
    found.gradient = measured(std::move(found.gradient), true);
    return found;
  };
  LbfgsResult found = minimise(cost, measured(from, false), options, progress);
  found.x = measured(std::move(found.x), true);
  return found;
}

}  // namespace ick
