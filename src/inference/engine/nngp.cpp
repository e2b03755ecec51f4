#include <ATen/ATen.h>

#include "inference/bilinear.h"
#include "inference/drawn.h"
#include "inference/engines.h"
#include "inference/parts.h"

// Draws from the posterior of the last layers, hidden layers as they were drawn: GP(0, v K_nngp K_2) for wide networks.
namespace ick {

namespace {

class NngpPosterior : public FunctionPosterior {
 public:
  NngpPosterior(std::shared_ptr<const Model> model, double amplitude)
      : FunctionPosterior(std::move(model)), amplitude_(amplitude) {}

  const Engine& engine() const override { return engine_named("nngp"); }

  FunctionMoments at(const Batch& batch, const Likelihood& likelihood) const override {
    FunctionMoments found = moments_of_draws(members(batch, likelihood));
    found.variance = found.variance + missed(batch);
    return found;
  }

  FunctionParts parts(const Batch& batch) const override {
    const std::vector<at::Tensor> missed = missed_of_terms(batch);
    return parts_of_members(
        model(), batch, moments_of_draws, [&](std::size_t t) { return model().term(t, batch); },
        [&](std::size_t t) { return missed[t]; });
  }

  at::Tensor draws(const Batch& batch, const Likelihood&, std::int64_t count, std::uint64_t seed) const override {
    return some_members(model()(batch).to(at::kDouble), count, seed) +
           missed(batch).sqrt() * independent_normals(batch, count, seed);
  }

  double amplitude() const override { return amplitude_; }

 private:
  // The variance that features leave out of the kernels of each term, (B), all outputs alike.
  std::vector<at::Tensor> missed_of_terms(const Batch& batch) const {
    std::vector<at::Tensor> missed;
    const Pairs layers = model().last_layers(batch, LayerPrior::start);
    const std::vector<at::Tensor> residual = model().residuals(batch.x);
    for (std::size_t t = 0; t < residual.size(); ++t) {
      if (!residual[t].defined()) {
        missed.push_back(at::zeros({batch.x.size(0)}, at::kDouble));
        continue;
      }
      const at::Tensor each = layers[t].left.defined() ? residual[t] * layers[t].left.square().sum(2) : residual[t];
      missed.push_back(amplitude_ * each.mean(0));
    }
    return missed;
  }
  at::Tensor missed(const Batch& batch) const { return at::stack(missed_of_terms(batch)).sum(0); }

  double amplitude_;
};

std::shared_ptr<const FunctionPosterior> solved(std::shared_ptr<Model> model, const Dataset& rows, double amplitude,
                                                double noise_variance, std::uint64_t seed, const Tick& tick) {
  draw_last_layers(*model, rows, {amplitude, noise_variance}, seed, tick);
  return std::make_shared<NngpPosterior>(std::move(model), amplitude);
}

std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  prepare_draws(stage, run, LinearKind::nngp);
  const Scales scales = stage.standard_scales();
  return solved(stage.shared_model(), stage.training(), scales.amplitude, scales.noise_variance, stage.options().seed,
                stage.tick());
}

}  // namespace

Engine nngp_engine() {
  Engine engine{"nngp",
                "draws from the exact posterior of wide networks whose last layer is learned; solved, not trained"};
  engine.draws = true;
  engine.has_bias = false;
  engine.choose = choose_draws;
  engine.bytes = [](const FitSizes& sizes, const FitOptions& options) { return drawn_bytes(sizes, options, 1.0); };
  engine.seconds = [](Model& model, const FitOptions& options, const Dataset& some, double rows) {
    return drawn_seconds(model, options, some, rows,
                         [&](const Dataset& few) { draw_last_layers(model, few, Scales{}, options.seed); });
  };
  engine.fit = fit;
  engine.restore = [](std::shared_ptr<const Model> model, const TensorState&, double amplitude,
                      bool) -> std::shared_ptr<const FunctionPosterior> {
    return std::make_shared<NngpPosterior>(std::move(model), amplitude);
  };
  engine.solve_again = [](std::shared_ptr<Model> model, const Dataset& rows, double amplitude, double noise_variance,
                          std::uint64_t seed) {
    return solved(std::move(model), rows, amplitude, noise_variance, seed, {});
  };
  return engine;
}

}  // namespace ick
