#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/stopwatch.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "inference/engines.h"
#include "inference/neighbour_process.h"
#include "inference/stage.h"
#include "train/evidence.h"

// Kernels only, on any number of rows: features carry what is smooth, neighbouring rows the rest. Where features miss
// next to nothing they are all there is, and the engine is the exact one.
namespace ick {

namespace {

constexpr double kMissed = 0.01;         // of the kernels' variance, that features may miss
constexpr double kMissedAtStart = 0.05;  // at the prior's modes: features may carry the kernels
constexpr std::int64_t kFewRows = 400;   // up to which parameters come from the exact process on all rows
constexpr double kClearly = 0.02;        // nats a row, by which rows left out must prefer features

class NeighbourPosterior : public FunctionPosterior {
 public:
  NeighbourPosterior(std::shared_ptr<const Model> model, std::shared_ptr<const NeighbourProcess> process)
      : FunctionPosterior(std::move(model)), process_(std::move(process)) {}

  const Engine& engine() const override { return engine_named("neighbours"); }
  FunctionMoments at(const Batch& batch, const Likelihood&) const override { return process_->at(batch.x); }
  FunctionParts parts(const Batch& batch) const override { return process_->parts(batch.x); }
  at::Tensor draws(const Batch& batch, const Likelihood&, std::int64_t count, std::uint64_t seed) const override {
    return process_->draws(batch.x, count, seed, independent_normals(batch, count, seed));
  }
  std::vector<FunctionMoments> left_out(const Dataset&, const std::vector<std::int64_t>& cell_of,
                                        const std::vector<LeftOut>& folds, double) const override {
    return process_->left_out(cell_of, folds);
  }
  bool draws_rows_together() const override { return true; }
  // The more rows, the nearer are those that follow each other on the curve, and the more neighbours they share.
  std::int64_t rows_at_once() const override { return 32'768; }
  TensorState tensors() const override { return process_->tensors(); }
  const NeighbourProcess& process() const { return *process_; }

 private:
  std::shared_ptr<const NeighbourProcess> process_;
};

// The variances of the rows' noise: (n)
at::Tensor noise_of(const Dataset& rows, double noise_variance) {
  const at::Tensor weights = rows.row_weights(), error = rows.row_error();
  at::Tensor noise = at::full({rows.size()}, noise_variance, at::kDouble);
  if (error.defined()) noise = noise + error;
  if (weights.defined()) noise = noise / weights.to(at::kDouble);
  return noise;
}

std::shared_ptr<const FunctionPosterior> posterior_of(const std::shared_ptr<Model>& model,
                                                      std::shared_ptr<const NeighbourProcess> process) {
  model->set_linear_weights(process->weights().unsqueeze(0));
  return std::make_shared<NeighbourPosterior>(model, std::move(process));
}

std::shared_ptr<const FunctionPosterior> condition(const std::shared_ptr<Model>& model, const Dataset& rows,
                                                   double noise_variance, std::uint64_t seed,
                                                   const std::function<void()>& tick = {}) {
  return posterior_of(model, std::make_shared<const NeighbourProcess>(model, rows.x_of(0, rows.size()), rows.targets(),
                                                                      noise_of(rows, noise_variance),
                                                                      seed_for(seed, "neighbours"), tick));
}

std::shared_ptr<const FunctionPosterior> take_in(const FunctionPosterior& before, std::shared_ptr<Model> model,
                                                 const Dataset& rows, double noise_variance, std::uint64_t seed) {
  const NeighbourProcess& known = dynamic_cast<const NeighbourPosterior&>(before).process();
  return posterior_of(model,
                      std::make_shared<const NeighbourProcess>(
                          known, model, rows.x_of(0, rows.size()), rows.targets(), noise_of(rows, noise_variance),
                          seed_for(seed, "neighbours after " + std::to_string(known.size()))));
}

// The share of the kernels' variance, or of the target's where that is less, that features do not carry.
double missed_share(const Model& model, const Dataset& rows, std::uint64_t seed) {
  constexpr std::int64_t kRows = 2000;
  const at::NoGradGuard no_grad;
  const at::Tensor x = rows.select(draw_rows(rows.size(), kRows, seed_for(seed, "missed"))).x;
  const at::Tensor phi = model.linear_features(x)[0];
  const double all = model.prior_variance(x).mean().item<double>();
  const double carried = phi.narrow(1, 0, phi.size(1) - 1).square().sum(1).mean().item<double>();
  return (all - carried) / std::min(all, 1.0);
}

// Mean -log density of rows not seen.
double unseen_cost(const FunctionPosterior& posterior, const Stage& stage) {
  const FunctionMoments found = moments_at(posterior, likelihood_of(stage.options()), stage.validation());
  const at::Tensor variance = found.variance + stage.standard_noise() * stage.standard_noise();
  const at::Tensor squares = (stage.validation().targets() - found.mean).square();
  return 0.5 * (variance.log() + squares / variance).mean().item<double>();
}

// What one way of estimating has found, and what rows not seen cost with it.
struct Found {
  std::shared_ptr<Model> model;
  std::shared_ptr<const FunctionPosterior> posterior;
  double noise = 1.0, cost = 0.0;
  bool neighbours = false;
  RawSpread spread;
};

ModelSpec with_own_features(const Stage& stage) {
  ModelSpec spec = stage.model().spec();
  const auto terms = static_cast<double>(spec.terms.size());
  const double all = NeighbourProcess::features_for(static_cast<double>(stage.training().size()),
                                                    static_cast<double>(stage.model().kernel().inputs()), terms);
  for (TermSpec& term : spec.terms) {
    if (!term.stated_features) term.features = static_cast<std::int64_t>(all / terms);
  }
  limit_features(spec, stage.encoder());
  return spec;
}

std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  stage.make_model();
  const auto variance = [&] { return stage.standard_noise() * stage.standard_noise(); };
  const auto by_features = [&] {
    return solve_features(stage.shared_model(), stage.training(), variance(), stage.lasting());
  };
  const auto by_neighbours = [&] {
    stage.say("neighbours");
    return condition(stage.shared_model(), stage.training(), variance(), stage.options().seed, stage.tick());
  };
  if (run.from != nullptr) {
    stage.take_kernels(*run.from);
    stage.take_noise(run.from->noise());
    stage.set_neighbours(run.before != nullptr && run.before->neighbours);
    stage.set_lasting(run.from->lasting());
    if (!stage.outcome().neighbours && !stage.lasting().lasts()) lengthen(stage);
    return stage.outcome().neighbours ? by_neighbours() : by_features();
  }
  const ModelSpec spec = stage.model().spec();
  const auto raw = [&] { return stage.model().kernel().parameters().raw().detach().clone(); };
  const auto missed = [&] { return missed_share(stage.model(), stage.training(), stage.options().seed); };
  const at::Tensor start = raw();
  const double missed_at_start = missed();
  stage.warm_up();
  stage.set_noise(std::max(kLeastNoise, std::exp(0.5 * stage.stated_log_noise().value_or(stage.log_noise()))));
  const bool possible = fuses(stage.model().kernel()), asked = stage.engine_asked();
  if (asked && !possible) {
    throw UsageError(setting("posterior", "neighbours") + " is for the library's own kernels; use " +
                     setting("posterior", "exact"));
  }
  if (!asked && lasting_column(stage)) {
    maximise_evidence_of_lasting(stage, start);
    return by_features();
  }
  const double missed_now = missed();
  // without a warm start parameters are still those of the start, which features can better
  const bool smooth = !possible || ((missed_now <= kMissed || !stage.options().warm_start) && !asked);
  const auto found = [&](bool neighbours) {
    Found one{
        stage.shared_model(), neighbours ? by_neighbours() : by_features(), stage.standard_noise(), 0.0, neighbours,
        stage.spread()};
    if (stage.validation().size() > 0) one.cost = unseen_cost(*one.posterior, stage);
    return one;
  };

