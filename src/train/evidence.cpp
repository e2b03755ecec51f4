#include "train/evidence.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ick/base/error.h"
#include "model/lower_factor.h"
#include "neighbour/search.h"
#include "train/fused_evidence.h"
#include "train/known_slopes.h"

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

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

namespace {

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

}  // namespace

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
  const at::Tensor natural = kernel_.parameters().natural().detach().contiguous();  // (1, P)
  const auto found = (*fused_)(natural.data_ptr<double>(), log_noise.item<double>());
  if (!found) {
    throw NumericError("a covariance of the training rows has no Cholesky factor; bound the kernel's parameters");
  }
  return known_slopes(kernel_.parameters(), log_noise, found->cost, found->d_theta, found->d_log_noise);
}

at::Tensor linear_evidence(const Model& model, const Dataset& rows, const at::Tensor& log_noise,
                           const LastingNoise& lasting) {
  const auto n = static_cast<double>(rows.size());
  const at::Tensor phi = model.linear_features(rows.x)[0];  // (n, P + 1)
  const at::Tensor eye = at::eye(phi.size(1), at::kDouble);
  const auto left_out = [&] {  // what the features miss of the kernels: (n)
    const at::Tensor variance = model.prior_variance(rows.x)[0];
    return (variance - phi.narrow(1, 0, phi.size(1) - 1).square().sum(1)).clamp_min(0.0);
  };
  if (!rows.weights.defined() && !rows.error.defined()) {
    const at::Tensor precision = (-log_noise).exp();  // 1 / s^2
    at::Tensor psi = phi, y = rows.y;
    double determinant = 0.0;  // log|noise / s^2|
    if (lasting.lasts()) {
      const auto [times, order] = rows.x.select(1, lasting.column).sort(0);
      psi = whitened(lasting, times, phi.index_select(0, order));
      y = whitened(lasting, times, y.index_select(0, order).unsqueeze(1)).squeeze(1);
      determinant = log_determinant(lasting, times);
    }
    const at::Tensor factor = lower_factor(eye + precision * psi.t().matmul(psi));
    const at::Tensor explained = precision * at::linalg_solve_triangular(factor, psi.t().mv(y).unsqueeze(1), false);
    const at::Tensor twice = n * (kLog2Pi + log_noise) + determinant + 2.0 * factor.diagonal().log().sum() +
                             precision * y.square().sum() - explained.square().sum();
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

// A large variance with long lengthscales is as likely as a small one with short ones where all rows are near others,
// and absurd where none is: the cost of a row rises by this much for each square of the logarithm beyond ten times the
// target's variance.
constexpr double kWall = 1e-3, kMostVariance = 10.0;

}  // namespace

EvidenceSearch::EvidenceSearch(Kernel& kernel, std::int64_t rows, Evidence evidence, std::optional<double> log_noise)
    : kernel_(kernel),
      rows_(static_cast<double>(rows)),
      evidence_(std::move(evidence)),
      columns_(kernel.parameters().columns()) {
  walls_.assign(columns_.size() + 1, std::numeric_limits<double>::infinity());
  for (const Parameter& each : kernel.parameters().parameters()) {
    const bool scales = each.unit == Unit::target_squared && each.constraint.kind == Constraint::Kind::positive;
    if (!scales || each.stated) continue;
    std::fill_n(walls_.begin() + each.first, each.count, std::log(kMostVariance));
  }
  columns_.push_back({Constraint::real(), log_noise.has_value(), kNoisePrior});
  const double* raw = kernel.parameters().raw().data_ptr<double>();
  start_.assign(raw, raw + kernel.parameters().size());
  start_.push_back(log_noise.value_or(kStartLogNoise));
}

void EvidenceSearch::place(const std::vector<double>& at) const {
  const at::Tensor raw = kernel_.parameters().raw();
  raw.detach().copy_(at::tensor(at, at::kDouble).narrow(0, 0, raw.numel()).view_as(raw));
}

CostAndGradient EvidenceSearch::operator()(const std::vector<double>& at) {
  at::Tensor raw = kernel_.parameters().raw();
  place(at);
  at::Tensor log_noise = at::full({}, at.back(), at::kDouble).requires_grad_(true);
  raw.mutable_grad() = at::zeros_like(raw);
  const at::Tensor value = evidence_(log_noise);
  value.backward();
  CostAndGradient evaluation;
  evaluation.value = value.item<double>();
  evaluation.gradient.assign(raw.grad().data_ptr<double>(), raw.grad().data_ptr<double>() + raw.numel());
  evaluation.gradient.push_back(log_noise.grad().item<double>());
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (columns_[i].fixed) {
      evaluation.gradient[i] = 0.0;
      continue;
    }
    evaluation.value += columns_[i].prior.cost(at[i]) / rows_;
    evaluation.gradient[i] += columns_[i].prior.slope(at[i]) / rows_;
    const double beyond = std::max(0.0, at[i] - walls_[i]);
    evaluation.value += kWall * beyond * beyond;
    evaluation.gradient[i] += 2.0 * kWall * beyond;
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

// Differences of the gradient, over steps that are short beside what they measure. (F, F)
at::Tensor EvidenceSearch::curvature(const std::vector<double>& at, const std::vector<std::int64_t>& free,
                                     double told) {
  constexpr double kStep = 1e-3, kOfSd = 0.02;
  const auto gradient = [&](std::int64_t column, double step) {  // of the rows' cost
    std::vector<double> there = at, found;
    there[column] += step;
    const std::vector<double> all = (*this)(there).gradient;
    for (const std::int64_t i : free) found.push_back(told * (all[i] - columns_[i].prior.slope(there[i]) / rows_));
    return at::tensor(found, at::kDouble);
  };
  std::vector<at::Tensor> rows;
  for (std::size_t f = 0; f < free.size(); ++f) {
    const Prior& prior = columns_[free[f]].prior;
    const double of_prior = std::pow(at[free[f]] < prior.centre ? prior.below : prior.above, -2.0);
    double step = kStep;
    for (int trial = 0; trial < 3; ++trial) {
      at::Tensor row = (gradient(free[f], step) - gradient(free[f], -step)) / (2.0 * step);
      row[static_cast<std::int64_t>(f)] += of_prior;
      const double own = row[static_cast<std::int64_t>(f)].item<double>();
      if (trial == 0) rows.emplace_back();
      rows.back() = row;
      const double wanted = kOfSd / std::sqrt(std::abs(own));
      if (step <= 5.0 * wanted) break;
      step = wanted;
    }
  }
  const at::Tensor found = at::stack(rows);
  return 0.5 * (found + found.t());
}

RawSpread EvidenceSearch::spread(const std::vector<double>& at, std::int64_t told) {
  constexpr std::size_t kMost = 60;  // numbers: two evaluations each
  constexpr double kMostAway = 0.5;  // sds of the posterior, from the mode
  std::vector<std::int64_t> free;
  std::vector<double> prior_sd, slope;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].fixed) continue;
    free.push_back(static_cast<std::int64_t>(i));
    prior_sd.push_back(std::max(columns_[i].prior.below, columns_[i].prior.above));
  }
  if (free.empty() || free.size() > kMost) return {};
  RawSpread found;
  try {
    const at::Tensor s = at::tensor(prior_sd, at::kDouble);
    const auto rows = static_cast<double>(told);
    const at::Tensor a = curvature(at, free, rows);
    const auto [l, v] = at::linalg_eigh(s.unsqueeze(1) * a * s);
    const at::Tensor root = s.unsqueeze(1) * v * l.clamp_min(1.0).rsqrt();  // of the covariance: (F, F)
    const std::vector<double> gradient = (*this)(at).gradient;              // leaves the parameters there
    for (const std::int64_t i : free) {
      const double of_prior = columns_[i].prior.slope(at[i]);
      slope.push_back(rows * (gradient[i] - of_prior / rows_) + of_prior);
    }
    const double away = root.t().mv(at::tensor(slope, at::kDouble)).norm().item<double>();
    if (!(away < kMostAway)) return {};
    found.mode.assign(at.begin(), at.end() - 1);
    found.sd.assign(found.mode.size(), std::numeric_limits<double>::quiet_NaN());
    const std::vector<double> sd = numbers_of(root.square().sum(1).sqrt());
    for (std::size_t f = 0; f < free.size(); ++f) {
      if (free[f] < std::ssize(found.sd)) found.sd[free[f]] = sd[f];
    }
  } catch (const NumericError&) {
    place(at);
    return {};
  }
  return found;
}

}  // namespace ick
