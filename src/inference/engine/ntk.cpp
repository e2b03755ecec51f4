#include <ATen/ATen.h>

#include "ick/base/error.h"
#include "inference/bilinear.h"
#include "inference/drawn.h"
#include "inference/engines.h"
#include "inference/parts.h"

// The same for all weights of networks linearised where they were drawn: GP(0, v K_ntk K_2) for wide networks.
namespace ick {

namespace {

class NtkPosterior : public FunctionPosterior {
 public:
  // `weights` of Model::tangents(), (E, I, J) each
  NtkPosterior(std::shared_ptr<const Model> model, std::vector<at::Tensor> weights, double amplitude)
      : FunctionPosterior(std::move(model)), weights_(std::move(weights)), amplitude_(amplitude) {}

  const Engine& engine() const override { return engine_named("ntk"); }

  FunctionMoments at(const Batch& batch, const Likelihood&) const override {
    FunctionMoments found = moments_of_draws(functions(batch));
    found.variance = found.variance + missed(batch);
    return found;
  }

  at::Tensor draws(const Batch& batch, const Likelihood&, std::int64_t count, std::uint64_t seed) const override {
    return some_members(functions(batch), count, seed) + missed(batch).sqrt() * independent_normals(batch, count, seed);
  }

  FunctionParts parts(const Batch& batch) const override {
    std::size_t first = 0;  // weight of the next term
    return parts_of_members(
        model(), batch, moments_of_draws,
        [&](std::size_t t) {
          const Pairs own = model().tangents_of(t, batch);
          const auto from = weights_.begin() + static_cast<std::ptrdiff_t>(first);
          first += own.size();
          return product(own, {from, from + std::ssize(own)});
        },
        [&](std::size_t t) {
          const Pairs left_out = model().tangents_of(t, batch, Model::Part::missed);
          return left_out.empty() ? at::zeros({batch.x.size(0)}, at::kDouble)
                                  : (amplitude_ * diagonal(left_out).mean(0)).to(at::kDouble);
        });
  }

  TensorState tensors() const override {
    TensorState state;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      state.emplace_back("tangent" + std::to_string(i + 1), weights_[i]);
    return state;
  }
  double amplitude() const override { return amplitude_; }

 private:
  at::Tensor functions(const Batch& batch) const {  // (E, B)
    return product(model().tangents(batch), weights_).to(at::kDouble);
  }

  // The variance that features leave out of kernels: (B)
  at::Tensor missed(const Batch& batch) const {
    const Pairs left_out = model().tangents(batch, Model::Part::missed);
    return left_out.empty() ? at::zeros({batch.x.size(0)}, at::kDouble)
                            : (amplitude_ * diagonal(left_out).mean(0)).to(at::kDouble);
  }

  std::vector<at::Tensor> weights_;
  double amplitude_;
};

std::shared_ptr<const FunctionPosterior> solved(std::shared_ptr<Model> model, const Dataset& rows, double amplitude,
                                                double noise_variance, std::uint64_t seed, const Tick& tick) {
  std::vector<at::Tensor> weights = draw_tangent_weights(*model, rows, {amplitude, noise_variance}, seed, tick);
  return std::make_shared<NtkPosterior>(std::move(model), std::move(weights), amplitude);
}

void choose(const ModelSpec& spec, FitOptions& options, std::vector<Message>& remarks) {
  choose_draws(spec, options, remarks);
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) {
      const Argument* norm = network.find("norm");
      if (norm == nullptr || norm->word != "layer") continue;
      throw UsageError(where(norm->position) +
                       "a network with a layer norm has no tangent kernel in closed form; leave norm out");
    }
  }
}

std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  prepare_draws(stage, run, LinearKind::ntk);
  const Scales scales = stage.standard_scales();
  return solved(stage.shared_model(), stage.training(), scales.amplitude, scales.noise_variance, stage.options().seed,
                stage.tick());
}

std::shared_ptr<const FunctionPosterior> restore(std::shared_ptr<const Model> model, const TensorState& tensors,
                                                 double amplitude, bool) {
  std::vector<at::Tensor> weights;
  for (std::size_t i = 1;; ++i) {
    const at::Tensor found = find_tensor(tensors, "tangent" + std::to_string(i));
    if (!found.defined()) break;
    weights.push_back(found);
  }
  if (weights.empty()) throw DataError("it does not hold the tangent weights");
  return std::make_shared<NtkPosterior>(std::move(model), std::move(weights), amplitude);
}

}  // namespace

Engine ntk_engine() {
  Engine engine{
      "ntk", "draws from the exact posterior of wide networks all of whose weights are learned; solved, not trained"};
  engine.draws = true;
  engine.has_bias = false;
  engine.tangent = true;
  engine.choose = choose;
  engine.bytes = [](const FitSizes& sizes, const FitOptions& options) { return drawn_bytes(sizes, options, 2.0); };
  engine.seconds = [](Model& model, const FitOptions& options, const Dataset& some, double rows) {
    return drawn_seconds(model, options, some, rows,
                         [&](const Dataset& few) { draw_tangent_weights(model, few, Scales{}, options.seed); });
  };
  engine.fit = fit;
  engine.restore = restore;
  engine.solve_again = [](std::shared_ptr<Model> model, const Dataset& rows, double amplitude, double noise_variance,
                          std::uint64_t seed) {
    return solved(std::move(model), rows, amplitude, noise_variance, seed, {});
  };
  return engine;
}

}  // namespace ick
