#include <ATen/ATen.h>

#include <cmath>

#include "model/row_cost.h"
#include "train/objective.h"

namespace ick {

namespace {

constexpr double kStartVariance = 0.1;        // s^2, of a standardised target
constexpr double kLeastProbability = 1e-300;  // whose logarithm is finite

class LikelihoodObjective : public Objective {
 public:
  LikelihoodObjective(const Likelihood& likelihood, std::int64_t members) : likelihood_(likelihood) {
    if (!likelihood_.learns_scale) return;
    log_noise_ = at::full({members}, std::log(kStartVariance), at::kDouble).requires_grad_(true);
  }

  at::Tensor loss(const Model& model, const Batch& batch, const std::optional<at::Generator>& training) const override {
    at::Tensor f = model(batch, training);  // (E, B) or (E, B, C)
    if (shifts(batch)) f = f + batch.offset.to(f.scalar_type());
    const at::Tensor each = row_costs(likelihood_, f, batch.y, log_noise_, batch.error);
    return (batch.weights.defined() ? each * batch.weights : each).mean(1);
  }

  std::vector<at::Tensor> parameters() const override {
    return log_noise_.defined() ? std::vector{log_noise_} : std::vector<at::Tensor>();
  }

  std::unique_ptr<FusedStep> fused(const Model& model) const override {
    return FusedStep::fits(model) ? std::make_unique<FusedStep>(model, likelihood_, log_noise_) : nullptr;
  }

  // Squares for numbers; else -log p of what was seen under the mean over members.
  Sum validate(const at::Tensor& functions, const Batch& batch) const override {
    at::Tensor f = functions.to(at::kDouble), costs;  // (B)
    const at::Tensor log_scale = log_noise_.defined() ? log_noise_.detach().mean().unsqueeze(0) : at::Tensor();
    if (shifts(batch)) f = f + batch.offset;
    if (likelihood_.link == Link::identity) {
      costs = (f.mean(0) - batch.y).square();
    } else if (likelihood_.has_classes()) {
      const at::Tensor p = probabilities(likelihood_, f).mean(0);  // (B, C)
      costs = -p.gather(1, batch.y.to(at::kLong).unsqueeze(1)).clamp_min(kLeastProbability).log().squeeze(1);
    } else {
      const at::Tensor mean = mean_at(likelihood_, f).mean(0, true);
      const at::Tensor at_mean = likelihood_.link == Link::log ? mean.log() : at::logit(mean);
      costs = row_costs(likelihood_, at_mean, batch.y, log_scale).squeeze(0);
    }
    const std::int64_t count = costs.size(0);
    if (!batch.weights.defined() && !batch.error.defined()) {
      return {costs.sum().item<double>(), static_cast<double>(count)};
    }
    // a row counts by its weight, and less the larger the known error of its measurement is: s^2 / (s^2 + e)
    at::Tensor each = batch.weights.defined() ? batch.weights[0].to(at::kDouble) : at::ones({count}, at::kDouble);
    if (batch.error.defined()) each = each / (1.0 + batch.error / log_scale.exp());
    return {(costs * each).sum().item<double>(), each.sum().item<double>()};
  }

  double score(double mean_cost, double unit) const override {
    return likelihood_.link == Link::identity ? unit * std::sqrt(mean_cost) : mean_cost;
  }

  std::string_view measure() const override {
    if (likelihood_.link == Link::identity) return "rmse";
    return likelihood_.has_classes() ? "log_loss" : "nlpd";
  }

  double noise() const override {
    return log_noise_.defined() ? log_noise_.detach().exp().mean().sqrt().item<double>() : 0.0;
  }

 private:
  // Standardised targets are taken less their offset.
  bool shifts(const Batch& batch) const { return batch.offset.defined() && likelihood_.link != Link::identity; }

  const Likelihood& likelihood_;
  at::Tensor log_noise_;  // (E) log s^2, a leaf, of likelihoods that learn one
};

}  // namespace

std::unique_ptr<Objective> likelihood_objective(const Model& model, const FitOptions& options) {
  return std::make_unique<LikelihoodObjective>(likelihood_of(options), model.members());
}

}  // namespace ick
