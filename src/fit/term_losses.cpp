#include "fit/term_losses.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "ick/base/seed.h"
#include "model/row_cost.h"

namespace ick {

namespace {

constexpr std::int64_t kCentreRows = 2000;  // that the level of a term is the mean over

Dataset rows_of_centres(const Stage& stage) {
  return stage.training().subset(
      draw_rows(stage.training().size(), kCentreRows, seed_for(stage.options().seed, "centres of terms")));
}

// In the target's units, (n) in float64.
at::Tensor means_of(const Predictive& predictive, const at::Tensor& location, const at::Tensor& scale) {
  at::Tensor means = location.to(at::kDouble).clone().contiguous();
  for (std::int64_t i = 0; i < means.size(0); ++i) {
    double& mean = means.data_ptr<double>()[i];
    mean = predictive.moments(mean, scale.data_ptr<double>()[i]).mean;
  }
  return means;
}

// Root mean square of what was seen less the means, and what each row adds to it: (n)
struct RootMeanSquare {
  double value = 0.0;
  at::Tensor slopes;
};
RootMeanSquare rmse_of(const at::Tensor& means, const at::Tensor& seen, const at::Tensor& weights) {
  const at::Tensor squares = (means - seen).square();
  const double square = (weights * squares).sum().item<double>() / weights.sum().item<double>();
  const double value = std::sqrt(square);
  return {value, weights * (squares - square) / (2.0 * value * weights.sum())};
}

// Of a sum over rows, by the sums of the blocks.
double error_of_sum(const at::Tensor& added, const std::vector<std::vector<std::int64_t>>& blocks) {
  const at::Tensor each = added.contiguous();
  double variance = 0.0;
  for (const std::vector<std::int64_t>& block : blocks) {
    double sum = 0.0;
    for (const std::int64_t i : block) sum += each.data_ptr<double>()[i];
    variance += sum * sum;
  }
  const auto count = static_cast<double>(blocks.size());
  return count > 1.0 ? std::sqrt(variance * count / (count - 1.0)) : std::nan("");
}

}  // namespace

at::Tensor centres_of(const Stage& stage, const FunctionPosterior& posterior) {
  return parts_at(posterior, rows_of_centres(stage)).mean.mean(1);
}

at::Tensor centred_parts(const Stage& stage, const FunctionPosterior& posterior, const Dataset& unseen) {
  const at::NoGradGuard no_grad;
  const Likelihood& likelihood = likelihood_of(stage.options());
  if (likelihood.has_classes()) return {};
  const FunctionParts parts = parts_at(posterior, unseen);
  std::vector<at::Tensor> all = {(parts.mean.sum(0) + parts.constant).unsqueeze(0),
                                 parts.mean - centres_of(stage, posterior).unsqueeze(1)};
  if (const at::Tensor offset = unseen.row_offset(); offset.defined()) {
    all.push_back((offset - rows_of_centres(stage).row_offset().mean()).to(at::kDouble).unsqueeze(0));
  }
  return at::cat(all) * (likelihood.link == Link::identity ? stage.encoder().target_scaling.sd : 1.0);
}

void add_losses(const CompositePredictor& model, const Unseen& unseen, const Located& located,
                std::vector<TermShare>& terms) {
  if (!unseen.parts.defined() || located.blocks.empty()) return;
  const auto told = static_cast<std::size_t>(unseen.parts.size(0)) - 1;
  const std::size_t of_model = model.spec().terms.size();
  const Predictive predictive = model.predictive();
  const at::Tensor seen = at::tensor(located.seen, at::kDouble);
  const at::Tensor weights = located.weights.defined() ? located.weights.to(at::kDouble) : at::ones_like(seen);
  const bool identity = model.likelihood->link == Link::identity;
  at::Tensor f = unseen.parts[0];
  if (const at::Tensor offset = unseen.rows.row_offset(); offset.defined()) f = f + offset;
  // the mean of an observation when `less` is taken off the function
  const auto rmse = [&](const at::Tensor& less) {
    const at::Tensor location = identity ? located.location - less : mean_at(*model.likelihood, f - less);
    return rmse_of(means_of(predictive, location, located.scale), seen, weights);
  };
  const RootMeanSquare whole = rmse(at::zeros_like(f));
  for (std::size_t t = 0; t < terms.size(); ++t) {
    // trees and an offset stand in one column: neither is known by itself
    if (t >= told || (t >= of_model && terms.size() > told)) continue;
    const RootMeanSquare without = rmse(unseen.parts[static_cast<std::int64_t>(t) + 1]);
    terms[t].rmse_lost = without.value - whole.value;
    terms[t].rmse_lost_error = error_of_sum(without.slopes - whole.slopes, located.blocks);
  }
}

}  // namespace ick
