#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ick/base/seed.h"
#include "ick/likelihood/likelihood.h"
#include "inference/engines.h"
#include "inference/golden_section.h"
#include "inference/stage.h"

// The marginal likelihood takes errors for independent. Where they go together over days or over a region, a short
// lengthscale takes last year's weather for the season. Parts that are left out whole tell the two apart.
namespace ick {

namespace {

constexpr std::int64_t kRowsLookedAt = 8192;  // that are looked at
constexpr double kClearGain = 0.005;          // nats a row

// The most likely log s^2 for features as they are. With Phi'Phi = U diag(l) U', q = U'Phi'y, missed = sum_i (k_ii - z_i.z_i):
//   -2 log p = n log s^2 + sum log(1 + l / s^2) + (y'y + missed) / s^2 - sum q^2 / (s^2 (s^2 + l))
double likely_log_noise(const Model& model, const Dataset& rows) {
  const at::Tensor phi = model.linear_features(rows.x)[0];  // (n, P + 1)
  const auto [values, vectors] = at::linalg_eigh(phi.t().matmul(phi));
  const at::Tensor l = values.clamp_min(0.0), q = vectors.t().mv(phi.t().mv(rows.y)).square();
  const at::Tensor carried = phi.narrow(1, 0, phi.size(1) - 1).square().sum(1);
  const double missed = (model.prior_variance(rows.x)[0] - carried).clamp_min(0.0).sum().item<double>();
  const double squares = rows.y.square().sum().item<double>() + missed;
  const auto cost = [&](double log_noise) {
    const double s2 = std::exp(log_noise);
    return static_cast<double>(rows.size()) * log_noise + (l / s2).log1p().sum().item<double>() + squares / s2 -
           (q / (s2 * (s2 + l))).sum().item<double>();
  };
  const double least = 2.0 * std::log(kLeastNoise), most = std::log(10.0);  // of the target's variance
  return golden_section(least, most, 1e-3, cost);
}

// Mean -log density of rows in parts left out, parts alike.
double left_out_cost(const FunctionPosterior& posterior, const Dataset& rows, const std::vector<LeftOutParts>& all,
                     double noise_variance) {
  double sum = 0.0, count = 0.0;
  for (const LeftOutParts& parts : all) {
    const std::vector<FunctionMoments> found = posterior.left_out(rows, parts.cell_of, parts.folds, noise_variance);
    for (std::size_t f = 0; f < found.size(); ++f) {
      const at::Tensor y = rows.y.index_select(0, at::tensor(parts.folds[f].rows, at::kLong));
      const at::Tensor variance = found[f].variance + noise_variance;
      sum += 0.5 * (variance.log() + (y - found[f].mean).square() / variance).mean().item<double>();
      count += 1.0;
    }
  }
  return sum / count;
}

}  // namespace

void lengthen(Stage& stage) {
  const at::NoGradGuard no_grad;
  const Dataset rows = stage.training().select(
      draw_rows(stage.training().size(), kRowsLookedAt, seed_for(stage.options().seed, "rows to lengthen by")));
  std::vector<LeftOutParts> parts;
  for (const bool futures : {false, true}) {  // the same for blocks of space, where one suffices
    std::optional<LeftOutParts> found = stage.left_out_parts(rows, futures);
    if (found && (parts.empty() || found->cell_of != parts[0].cell_of)) parts.push_back(std::move(*found));
  }
  if (parts.empty()) return;
  const bool plain = !rows.weights.defined() && !rows.error.defined();
  const bool free_noise = plain && !stage.stated_noise_variance();
  Model& model = stage.model();
  ParameterSet& set = model.kernel().parameters();
  const auto cost_now = [&] {
    model.place_maps(stage.training());
    if (free_noise) stage.set_noise(std::max(kLeastNoise, std::exp(0.5 * likely_log_noise(model, rows))));
    const double s2 = stage.standard_noise() * stage.standard_noise();
    return left_out_cost(*solve_features(stage.shared_model(), rows, s2), rows, parts, s2);
  };
  double best = cost_now();
  for (const Parameter& each : set.parameters()) {
    const bool length = each.path.ends_with(".lengthscale") && each.constraint.kind == Constraint::Kind::positive;
    if (each.fixed || !length) continue;
    const at::Tensor start = set.raw().detach().clone();
    at::Tensor chosen = start;
    double noise = stage.standard_noise();
    for (const double factor : {2.0, 4.0, 8.0}) {
      set.raw().detach().copy_(start).narrow(1, each.first, each.count).add_(std::log(factor));
      const double cost = cost_now();
      if (cost > best - kClearGain) continue;
      best = cost;
      chosen = set.raw().detach().clone();
      noise = stage.standard_noise();
    }
    set.raw().detach().copy_(chosen);
    stage.set_noise(noise);
  }
  model.place_maps(stage.training());
}

}  // namespace ick
