#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/row_cost.h"
#include "train/trainer.h"

namespace ick {

namespace {

constexpr double kLeastProbability = 1e-300;  // whose logarithm is finite

}  // namespace

// Root mean square error of the mean over members for numbers; else -log p of what was seen under that mean.
double Trainer::validate() const {
  if (validation_ == nullptr) return std::numeric_limits<double>::quiet_NaN();
  at::NoGradGuard no_grad;
  const std::int64_t rows = validation_->size(), block = validation_->block(4096);
  const bool numbers = likelihood_.link == Link::identity;
  const at::Tensor log_scale = log_noise_.defined() ? log_noise_.detach().mean().unsqueeze(0) : at::Tensor();
  double sum = 0.0, weight = 0.0;
  const std::int64_t blocks = (rows + block - 1) / block;
  for (std::int64_t first = 0; first < rows; first += block) {
    if (!sharing_->takes(first / block, blocks)) continue;
    const std::int64_t count = std::min(block, rows - first);
    Batch batch = ick::batch_of(*validation_, first, count);
    for (const at::Tensor& each : validation_features_) {
      batch.features.push_back(each.defined() ? each.narrow(1, first, count) : each);
    }
    at::Tensor f = functions(batch).to(at::kDouble), costs;  // (B)
    if (!numbers && batch.offset.defined()) f = f + batch.offset;
    if (numbers) {
      costs = (f.mean(0) - batch.y).square();
    } else if (likelihood_.has_classes()) {
      const at::Tensor p = probabilities(likelihood_, f).mean(0);  // (B, C)
      costs = -p.gather(1, batch.y.to(at::kLong).unsqueeze(1)).clamp_min(kLeastProbability).log().squeeze(1);
    } else {
      const at::Tensor mean = mean_at(likelihood_, f).mean(0, true);
      const at::Tensor at_mean = likelihood_.link == Link::log ? mean.log() : at::logit(mean);
      costs = row_costs(likelihood_, at_mean, batch.y, log_scale).squeeze(0);
    }
    if (!batch.weights.defined() && !batch.error.defined()) {
      sum += costs.sum().item<double>();
      weight += static_cast<double>(count);
      continue;
    }
    // a row counts by its weight, and less the larger the known error of its measurement is: s^2 / (s^2 + e)
    at::Tensor each = batch.weights.defined() ? batch.weights[0].to(at::kDouble) : at::ones({count}, at::kDouble);
    if (batch.error.defined()) each = each / (1.0 + batch.error / log_scale.exp());
    sum += (costs * each).sum().item<double>();
    weight += each.sum().item<double>();
  }
  const double mean = sharing_->total(sum) / sharing_->total(weight);
  return numbers ? unit_ * std::sqrt(mean) : mean;
}

}  // namespace ick
