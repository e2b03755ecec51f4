#include <ATen/ATen.h>

#include <algorithm>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "inference/beside.h"
#include "inference/engines.h"
#include "inference/stage.h"

// Networks trained from different starts: their spread is what is not known.
namespace ick {

namespace {

// (E, B) -> mean and mean square about it: the members are taken as a mixture.
FunctionMoments moments_of_mixture(const at::Tensor& f) {
  const at::Tensor mean = f.mean(0);
  return {mean, (f - mean).square().mean(0)};
}

class EnsemblePosterior : public FunctionPosterior {
 public:
  // In models of format 1 the noise had what features miss of kernels.
  // `carried`: terms of which neighbours carry what features miss.
  EnsemblePosterior(std::shared_ptr<const Model> model, bool counts_missed, std::vector<std::size_t> carried = {})
      : FunctionPosterior(std::move(model)), counts_missed_(counts_missed), carried_(std::move(carried)) {}

  const Engine& engine() const override { return engine_named("ensemble"); }

  FunctionMoments at(const Batch& batch, const Likelihood& likelihood) const override {
    if (!counts_missed_ || likelihood.link != Link::identity) return moments_of_mixture(members(batch, likelihood));
    const auto [f, missed] = with_missed(batch);
    FunctionMoments found = moments_of_mixture(f.to(at::kDouble));
    found.variance = found.variance + missed.mean(0);
    return found;
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
};

void choose(const ModelSpec&, FitOptions& options, std::vector<Message>&) {
  if (options.perturbation == Perturbation::noise && options.noise == 0.0) {
    throw UsageError(setting("perturbation", "noise") + " adds noise to the targets and has to know how much: give " +
                     setting("noise"));
  }
}

std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  descend_and_polish(stage, run);
  return ensemble_or_neighbours(stage, run);
}

std::shared_ptr<const FunctionPosterior> restore(std::shared_ptr<const Model> model, const TensorState&, double,
                                                 bool counts_missed) {
  return std::make_shared<EnsemblePosterior>(std::move(model), counts_missed);
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
  return engine;
}

}  // namespace ick
