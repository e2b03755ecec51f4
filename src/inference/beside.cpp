#include "inference/beside.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "inference/stage.h"
#include "train/warm_start.h"

namespace ick {

namespace {

constexpr char kModelPrefix[] = "neighbours.model.";

// var r / k(x, x): the share of the residuals' kernel that neighbours leave unknown, (B).
at::Tensor unknown_share(const ResidualProcess& residuals, const at::Tensor& x, const FunctionMoments& near) {
  const at::NoGradGuard no_grad;
  const at::Tensor prior = residuals.unit * residuals.unit * residuals.model->prior_variance(x)[0];
  return (near.variance / prior.clamp_min(1e-300)).clamp(0.0, 1.0);
}

// That share of sum_t (k_t(x, x) - |z_t(x)|^2): (B), what features miss of the terms that neighbours carry. Residuals say
// what is left between rows. Far from all rows it is more: there features, too, know nothing.
at::Tensor missed_far_away(const Model& model, const ResidualProcess& residuals, const at::Tensor& x,
                           const FunctionMoments& near) {
  const at::NoGradGuard no_grad;
  const at::Tensor unknown = unknown_share(residuals, x, near);
  const std::vector<at::Tensor> of_terms = model.residuals(x);
  at::Tensor missed = at::zeros_like(unknown);
  for (const std::size_t t : residuals.terms) missed = missed + of_terms[t].mean(0);
  return unknown * missed.clamp_min(0.0);
}

class WithNeighbours : public FunctionPosterior {
 public:
  WithNeighbours(std::shared_ptr<const Model> model, ResidualProcess residuals)
      : FunctionPosterior(model),
        ensemble_(ensemble_posterior(model, residuals.terms)),
        residuals_(std::move(residuals)) {}

  const Engine& engine() const override { return engine_named("ensemble"); }

  FunctionMoments at(const Batch& batch, const Likelihood& likelihood) const override {
    return together(model(), residuals_, ensemble_->at(batch, likelihood), residuals_.at(batch.x), batch.x);
  }

  FunctionParts parts(const Batch& batch) const override {
    FunctionParts all = ensemble_->parts(batch);
    const FunctionParts near = residuals_.process->parts(batch.x);
    const double square = residuals_.unit * residuals_.unit;
    const at::Tensor unknown = unknown_share(residuals_, batch.x, residuals_.at(batch.x));
    for (std::size_t i = 0; i < residuals_.terms.size(); ++i) {
      const auto own = static_cast<std::int64_t>(i), t = static_cast<std::int64_t>(residuals_.terms[i]);
      all.mean[t] += residuals_.unit * near.mean[own];
      all.variance[t] += square * near.variance[own] +
                         unknown * model().missed_variance_of(residuals_.terms[i], batch).mean(0).clamp_min(0.0);
    }
    all.constant = all.constant + residuals_.unit * near.constant;
    return all;
  }

  at::Tensor draws(const Batch& batch, const Likelihood& likelihood, std::int64_t count,
                   std::uint64_t seed) const override {
    const std::uint64_t own = seed_for(seed, "neighbours");
    const at::Tensor near = residuals_.process->draws(batch.x, count, own, independent_normals(batch, count, own));
    const at::Tensor missed = missed_far_away(model(), residuals_, batch.x, residuals_.at(batch.x));
    return ensemble_->draws(batch, likelihood, count, seed) + residuals_.unit * near +
           missed.sqrt() * independent_normals(batch, count, seed_for(seed, "far away"));
  }

  TensorState tensors() const override {
    TensorState all = residuals_.process->tensors();
    std::vector<double> terms(residuals_.terms.begin(), residuals_.terms.end());
    all.emplace_back("neighbours.terms", at::tensor(terms, at::kDouble));
    all.emplace_back("neighbours.unit", at::full({1}, residuals_.unit, at::kDouble));
    for (const auto& [name, tensor] : residuals_.model->state()) all.emplace_back(kModelPrefix + name, tensor);
    return all;
  }

