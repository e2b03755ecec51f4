#include "ick/inference/direct.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "inference/bilinear.h"

namespace ick {

namespace {

constexpr std::int64_t kDirectRows = 4096;
constexpr std::int64_t kCandidates = 8192;  // rows that landmarks are chosen from

// Last layers of the first member, in float64: (1, n, .)
Pairs last_layers(const Model& model, const Batch& batch) {
  Pairs pairs = model.last_layers(batch, LayerPrior::even);
  for (BilinearFeatures& each : pairs) {
    if (each.left.defined()) each.left = each.left.narrow(0, 0, 1);
    each.right = each.right.narrow(0, 0, 1);
  }
  return in_double(pairs);
}

Pairs last_layers(const Model& model, const Dataset& rows) {
  std::vector<Pairs> blocks;
  const std::int64_t block = rows.block(kDirectRows);
  for (std::int64_t first = 0; first < rows.size(); first += block) {
    blocks.push_back(last_layers(model, batch_of(rows, first, std::min(block, rows.size() - first))));
  }
  return joined(blocks);
}

// Rows drawn one after the other in proportion to what the earlier ones leave of their variance (Chen et al. 2022),
// until next to nothing is left.
at::Tensor pivots(const Pairs& pairs, std::int64_t most, std::uint64_t seed) {
  constexpr double kTraceLeft = 1e-9;
  Random random(seed);
  at::Tensor left = diagonal(pairs)[0].clone();  // (n)
  const double total = left.sum().item<double>();
  const std::int64_t n = left.size(0), count = std::min(most, n);
  at::Tensor factor = at::zeros({count, n}, at::kDouble);
  std::vector<std::int64_t> chosen;
  while (std::ssize(chosen) < count) {
    const at::Tensor sums = left.cumsum(0);
    const double all = sums[n - 1].item<double>();
    if (all <= kTraceLeft * total) break;
    const std::int64_t pivot = std::min(
        n - 1, at::searchsorted(sums, at::scalar_tensor(random.uniform() * all, at::kDouble)).item<std::int64_t>());
    const std::int64_t step = std::ssize(chosen);
    at::Tensor column = gram(rows_of(pairs, at::tensor({pivot}, at::kLong)), pairs)[0][0];  // (n)
    if (step > 0) {
      const at::Tensor before = factor.narrow(0, 0, step);
      column = column - before.t().mv(before.select(1, pivot));
    }
    factor[step].copy_(column / column[pivot].sqrt());
    left = (left - factor[step].square()).clamp_min(0.0);
    left[pivot] = 0.0;
    chosen.push_back(pivot);
  }
  return at::tensor(chosen, at::kLong);
}

}  // namespace

LinearSums linear_sums(const Model& model, const Dataset& rows, double noise_variance, const at::Tensor& mean) {
  at::NoGradGuard no_grad;
  const std::int64_t width = model.features() + 1;
  LinearSums sums{at::zeros({width, width}, at::kDouble), at::zeros({width}, at::kDouble)};
  for (std::int64_t first = 0; first < rows.size(); first += kDirectRows) {
    const Batch batch = batch_of(rows, first, std::min(kDirectRows, rows.size() - first));
    const at::Tensor phi = model.linear_features(batch.x)[0];
    const at::Tensor y = mean.defined() ? batch.y - phi.mv(mean) : batch.y;
    if (!batch.weights.defined() && !batch.error.defined()) {
      sums.precision.addmm_(phi.t(), phi, 1.0, 1.0 / noise_variance);
      sums.right.addmv_(phi.t(), y, 1.0, 1.0 / noise_variance);
      continue;
    }
    const at::Tensor weights = batch.weights.defined() ? batch.weights[0].to(at::kDouble) : at::Tensor();
    const at::Tensor precision =
        precision_of_rows(weights, batch.error, at::full({}, noise_variance, at::kDouble)).expand({phi.size(0)});
    const at::Tensor weighted = phi * precision.unsqueeze(1);
    sums.precision.addmm_(phi.t(), weighted);
    sums.right.addmv_(weighted.t(), y);
  }
  return sums;
}

// A' = A + Phi' D^-1 Phi,   w' = w + A'^-1 Phi' D^-1 (y - Phi w),   from A = I, w = 0, D = s^2 and what rows add to it.
LinearPosterior linear_posterior(const Model& model, const Dataset& rows, double noise_variance,
                                 const LinearPosterior& before) {
  at::NoGradGuard no_grad;
  const LinearSums sums = linear_sums(model, rows, noise_variance, before.mean);
  const bool further = before.mean.defined();
  const at::Tensor known = further ? before.factor.matmul(before.factor.t()) : at::eye(sums.right.size(0), at::kDouble);
  const at::Tensor factor = lower_factor(known + sums.precision);
  const at::Tensor moved = at::cholesky_solve(sums.right.unsqueeze(1), factor).squeeze(1);
  return {further ? before.mean + moved : moved, factor};
}

std::vector<at::Tensor> rows_of_cells(const std::vector<std::int64_t>& cell_of) {
  std::vector<std::vector<std::int64_t>> rows;
  for (std::size_t i = 0; i < cell_of.size(); ++i) {
    if (cell_of[i] < 0) continue;
    rows.resize(std::max(rows.size(), static_cast<std::size_t>(cell_of[i]) + 1));
    rows[static_cast<std::size_t>(cell_of[i])].push_back(static_cast<std::int64_t>(i));
  }
  std::vector<at::Tensor> tensors;
  for (const std::vector<std::int64_t>& each : rows) tensors.push_back(at::tensor(each, at::kLong));
  return tensors;
}

Scales DirectVariance::scales(const Model& model, const Dataset& rows, std::uint64_t seed,
                              std::optional<double> noise_variance) {
  at::NoGradGuard no_grad;
  const Dataset few = rows.select(draw_rows(rows.size(), kEvidenceRows, seed_for(seed, "scale rows")));
  const Pairs pairs = last_layers(model, few);
  return find_scales(gram(pairs, pairs)[0], few.y, noise_variance);
}

DirectVariance::DirectVariance(const Model& model, const Dataset& rows, const Scales& scales, std::uint64_t seed)
    : amplitude_(scales.amplitude) {
  at::NoGradGuard no_grad;
  const Dataset some = rows.select(draw_rows(rows.size(), kCandidates, seed_for(seed, "landmark candidates")));
  const Pairs candidates = last_layers(model, some);
  landmarks_ = rows_of(candidates, pivots(candidates, kLandmarks, seed_for(seed, "landmarks")));
  cholesky_ = lower_factor(gram(landmarks_, landmarks_)[0]);
  at::Tensor a = at::eye(cholesky_.size(0), at::kDouble);
  const std::int64_t block = rows.block(kDirectRows);
  for (std::int64_t first = 0; first < rows.size(); first += block) {
    const Batch batch = batch_of(rows, first, std::min(block, rows.size() - first));
    const at::Tensor cross = gram(landmarks_, last_layers(model, batch))[0];  // (r, B)
    const at::Tensor psi = at::linalg_solve_triangular(cholesky_, cross, false);
    a.addmm_(psi, psi.t(), 1.0, scales.amplitude / scales.noise_variance);
  }
  factor_ = lower_factor(a);
}

DirectVariance::Parts DirectVariance::parts(const Model& model, const Batch& batch) const {
  at::NoGradGuard no_grad;
  const Pairs pairs = last_layers(model, batch);
  Parts found = parts(landmarks_, pairs);
  const std::vector<at::Tensor> residual = model.residuals(batch.x);
  for (std::size_t t = 0; t < residual.size(); ++t) found.left = found.left + missed(residual[t], pairs[t]);
  return found;
}

// k_t in place of k between landmarks and rows, and at rows.
at::Tensor DirectVariance::of_term(const Model& model, std::size_t t, const Batch& batch) const {
  at::NoGradGuard no_grad;
  const Pairs pairs = last_layers(model, batch);
  const Parts found = parts({landmarks_.at(t)}, {pairs.at(t)});
  return amplitude_ * (found.learned.square().sum(0) + found.left + missed(model.residuals(batch.x)[t], pairs[t]));
}

DirectVariance::Parts DirectVariance::parts(const Pairs& landmarks, const Pairs& rows) const {
  const at::Tensor psi = at::linalg_solve_triangular(cholesky_, gram(landmarks, rows)[0], false);  // (r, B)
  const at::Tensor left = (diagonal(rows)[0] - psi.square().sum(0)).clamp_min(0.0);
  return {at::linalg_solve_triangular(factor_, psi, false), left};
}

// What features miss of a term, over v: (B)
at::Tensor DirectVariance::missed(const at::Tensor& residual, const BilinearFeatures& pair) {
  if (!residual.defined()) return at::zeros({}, at::kDouble);
  return pair.left.defined() ? residual[0] * pair.left[0].square().sum(1) : residual[0];
}

at::Tensor DirectVariance::operator()(const Model& model, const Batch& batch) const {
  const Parts found = parts(model, batch);
  return amplitude_ * (found.learned.square().sum(0) + found.left);
}

TensorState DirectVariance::state() const {
  TensorState state = {{"direct.cholesky", cholesky_},
                       {"direct.factor", factor_},
                       {"direct.amplitude", at::full({1}, amplitude_, at::kDouble)}};
  for (std::size_t b = 0; b < landmarks_.size(); ++b) {
    const std::string name = "direct.pair" + std::to_string(b + 1);
    if (landmarks_[b].left.defined()) state.emplace_back(name + ".left", landmarks_[b].left);
    state.emplace_back(name + ".right", landmarks_[b].right);
  }
  return state;
}

DirectVariance::DirectVariance(const TensorState& state) {
  const auto find = [&](const std::string& name) { return find_tensor(state, name); };
  cholesky_ = find("direct.cholesky");
  factor_ = find("direct.factor");
  const at::Tensor amplitude = find("direct.amplitude");
  for (std::size_t b = 1; find("direct.pair" + std::to_string(b) + ".right").defined(); ++b) {
    const std::string name = "direct.pair" + std::to_string(b);
    landmarks_.push_back({find(name + ".left"), find(name + ".right")});
  }
  if (!cholesky_.defined() || !factor_.defined() || !amplitude.defined() || landmarks_.empty()) {
    throw DataError("a tensor of the last layers' posterior is missing");
  }
  amplitude_ = amplitude[0].item<double>();
}

}  // namespace ick
