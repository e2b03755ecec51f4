#include "ick/train/fit.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "train/evidence.h"
#include "train/last_layer.h"
#include "train/lbfgs.h"
#include "train/plan.h"
#include "train/trainer.h"
#include "train/warm_start.h"

namespace ick {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Rows of a table that are true in `use`, as tensors.
Dataset rows_of(const Dataset& all, const std::vector<bool>& use) {
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < all.size(); ++i) {
    if (use[all.rows[i]]) index.push_back(i);
  }
  return all.select(at::tensor(index, at::kLong));
}

std::vector<bool> joined(const std::vector<bool>& a, const std::vector<bool>& b) {
  std::vector<bool> both = a;
  for (std::size_t i = 0; i < b.size(); ++i) both[i] = both[i] || b[i];
  return both;
}

// The noise that makes the observations most likely, given mean and variance of the function: the minimum over t = log
// s^2 of sum_i log(v_i + s^2) + r_i^2 / (v_i + s^2), by a grid and golden sections.
double fit_noise(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& y) {
  const at::Tensor squares = (y - mean).square();
  const auto cost = [&](double t) {
    const at::Tensor total = variance + std::exp(t);
    return (total.log() + squares / total).sum().item<double>();
  };
  constexpr double kLow = -18.5, kHigh = 8.0, kStep = 0.5;  // from 1e-4 of the target's deviation
  double best = kLow;
  for (double t = kLow; t <= kHigh; t += kStep) best = cost(t) < cost(best) ? t : best;
  double low = best - kStep, high = best + kStep;
  const double golden = (std::sqrt(5.0) - 1.0) / 2.0;
  while (high - low > 1e-6) {
    const double left = high - golden * (high - low), right = low + golden * (high - low);
    if (cost(left) < cost(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return std::exp(0.25 * (low + high));
}

// Numbers of a finished first stage that the second needs, kept in its checkpoints.
struct Outcome {
  double noise = 1.0;  // in the target's units (of the logarithm for log targets)
  double best_epoch = 0.0, epochs = 0.0;
  bool polished = false;  // last layers in closed form
  std::optional<Scores> validation;

  static constexpr std::pair<const char*, double Scores::*> kScores[] = {
      {"rmse", &Scores::rmse}, {"mae", &Scores::mae},   {"r2", &Scores::r2},    {"spearman", &Scores::spearman},
      {"nlpd", &Scores::nlpd}, {"msll", &Scores::msll}, {"crps", &Scores::crps}};

  void write(std::map<std::string, double>& to) const {
    to["outcome.noise"] = noise;
    to["outcome.best_epoch"] = best_epoch;
    to["outcome.epochs"] = epochs;
    to["outcome.polished"] = polished;
    if (!validation) return;
    to["outcome.rows"] = static_cast<double>(validation->rows);
    for (const auto& [name, field] : kScores) to[std::string("outcome.") + name] = *validation.*field;
    for (const auto& [level, share] : validation->coverage) to["outcome.coverage." + level] = share;
  }

  static Outcome read(const std::map<std::string, double>& from) {
    Outcome outcome{from.at("outcome.noise"),
                    from.at("outcome.best_epoch"),
                    from.at("outcome.epochs"),
                    from.at("outcome.polished") != 0.0,
                    {}};
    if (!from.contains("outcome.rows")) return outcome;
    outcome.validation.emplace();
    outcome.validation->rows = static_cast<std::int64_t>(from.at("outcome.rows"));
    for (const auto& [name, field] : kScores) *outcome.validation.*field = from.at(std::string("outcome.") + name);
    const std::string prefix = "outcome.coverage.";
    for (const auto& [name, share] : from) {
      if (name.starts_with(prefix)) outcome.validation->coverage[name.substr(prefix.size())] = share;
    }
    return outcome;
  }
};

// One training run on some rows of the table.
class Stage {
 public:
  Stage(const Table& table, const FitPlan& plan, const std::vector<bool>& use, std::string phase, const FitHooks& hooks)
      : plan_(plan), hooks_(hooks), phase_(std::move(phase)) {
    encoder_ = fit_encoder(table, encoder_plan(plan.spec, plan.options), use);
    const Dataset all = encode(table, encoder_, true, &notes_);
    training_ = rows_of(all, use);
    if (training_.size() < 2) throw DataError("fewer than 2 rows are left to learn from");
    if (phase_ == "train") validation_ = rows_of(all, plan.validation);
    options_.members = plan.options.members;
    options_.seed = plan.options.seed;
    options_.layers = plan.options.layers;
    find_frequencies(plan.spec, training_, plan.options.seed, encoder_);
  }

  const EncodingNotes& notes() const { return notes_; }
  const Dataset& validation() const { return validation_; }
  std::int64_t epochs() const { return epochs_; }
  std::int64_t best_epoch() const { return best_epoch_; }

  // Gradient descent, to epoch `last` of the schedule when that is not zero.
  void descend(std::int64_t last, const Checkpoint* resume) {
    if (resume != nullptr) {
      model_ = std::make_shared<Model>(plan_.spec, encoder_, resume->tensors, options_);
      if (hooks_.planned) hooks_.planned(plan_);
    } else {
      start();
    }
    Trainer trainer(*model_, plan_.options, training_, validation_.size() > 0 ? &validation_ : nullptr,
                    encoder_.target_scaling.sd, hooks_, phase_);
    if (resume != nullptr) trainer.restore(*resume);
    trainer.run(last);
    epochs_ = trainer.epochs_done();
    best_epoch_ = validation_.size() > 0 ? trainer.best_epoch() : epochs_;
    noise_ = plan_.options.loss == Loss::gaussian ? trainer.noise() : 0.0;
  }

  // Takes the last layers in closed form if that predicts rows not seen better, or if there are none to ask.
  bool polish() {
    if (!plan_.options.polish || plan_.options.loss == Loss::mae || plan_.options.loss == Loss::huber) return false;
    std::vector<at::Tensor> before;
    for (const NamedTensor& each : model_->network_parameters()) before.push_back(each.value.detach().clone());
    const double error = validation_.size() > 0 ? fitted().evaluate(validation_).rmse : HUGE_VAL;
    if (!solve_last_layers(*model_, training_, plan_.options.seed)) return false;
    if (validation_.size() == 0 || fitted().evaluate(validation_).rmse < error) return true;
    std::size_t i = 0;
    for (const NamedTensor& each : model_->network_parameters()) each.value.detach().copy_(before[i++]);
    return false;
  }

  // Kernel parameters by L-BFGS on the marginal likelihood, then the weights in closed form. With `from` the parameters
  // are taken over and only the weights are found.
  void solve(const Stage* from) {
    if (from != nullptr) {
      model_ = std::make_shared<Model>(plan_.spec, encoder_, training_, options_);
      at::Tensor raw = model_->kernel().parameters().raw();
      raw.detach().copy_(from->model_->kernel().parameters().raw());
      model_->place_maps(training_);
      noise_ = from->noise_ * from->encoder_.target_scaling.sd / encoder_.target_scaling.sd;
    } else {
      start();
      maximise_evidence();
    }
    const LinearPosterior posterior = linear_posterior(*model_, training_.x, training_.y, noise_ * noise_);
    model_->set_linear_weights(posterior.mean.unsqueeze(0));
    posterior_ = posterior.factor;
  }

  FittedModel fitted() const {
    FittedModel result;
    result.encoder = encoder_;
    result.options = options_;
    result.model = model_;
    result.posterior = posterior_;
    result.noise = noise_ > 0.0 ? noise_ : 1.0;
    return result;
  }

  // The noise of the marginal likelihood; else from rows the model has not seen; without these what was learned, or the
  // residuals of training.
  double find_noise() const {
    const Dataset& rows = validation_.size() > 0 ? validation_ : training_;
    if (noise_ > 0.0 && (posterior_.defined() || validation_.size() == 0)) return noise_;
    const auto [mean, variance] = fitted().predict_function(rows);
    return fit_noise(mean, variance, rows.y);
  }

  void set_noise(double noise) { predictive_noise_ = noise; }
  FittedModel finished() const {
    FittedModel result = fitted();
    result.noise = predictive_noise_;
    return result;
  }
  double target_sd() const { return encoder_.target_scaling.sd; }

 private:
  bool keep_going() const {
    if (!hooks_.interrupted || !hooks_.interrupted()) return true;
    throw Interrupted("the fit was interrupted");
  }

  void start() {
    model_ = std::make_shared<Model>(plan_.spec, encoder_, training_, options_);
    if (phase_ == "train") {
      if (hooks_.planned) hooks_.planned(plan_);
      if (hooks_.checkpoint) hooks_.checkpoint(Checkpoint{"start", {}, {}});
    }
    if (!model_->has_kernels()) return;
    const at::Tensor& raw = model_->kernel().parameters().raw();
    generic_.assign(raw.data_ptr<double>(), raw.data_ptr<double>() + raw.numel());
    generic_.push_back(kStartLogNoise);
    if (!plan_.options.warm_start) return;
    if (hooks_.progress) {
      Progress progress;
      progress.phase = "warm start";
      progress.validation = progress.best = kNone;
      hooks_.progress(progress);
    }
    log_noise_ = warm_start(*model_, encoder_, training_, plan_.options.seed, [this] { return keep_going(); });
    model_->place_maps(training_);
  }

  void maximise_evidence() {
    constexpr std::int64_t kMostRows = 8192;
    Dataset rows = training_;
    if (rows.size() > kMostRows) {
      Random random(seed_for(plan_.options.seed, "evidence rows"));
      std::vector<std::int64_t> index(rows.size());
      for (std::int64_t i = 0; i < rows.size(); ++i) index[i] = i;
      for (std::int64_t i = 0; i < kMostRows; ++i) std::swap(index[i], index[i + random.below(rows.size() - i)]);
      index.resize(kMostRows);
      std::sort(index.begin(), index.end());
      rows = rows.select(at::tensor(index, at::kLong));
    }
    at::Tensor raw = model_->kernel().parameters().raw();
    SumOfProducts products;
    for (const TermSpec& term : plan_.spec.terms)
      products.insert(products.end(), term.kernels.begin(), term.kernels.end());
    const std::vector<double> deviations = prior_deviations(model_->kernel(), products);
    const auto evaluate = [&](const std::vector<double>& at) {
      raw.detach().copy_(at::tensor(at, at::kDouble).narrow(0, 0, raw.numel()).view_as(raw));
      at::Tensor log_noise = at::full({}, at.back(), at::kDouble).requires_grad_(true);
      raw.mutable_grad() = at::zeros_like(raw);
      const at::Tensor value = linear_evidence(*model_, rows.x, rows.y, log_noise);
      value.backward();
      Evaluation evaluation;
      evaluation.value = value.item<double>();
      evaluation.gradient.assign(raw.grad().data_ptr<double>(), raw.grad().data_ptr<double>() + raw.numel());
      evaluation.gradient.push_back(log_noise.grad().item<double>());
      add_weak_prior(at, generic_, static_cast<double>(rows.size()), evaluation, deviations);
      return evaluation;
    };
    std::vector<double> from(raw.data_ptr<double>(), raw.data_ptr<double>() + raw.numel());
    from.push_back(log_noise_);
    LbfgsOptions options;
    options.iterations = static_cast<int>(plan_.options.epochs);
    const auto clock = std::chrono::steady_clock::now();
    const LbfgsResult best = minimise(evaluate, from, options, [&](int step, double value) {
      if (hooks_.progress) {
        Progress progress;
        progress.phase = phase_;
        progress.epoch = step;
        progress.epochs = options.iterations;
        progress.loss = value;
        progress.validation = progress.best = kNone;
        progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count();
        progress.rows_per_second = static_cast<double>(rows.size()) * step / std::max(progress.seconds, 1e-9);
        progress.seconds_left = progress.seconds / step * (options.iterations - step);
        hooks_.progress(progress);
      }
      return keep_going();
    });
    evaluate(best.x);
    epochs_ = best_epoch_ = best.iterations;
    constexpr double kLeastNoise = 1e-4;  // sd, of the target's: below, nothing is learned and factors suffer
    noise_ = std::max(kLeastNoise, std::exp(0.5 * best.x.back()));
    model_->place_maps(training_);
  }

  const FitPlan& plan_;
  const FitHooks& hooks_;
  std::string phase_;
  Encoder encoder_;
  EncodingNotes notes_;
  Dataset training_, validation_;
  ModelOptions options_;
  std::shared_ptr<Model> model_;
  at::Tensor posterior_;
  std::vector<double> generic_;  // raw kernel parameters before anything was learned, and log s^2
  double log_noise_ = kStartLogNoise;
  double noise_ = 0.0;             // sd, standardised; 0: not learned
  double predictive_noise_ = 1.0;  // sd, standardised
  std::int64_t epochs_ = 0, best_epoch_ = 0;
};

}  // namespace

Fit fit(const Table& table, const Formula& formula, const FitOptions& options, const FitHooks& hooks,
        const Checkpoint* resume) {
  const auto clock = std::chrono::steady_clock::now();
  const FitPlan plan = plan_fit(table, formula, options);
  const bool closed_form = plan.options.optimiser == Optimiser::lbfgs;
  if (resume != nullptr && resume->phase == "start") resume = nullptr;

  Outcome outcome;
  FitHooks second_hooks = hooks;
  if (hooks.checkpoint) {
    second_hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      Checkpoint whole = checkpoint;
      outcome.write(whole.numbers);
      hooks.checkpoint(whole);
    };
  }

  std::unique_ptr<Stage> stage;
  const bool second_only = resume != nullptr && resume->phase == "refit";
  if (second_only) {
    outcome = Outcome::read(resume->numbers);
  } else {
    stage = std::make_unique<Stage>(table, plan, plan.training, "train", hooks);
    if (closed_form) {
      stage->solve(nullptr);
    } else {
      stage->descend(0, resume);
      outcome.polished = stage->polish();
    }
    outcome.noise = stage->find_noise() * stage->target_sd();
    outcome.epochs = static_cast<double>(stage->epochs());
    outcome.best_epoch = static_cast<double>(stage->best_epoch());
    stage->set_noise(outcome.noise / stage->target_sd());
    if (stage->validation().size() > 0) outcome.validation = stage->finished().evaluate(stage->validation());
  }
  if (plan.options.refit && count_of(plan.validation) > 0) {
    auto second = std::make_unique<Stage>(table, plan, joined(plan.training, plan.validation), "refit", second_hooks);
    if (closed_form) {
      second->solve(stage.get());
    } else {
      second->descend(static_cast<std::int64_t>(outcome.best_epoch), second_only ? resume : nullptr);
      if (outcome.polished) second->polish();
    }
    second->set_noise(outcome.noise / second->target_sd());
    stage = std::move(second);
  }

  Fit result{stage->finished(), {}};
  FitReport& report = result.report;
  report.options = plan.options;
  report.rows = table.rows;
  report.training_rows = count_of(plan.training);
  report.validation_rows = count_of(plan.validation);
  report.holdout_rows = count_of(plan.holdout);
  report.validation_split = print(*plan.options.validation);
  report.validation_reason = plan.validation_reason;
  report.holdout_split = print(plan.options.holdout);
  report.notes = stage->notes();
  report.validation = outcome.validation;
  report.polished = outcome.polished;
  report.epochs = static_cast<std::int64_t>(outcome.epochs);
  report.best_epoch = static_cast<std::int64_t>(outcome.best_epoch);
  if (report.holdout_rows > 0) {
    const Dataset all = encode(table, result.model.encoder, true);
    const Dataset held = rows_of(all, plan.holdout);
    if (held.size() > 0) report.holdout = result.model.evaluate(held);
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count();
  return result;
}

Fit fit(const Table& table, const std::string& formula, const FitOptions& options) {
  return fit(table, parse_formula(formula), options);
}

}  // namespace ick
