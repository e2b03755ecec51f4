#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "ick/inference/direct.h"
#include "inference/engines.h"
#include "inference/parts.h"
#include "inference/stage.h"

// One trained network and the posterior of its last layers: Laplace's approximation, Bayesian last layer.
namespace ick {

namespace {

class LaplacePosterior : public FunctionPosterior {
 public:
  LaplacePosterior(std::shared_ptr<const Model> model, DirectVariance direct)
      : FunctionPosterior(std::move(model)), direct_(std::move(direct)) {}

  const Engine& engine() const override { return engine_named("laplace"); }

  FunctionMoments at(const Batch& batch, const Likelihood& likelihood) const override {
    return {members(batch, likelihood)[0], direct_(model(), batch)};
  }

  at::Tensor draws(const Batch& batch, const Likelihood&, std::int64_t count, std::uint64_t seed) const override {
    const DirectVariance::Parts parts = direct_.parts(model(), batch);
    const at::Tensor f = model()(batch)[0].to(at::kDouble);  // (B)
    return f + std::sqrt(amplitude()) * (function_normals(count, parts.learned.size(0), seed).matmul(parts.learned) +
                                         parts.left.sqrt() * independent_normals(batch, count, seed));
  }

  FunctionParts parts(const Batch& batch) const override {
    return parts_of_members(
        model(), batch, moments_of_mixture, [&](std::size_t t) { return model().term(t, batch); },
        [&](std::size_t t) { return direct_.of_term(model(), t, batch); });
  }

  TensorState tensors() const override { return direct_.state(); }
  double amplitude() const override { return direct_.amplitude(); }

 private:
  DirectVariance direct_;
};

void choose(const ModelSpec& spec, FitOptions& options, std::vector<Message>&) {
  const std::string asked = setting("posterior", options.posterior);
  if (options.perturbation != Perturbation::none) {
    throw UsageError(setting("perturbation") + " is for " + setting("posterior", "ensemble") +
                     "; laplace is one model");
  }
  if (options.members > 1) {
    throw UsageError(asked + " is one model; leave " + setting("members") + " out, or use " +
                     setting("posterior", "ensemble"));
  }
  options.members = 1;
  one_network_each(spec, asked);
}

std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  descend_and_polish(stage, run);
  if (run.before != nullptr) {
    stage.take_scales({run.before->amplitude, run.before->noise_variance});
  } else {
    Scales scales =
        DirectVariance::scales(stage.model(), stage.training(), stage.options().seed, stage.stated_noise_variance());
    scales.noise_variance = std::max(scales.noise_variance, kLeastNoise * kLeastNoise);
    stage.set_scales(scales);
  }
  return std::make_shared<LaplacePosterior>(
      stage.shared_model(),
      DirectVariance(stage.model(), stage.training(), stage.standard_scales(), stage.options().seed));
}

std::shared_ptr<const FunctionPosterior> restore(std::shared_ptr<const Model> model, const TensorState& tensors, double,
                                                 bool) {
  return std::make_shared<LaplacePosterior>(std::move(model), DirectVariance(tensors));
}

}  // namespace

Engine laplace_engine() {
  Engine engine{"laplace", "one trained network, the posterior of its last layer"};
  engine.trains = true;
  engine.choose = choose;
  engine.bytes = descent_bytes;
  engine.seconds = descent_seconds;
  engine.fit = fit;
  engine.restore = restore;
  return engine;
}

}  // namespace ick