  if (smooth) {
    maximise_evidence(stage);
    lengthen(stage);
  } else {
    stage.remake(with_own_features(stage), raw());
  }
  Found best = found(!smooth);
  // Neighbours see little of what repeats over the whole range: where features could carry the kernels, parameters are
  // estimated through them, too, from the start, and rows left out decide.
  const bool several = stage.model().kernel().terms().size() > 1;
  const bool other_way = !asked && stage.validation().size() > 0 && missed_at_start <= kMissedAtStart &&
                         (several || !smooth) && stage.training().size() > kFewRows;
  if (other_way) {
    stage.remake(spec, start);
    maximise_evidence(stage);
    lengthen(stage);
    const Found other = found(false);
    if (other.cost + (best.neighbours ? kClearly : 0.0) < best.cost) best = other;
  }
  stage.set_model(best.model);
  stage.set_noise(best.noise);
  stage.set_spread(best.spread);
  stage.set_neighbours(best.neighbours);
  if (best.neighbours) {
    stage.remark("features miss " + number_text(std::round(1000.0 * std::min(1.0, missed_now)) / 10.0) +
                 "% of the variance: neighbouring rows carry it, and the model keeps the rows it was trained on");
  }
  return best.posterior;
}

FitBytes bytes(const FitSizes& sizes, const FitOptions&) {
  constexpr double kOfRow = 150.0, kOfInput = 100.0;       // copies of inputs, coordinates, trees
  constexpr double kManyInputs = 12.0, kOfGraph = 1000.0;  // links, where graphs are searched
  const double features =
      sizes.stated_features ? sizes.features : NeighbourProcess::features_for(sizes.rows, sizes.inputs, sizes.terms);
  const double of_row = kOfRow + kOfInput * sizes.inputs + (sizes.inputs > kManyInputs ? kOfGraph : 0.0);
  FitBytes all;
  all.rows = (of_row + NeighbourProcess::bytes_of_features(features)) * sizes.rows;
  return all;
}

// Of one core, about: measured on tables of two columns, by benchmarks/neighbours.
Engine::Seconds seconds(Model& model, const FitOptions&, const Dataset&, double rows) {
  constexpr double kOfRow = 5e-5, kOfFeature = 1e-6, kOfSearch = 2.0;  // a row; a row and feature; all parameters
  const auto& terms = model.spec().terms;
  const bool stated =
      std::all_of(terms.begin(), terms.end(), [](const TermSpec& each) { return each.stated_features; });
  const double features = stated ? static_cast<double>(model.features())
                                 : NeighbourProcess::features_for(rows, static_cast<double>(model.kernel().inputs()),
                                                                  static_cast<double>(terms.size()));
  const double all = kOfSearch + rows * (kOfRow + kOfFeature * features);
  return {all, all};
}

std::shared_ptr<const FunctionPosterior> restore(std::shared_ptr<const Model> model, const TensorState& tensors, double,
                                                 bool) {
  auto process = std::make_shared<const NeighbourProcess>(model, tensors);
  return std::make_shared<NeighbourPosterior>(std::move(model), std::move(process));
}

}  // namespace

Engine neighbours_engine() {
  Engine engine{"neighbours", "kernels only: features for what is smooth, neighbouring rows for the rest"};
  engine.kernels_only = true;
  engine.row_terms = true;
  engine.choose = choose_kernels_only;
  engine.bytes = bytes;
  engine.seconds = seconds;
  engine.fit = fit;
  engine.restore = restore;
  engine.solve_again = [](std::shared_ptr<Model> model, const Dataset& rows, double, double noise_variance,
                          std::uint64_t seed) { return condition(model, rows, noise_variance, seed); };
  engine.take_in = take_in;
  return engine;
}

}  // namespace ick
