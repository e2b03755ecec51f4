#include <ATen/ATen.h>

#include <algorithm>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "inference/beside.h"
#include "inference/engines.h"
#include "inference/last_layers.h"
#include "inference/parts.h"
#include "inference/stage.h"

// Networks trained from different starts: their spread is what is not known.
namespace ick {

namespace {

class EnsemblePosterior : public FunctionPosterior {
 public:
  // In models of format 1 the noise had what features miss of kernels.
  // `carried`: terms of which neighbours carry what features miss. `sums`: of last layers in closed form, where kept.
  EnsemblePosterior(std::shared_ptr<const Model> model, bool counts_missed, std::vector<std::size_t> carried = {},
                    LastLayerSums sums = {})
      : FunctionPosterior(std::move(model)),
        counts_missed_(counts_missed),
        carried_(std::move(carried)),
        sums_(std::move(sums)) {}

  const Engine& engine() const override { return engine_named("ensemble"); }

  FunctionMoments at(const Batch& batch, const Likelihood& likelihood) const override {
    if (!counts_missed_ || likelihood.link != Link::identity) return moments_of_mixture(members(batch, likelihood));
    const auto [f, missed] = with_missed(batch);
    FunctionMoments found = moments_of_mixture(f.to(at::kDouble));
    found.variance = found.variance + missed.mean(0);
    return found;
  }

  FunctionParts parts(const Batch& batch) const override {
    const auto is_missed = [&](std::size_t t) {
      return counts_missed_ && std::find(carried_.begin(), carried_.end(), t) == carried_.end();
    };
    return parts_of_members(
        model(), batch, moments_of_mixture, [&](std::size_t t) { return model().term(t, batch); },
        [&](std::size_t t) {
          return is_missed(t) ? model().missed_variance_of(t, batch).mean(0)
                              : at::zeros({batch.x.size(0)}, at::kDouble);
        });
  }

  // Members in turn, from one drawn at random, and what features miss by itself in each row.
  at::Tensor draws(const Batch& batch, const Likelihood& likelihood, std::int64_t count,
                   std::uint64_t seed) const override {
    const auto [f, missed] = with_missed(batch);  // (E, B)
    const std::int64_t first = Random(seed_for(seed, "member")).below(model().members());
    const at::Tensor which = (at::arange(count, at::kLong) + first).remainder(model().members());
    const at::Tensor drawn = f.to(at::kDouble).index_select(0, which);
    return counts_missed_ && likelihood.link == Link::identity
               ? drawn + missed.index_select(0, which).sqrt() * independent_normals(batch, count, seed)
               : drawn;
  }

  TensorState tensors() const override { return sums_.tensors(); }
  const LastLayerSums& sums() const { return sums_; }
  bool counts_missed() const { return counts_missed_; }

 private:
  std::pair<at::Tensor, at::Tensor> with_missed(const Batch& batch) const {
    auto [f, missed] = model().with_missed_variance(batch);
    if (carried_.empty()) return {f, missed};
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> of_terms = model().residuals(batch.x);
    for (const std::size_t t : carried_) missed = missed - of_terms[t];
    return {f, missed.clamp_min(0.0)};
  }

  bool counts_missed_;
  std::vector<std::size_t> carried_;
  LastLayerSums sums_;
};

void choose(const ModelSpec&, FitOptions& options, std::vector<Message>&) {
  if (options.perturbation == Perturbation::noise && options.noise == 0.0) {
    throw UsageError(setting("perturbation", "noise") + " adds noise to the targets and has to know how much: give " +
                     setting("noise"));
  }
}

// Last layers in closed form are kept with what further rows need to solve them again, where that is small.
std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  descend_and_polish(stage, run);
  auto posterior = ensemble_or_neighbours(stage, run);
  const StageOutcome outcome = stage.outcome();
  const Dataset& rows = stage.training();
  if (!outcome.polished || outcome.neighbours || LastLayerSums::bytes_of(stage.model(), rows) > kMostLastLayerBytes) {
    return posterior;
  }
  LastLayerSums sums = LastLayerSums::of_prior(
      stage.model(), rows, last_layer_precision(stage.model(), rows, stage.options().seed, outcome.linear_share));
  sums.add(stage.model(), rows);
  return std::make_shared<EnsemblePosterior>(stage.shared_model(), true, std::vector<std::size_t>(), std::move(sums));
}

std::shared_ptr<const FunctionPosterior> restore(std::shared_ptr<const Model> model, const TensorState& tensors, double,
                                                 bool counts_missed) {
  return std::make_shared<EnsemblePosterior>(std::move(model), counts_missed, std::vector<std::size_t>(),
                                             LastLayerSums::restore(tensors));
}

std::shared_ptr<const FunctionPosterior> take_in(const FunctionPosterior& before, std::shared_ptr<Model> model,
                                                 const Dataset& rows, double, std::uint64_t) {
  const auto& known = dynamic_cast<const EnsemblePosterior&>(before);
  LastLayerSums sums = known.sums();
  sums.add(*model, rows);
  sums.solve_into(*model, rows);
  return std::make_shared<EnsemblePosterior>(std::move(model), known.counts_missed(), std::vector<std::size_t>(),
                                             std::move(sums));
}

}  // namespace

std::shared_ptr<const FunctionPosterior> ensemble_posterior(std::shared_ptr<const Model> model,
                                                            std::vector<std::size_t> carried) {
  return std::make_shared<EnsemblePosterior>(std::move(model), true, std::move(carried));
}

Engine ensemble_engine() {
  Engine engine{"ensemble", "members trained from different starts; their spread"};
  engine.trains = true;
  engine.any_likelihood = true;
  engine.row_terms = true;
  engine.choose = choose;
  engine.bytes = descent_bytes;
  engine.seconds = descent_seconds;
  engine.fit = fit;
  engine.restore = restore;
  engine.take_in = take_in;
  return engine;
}

}  // namespace ick