  const ResidualProcess& residuals() const { return residuals_; }

 private:
  std::shared_ptr<const FunctionPosterior> ensemble_;
  ResidualProcess residuals_;
};

// The variance of a product is that of its first kernel with a parameter in the target's unit. Where it is the same
// everywhere it is at most that of the residuals, `most`: neighbours tell its ratio to the lengthscale, not its size,
// and rows far from all others would have any variance. What a formula states is of the whole term.
void bound_variance(KernelProduct& product, double most) {
  constexpr double kLeast = 1e-4, kStart = 0.5;  // of it
  for (KernelSpec& kernel : product) {
    for (const KernelRow& row : kernel_table()) {
      if (row.name != kernel.name) continue;
      for (const ParameterDeclaration& each : row.parameters) {
        if (each.unit != Unit::target_squared) continue;
        std::erase_if(kernel.arguments, [&](const Argument& argument) { return argument.name == each.name; });
        if (row.rank != nullptr) return;
        Argument bounded;
        bounded.name = each.name;
        bounded.kind = Argument::Kind::bounded;
        bounded.values = {{kStart * most, ""}};
        bounded.low = {kLeast * most, ""};
        bounded.high = {most, ""};
        kernel.arguments.push_back(std::move(bounded));
        return;
      }
    }
  }
}

// The terms as a model of their own: one member, no features to speak of. What the formula states of lengthscales and
// periods is held. `most` is the residuals' variance in the target's unit.
ModelSpec spec_of_residuals(const ModelSpec& spec, const std::vector<std::size_t>& terms, double most) {
  ModelSpec own = spec;
  own.terms.clear();
  for (const std::size_t t : terms) {
    TermSpec& term = own.terms.emplace_back(spec.terms.at(t));
    term.map = MapKind::nystrom;
    term.placement = Placement::automatic;
    term.features = 1;
    term.stated_features = true;
    term.train_points = false;
    for (KernelProduct& product : term.kernels) bound_variance(product, most);
  }
  return own;
}

// Residuals are the target, in their own standard deviation, of a model of their own.
Encoder encoder_of_residuals(Encoder encoder, double unit) {
  encoder.target_scaling = {0.0, unit * encoder.target_scaling.sd};
  return encoder;
}

// Of rows, or of the state that it was kept as. `encoder` is that of the residuals.
std::shared_ptr<Model> model_of(const ModelSpec& spec, const std::vector<std::size_t>& terms, const Encoder& encoder,
                                const auto& rows_or_state, std::uint64_t seed) {
  ModelOptions options;
  options.seed = seed;
  const double variance = encoder.target_scaling.sd * encoder.target_scaling.sd;
  return std::make_shared<Model>(spec_of_residuals(spec, terms, variance), encoder, rows_or_state, options);
}

}  // namespace

std::vector<std::size_t> terms_beside(const ModelSpec& spec) {
  std::vector<std::size_t> found;
  if (spec.kernels_only()) return found;
  for (std::size_t t = 0; t < spec.terms.size(); ++t) {
    const TermSpec& term = spec.terms[t];
    if (term.networks.empty() && !term.kernels.empty()) found.push_back(t);
  }
  return found;
}

FunctionMoments ResidualProcess::at(const at::Tensor& x, const NeighbourSearch::Admits& admits) const {
  const FunctionMoments found = process->at(x, admits);
  return {unit * found.mean, unit * unit * found.variance};
}

std::vector<FunctionMoments> ResidualProcess::left_out(const std::vector<std::int64_t>& cell_of,
                                                       const std::vector<LeftOut>& folds) const {
  std::vector<FunctionMoments> found = process->left_out(cell_of, folds);
  for (FunctionMoments& each : found) each = {unit * each.mean, unit * unit * each.variance};
  return found;
}

FunctionMoments together(const Model& model, const ResidualProcess& residuals, const FunctionMoments& of_networks,
                         const FunctionMoments& near, const at::Tensor& x) {
  return {of_networks.mean + near.mean,
          of_networks.variance + near.variance + missed_far_away(model, residuals, x, near)};
}

const ResidualProcess* residuals_beside(const FunctionPosterior& posterior) {
  const auto* const with = dynamic_cast<const WithNeighbours*>(&posterior);
  return with == nullptr ? nullptr : &with->residuals();
}

ResidualProcess fit_residuals(const ModelSpec& spec, const std::vector<std::size_t>& terms, const Encoder& encoder,
                              const Dataset& rows, const at::Tensor& residuals, std::uint64_t seed,
                              const std::function<void()>& tick) {
  ResidualProcess found;
  found.terms = terms;
  found.unit = std::max(kLeastNoise, std::sqrt(residuals.square().mean().item<double>()));
  Dataset own;  // what kernels read, and residuals for targets
  own.x = rows.x_of(0, rows.size());
  own.y = residuals / found.unit;
  own.weights = rows.row_weights();
  own.error = rows.row_error();
  if (own.error.defined()) own.error = own.error / (found.unit * found.unit);
  own.rows = rows.rows;
  const Encoder of_residuals = encoder_of_residuals(encoder, found.unit);
  const auto model = model_of(spec, terms, of_residuals, own, seed_for(seed, "residuals"));
  const auto keep_going = [&] {
    if (tick) tick();
    return true;
  };
  const double log_noise =
      warm_start(*model, of_residuals, own, likelihood_named("gaussian"), seed_for(seed, "residuals"), keep_going);
  at::Tensor noise = at::full({own.size()}, std::max(std::exp(log_noise), kLeastNoise * kLeastNoise), at::kDouble);
  if (own.error.defined()) noise = noise + own.error;
  if (own.weights.defined()) noise = noise / own.weights.to(at::kDouble);
  found.model = model;
  found.process = std::make_shared<const NeighbourProcess>(model, own.x, own.y, noise, seed_for(seed, "neighbours"),
                                                           tick, NeighbourProcess::Smooth::elsewhere);
  return found;
}

std::shared_ptr<const FunctionPosterior> with_neighbours(std::shared_ptr<const Model> model,
                                                         ResidualProcess residuals) {
  return std::make_shared<WithNeighbours>(std::move(model), std::move(residuals));
}

std::shared_ptr<const FunctionPosterior> restore_neighbours(std::shared_ptr<const Model> model, const Encoder& encoder,
                                                            const TensorState& tensors) {
  const at::Tensor terms = find_tensor(tensors, "neighbours.terms"), unit = find_tensor(tensors, "neighbours.unit");
  if (!terms.defined()) return nullptr;
  const std::vector<std::size_t> possible = terms_beside(model->spec());
  ResidualProcess found;
  for (std::int64_t i = 0; terms.dim() == 1 && i < terms.size(0); ++i) {
    const double each = terms[i].item<double>();
    const auto term =
        std::find_if(possible.begin(), possible.end(), [&](std::size_t t) { return static_cast<double>(t) == each; });
    if (term != possible.end()) found.terms.push_back(*term);
  }
  const bool whole = !found.terms.empty() && std::ssize(found.terms) == terms.numel() && unit.defined() &&
                     unit.numel() == 1 && unit.item<double>() > 0.0;
  if (!whole) throw DataError("it does not say which terms of the formula the rows it keeps belong to");
  found.unit = unit.item<double>();
  TensorState state;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(kModelPrefix)) state.emplace_back(name.substr(std::size(kModelPrefix) - 1), tensor);
  }
  const auto own = model_of(model->spec(), found.terms, encoder_of_residuals(encoder, found.unit), state, 0);
  found.process = std::make_shared<const NeighbourProcess>(own, tensors);
  found.model = own;
  return with_neighbours(std::move(model), std::move(found));
}

}  // namespace ick
