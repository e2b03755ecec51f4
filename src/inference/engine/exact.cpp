#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/stopwatch.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/inference/direct.h"
#include "inference/engines.h"
#include "inference/stage.h"
#include "model/lower_factor.h"
#include "train/evidence.h"

// Kernels only: the posterior of the weights, f = phi . w, w ~ N(m, (L L')^-1). Kernel parameters maximise the marginal
// likelihood.
namespace ick {

namespace {

constexpr std::int64_t kMostRows = 8192;  // that the marginal likelihood is of

class ExactPosterior : public FunctionPosterior {
 public:
  ExactPosterior(std::shared_ptr<const Model> model, LinearPosterior weights)
      : FunctionPosterior(std::move(model)), mean_(std::move(weights.mean)), factor_(std::move(weights.factor)) {}

  const Engine& engine() const override { return engine_named("exact"); }

  FunctionMoments at(const Batch& batch, const Likelihood&) const override {
    const at::Tensor phi = model().linear_features(batch.x)[0];  // (B, P + 1)
    const at::Tensor learned = at::linalg_solve_triangular(factor_, phi.t(), false).square().sum(0);
    return {phi.mv(mean_), learned + model().missed_variance(batch)[0]};
  }

  at::Tensor draws(const Batch& batch, const Likelihood&, std::int64_t count, std::uint64_t seed) const override {
    const at::Tensor phi = model().linear_features(batch.x)[0];
    const at::Tensor whitened = at::linalg_solve_triangular(factor_, phi.t(), false);  // (P + 1, B)
    return phi.mv(mean_) + function_normals(count, whitened.size(0), seed).matmul(whitened) +
           model().missed_variance(batch)[0].sqrt() * independent_normals(batch, count, seed);
  }

  // A less what the rows left out had added to it, b likewise.
  std::vector<FunctionMoments> left_out(const Dataset& training, const std::vector<std::int64_t>& cell_of,
                                        const std::vector<LeftOut>& folds, double noise_variance) const override {
    const at::NoGradGuard no_grad;
    std::vector<LinearSums> cells;
    for (const at::Tensor& rows : rows_of_cells(cell_of)) {
      cells.push_back(linear_sums(model(), training.subset(rows), noise_variance));
    }
    const at::Tensor all = factor_.matmul(factor_.t()), right = all.mv(mean_);
    std::vector<FunctionMoments> found;
    for (const LeftOut& fold : folds) {
      at::Tensor a = all.clone(), b = right.clone();
      for (const std::int64_t cell : fold.cells) {
        a -= cells.at(static_cast<std::size_t>(cell)).precision, b -= cells[static_cast<std::size_t>(cell)].right;
      }
      const at::Tensor factor = lower_factor(a), mean = at::cholesky_solve(b.unsqueeze(1), factor).squeeze(1);
      const Dataset rows = training.select(at::tensor(fold.rows, at::kLong));
      const Batch batch = batch_of(rows, 0, rows.size());
      const at::Tensor phi = model().linear_features(batch.x)[0];
      const at::Tensor learned = at::linalg_solve_triangular(factor, phi.t(), false).square().sum(0);
      found.push_back({phi.mv(mean), learned + model().missed_variance(batch)[0]});
    }
    return found;
  }

  TensorState tensors() const override { return {{"mean", mean_}, {"factor", factor_}}; }
  LinearPosterior weights() const { return {mean_, factor_}; }

 private:
  at::Tensor mean_;    // (P + 1): the model's weights, which are in float32, to all digits
  at::Tensor factor_;  // lower factor of I + Phi'Phi / s^2: (P + 1, P + 1)
};

}  // namespace

std::shared_ptr<const FunctionPosterior> solve_features(std::shared_ptr<Model> model, const Dataset& rows,
                                                        double noise_variance) {
  const LinearPosterior posterior = linear_posterior(*model, rows, noise_variance);
  model->set_linear_weights(posterior.mean.unsqueeze(0));
  return std::make_shared<ExactPosterior>(std::move(model), posterior);
}

void choose_kernels_only(const ModelSpec&, FitOptions& options, std::vector<Message>& remarks) {
  if (options.members > 1) {
    remarks.push_back("kernels only: the posterior is exact, " + setting("members") + " has no effect");
  }
  if (options.perturbation != Perturbation::none) {
    remarks.push_back("kernels only: there are no members to differ, " + setting("perturbation") + " has no effect");
  }
  if (options.batch > 0 || options.learning_rate > 0.0) {
    remarks.push_back("kernels only: the marginal likelihood is maximised, " + setting("batch") + " and " +
                      setting("learning_rate") + " have no effect");
  }
  options.members = 1;
}

namespace {

FitBytes bytes(const FitSizes& sizes, const FitOptions&) {
  FitBytes all;
  all.rows = 8.0 * (6.0 * std::min(sizes.rows, static_cast<double>(kMostRows)) * sizes.features +
                    3.0 * sizes.features * sizes.features);
  return all;
}

Engine::Seconds seconds(Model& model, const FitOptions& options, const Dataset& some, double rows) {
  constexpr double kEvaluationsPerStep = 1.3;  // of L-BFGS, about
  const at::Tensor noise = at::zeros({}, at::kDouble).requires_grad_(true);
  const Stopwatch watch;
  linear_evidence(model, some, noise).backward();
  const double epoch =
      watch.seconds() * std::min(rows, static_cast<double>(kMostRows)) / static_cast<double>(some.size());
  return {kWarmStartSeconds + kEvaluationsPerStep * epoch * static_cast<double>(options.epochs), epoch};
}

}  // namespace

void maximise_evidence(Stage& stage) {
  const Dataset rows = stage.training().select(
      draw_rows(stage.training().size(), kMostRows, seed_for(stage.options().seed, "evidence rows")));
  EvidenceSearch search(
      stage.model().kernel(), rows.size(),
      [&](const at::Tensor& log_noise) { return linear_evidence(stage.model(), rows, log_noise); },
      stage.stated_log_noise());
  const at::Tensor& raw = stage.model().kernel().parameters().raw();
  std::vector<double> from(raw.data_ptr<double>(), raw.data_ptr<double>() + raw.numel());
  from.push_back(stage.stated_log_noise().value_or(stage.log_noise()));
  const LbfgsResult best = search.search(from, static_cast<int>(stage.options().epochs), [&](int step, double value) {
    return stage.say_step(step, value, rows.size());
  });
  search(best.x);
  stage.set_epochs(best.iterations);
  stage.set_noise(std::max(kLeastNoise, std::exp(0.5 * best.x.back())));
  stage.model().place_maps(stage.training());
}

namespace {

std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  stage.make_model();
  if (run.from != nullptr) {
    stage.take_kernels(*run.from);
    stage.take_noise(run.from->noise());
  } else {
    stage.warm_up();
    maximise_evidence(stage);
  }
  lengthen(stage);
  return solve_features(stage.shared_model(), stage.training(), stage.standard_noise() * stage.standard_noise());
}

// As the model has them, in float32: all that older folders keep. (P + 1)
at::Tensor weights_of(const Model& model) {
  std::vector<at::Tensor> parts;
  for (const NamedTensor& each : model.network_parameters()) parts.push_back(each.value.detach()[0].to(at::kDouble));
  return at::cat(parts);
}

std::shared_ptr<const FunctionPosterior> restore(std::shared_ptr<const Model> model, const TensorState& tensors, double,
                                                 bool) {
  const std::int64_t weights = model->features() + 1;
  const at::Tensor factor = find_tensor(tensors, "factor"), mean = find_tensor(tensors, "mean");
  const bool fits = factor.defined() && factor.dim() == 2 && factor.size(0) == weights && factor.size(1) == weights &&
                    factor.scalar_type() == at::kDouble;
  if (!fits) throw DataError("it does not hold the factor of " + std::to_string(weights) + " weights");
  if (!mean.defined()) return std::make_shared<ExactPosterior>(model, LinearPosterior{weights_of(*model), factor});
  if (mean.dim() != 1 || mean.size(0) != weights || mean.scalar_type() != at::kDouble) {
    throw DataError("it does not hold the mean of " + std::to_string(weights) + " weights");
  }
  return std::make_shared<ExactPosterior>(std::move(model), LinearPosterior{mean, factor});
}

std::shared_ptr<const FunctionPosterior> take_in(const FunctionPosterior& before, std::shared_ptr<Model> model,
                                                 const Dataset& rows, double noise_variance, std::uint64_t) {
  const LinearPosterior known = dynamic_cast<const ExactPosterior&>(before).weights();
  const LinearPosterior all = linear_posterior(*model, rows, noise_variance, known);
  model->set_linear_weights(all.mean.unsqueeze(0));
  return std::make_shared<ExactPosterior>(std::move(model), all);
}

}  // namespace

Engine exact_engine() {
  Engine engine{"exact", "kernels only: features of the kernels, their weights in closed form"};
  engine.kernels_only = true;
  engine.row_terms = true;
  engine.choose = choose_kernels_only;
  engine.bytes = bytes;
  engine.seconds = seconds;
  engine.fit = fit;
  engine.restore = restore;
  engine.solve_again = [](std::shared_ptr<Model> model, const Dataset& rows, double, double noise_variance,
                          std::uint64_t) { return solve_features(std::move(model), rows, noise_variance); };
  engine.take_in = take_in;
  return engine;
}

}  // namespace ick
