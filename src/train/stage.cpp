#include "train/stage.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/train/ranks.h"
#include "train/evidence.h"
#include "train/plan.h"
#include "train/trainer.h"
#include "train/warm_start.h"

namespace ick {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastNoise = 1e-4;  // sd, of the target's: below, nothing is learned and factors suffer

KernelSum products_of(const ModelSpec& spec) {
  KernelSum products;
  for (const TermSpec& term : spec.terms) products.insert(products.end(), term.kernels.begin(), term.kernels.end());
  return products;
}

}  // namespace

Stage::Stage(const Table& table, const FitPlan& plan, const std::vector<bool>& use, std::string phase,
             const FitHooks& hooks)
    : plan_(plan), hooks_(hooks), phase_(std::move(phase)), log_noise_(kStartLogNoise) {
  encoder_ = fit_encoder(table, encoder_plan(plan.spec, plan.options), use);
  training_ = open_rows(table, encoder_, use, &notes_, plan.options.held_bytes);
  if (training_.size() < 2) throw DataError("fewer than 2 rows are left to learn from");
  if (phase_ == "train") {
    validation_ = open_rows(table, encoder_, plan.validation, nullptr, plan.options.held_bytes);
  }
  options_.members = plan.options.members;
  options_.seed = plan.options.seed;
  options_.layers = plan.options.layers;
  options_.outputs = outputs_of(plan.options, encoder_);
  options_.own_kernels = plan.options.own_kernels;
  find_frequencies(plan.spec, training_, likelihood_of(plan.options), plan.options.seed, encoder_);
}

bool Stage::keep_going() const {
  // Several processes stop in training, where they agree on it.
  if (hooks_.ranks != nullptr || !hooks_.interrupted || !hooks_.interrupted()) return true;
  throw Interrupted("the fit was interrupted");
}

std::optional<double> Stage::stated_noise_variance() const {
  if (plan_.options.noise <= 0.0) return std::nullopt;
  const double relative = std::max(kLeastNoise, plan_.options.noise / encoder_.target_scaling.sd);
  return relative * relative;
}

std::optional<double> Stage::stated_log_noise() const {
  const std::optional<double> variance = stated_noise_variance();
  return variance ? std::optional(std::log(*variance)) : std::nullopt;
}

void Stage::make_model() {
  model_ = std::make_shared<Model>(plan_.spec, encoder_, training_, options_);
  const Likelihood& likelihood = likelihood_of(plan_.options);
  if (likelihood.link != Link::identity &&
      !likelihood.has_classes()) {  // the functions start near the mean of the rows
    double start = function_at_mean(likelihood, encoder_.target_summary.mean);
    if (encoder_.offset) start -= training_.row_offset().mean().item<double>();
    for (const NamedTensor& each : model_->network_parameters()) {
      if (each.path == "bias") each.value.detach().fill_(start);
    }
  }
  if (phase_ != "train") return;
  if (hooks_.planned) hooks_.planned(plan_);
  if (hooks_.checkpoint) hooks_.checkpoint(Checkpoint{"start", {}, {}});
}

void Stage::warm_up() {
  if (!model_->has_kernels() || !plan_.options.warm_start) return;
  if (hooks_.progress) {
    Progress progress;
    progress.phase = "warm start";
    progress.validation = progress.best = kNone;
    hooks_.progress(progress);
  }
  log_noise_ = warm_start(
      *model_, encoder_, training_, likelihood_of(plan_.options), plan_.options.seed, [this] { return keep_going(); },
      stated_log_noise());
  // The search may end elsewhere on another machine.
  if (hooks_.ranks != nullptr) hooks_.ranks->broadcast(model_->kernel().parameters().raw().detach(), 0);
  model_->place_maps(training_);
}

void Stage::take_kernels(const Stage& from) {
  if (!model_->has_kernels()) return;
  model_->kernel().parameters().raw().detach().copy_(from.model_->kernel().parameters().raw());
  model_->place_maps(training_);
}

void Stage::descend(std::int64_t last, const Checkpoint* resume, const Stage* from) {
  if (resume != nullptr) {
    // A script among the tensors has been trusted by who loaded the checkpoint.
    model_ = std::make_shared<Model>(plan_.spec, encoder_, resume->tensors, options_, /*trust=*/true);
    if (hooks_.planned) hooks_.planned(plan_);
  } else {
    make_model();
    if (from != nullptr) {
      take_kernels(*from);
    } else {
      warm_up();
    }
  }
  Trainer trainer(*model_, plan_.options, training_, validation_.size() > 0 ? &validation_ : nullptr,
                  encoder_.target_scaling.sd, hooks_, phase_);
  if (resume != nullptr) trainer.restore(*resume);
  const auto clock = std::chrono::steady_clock::now();
  trainer.run(last);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count();
  epochs_ = trainer.epochs_done();
  best_epoch_ = validation_.size() > 0 ? trainer.best_epoch() : epochs_;
  const Likelihood& likelihood = likelihood_of(plan_.options);
  noise_ = likelihood.conjugate && likelihood.learns_scale ? trainer.noise() : 0.0;
  waiting_ = trainer.waiting();
}

bool Stage::polish() {
  if (!plan_.options.polish || !likelihood_of(plan_.options).conjugate) return false;
  if (encoder_.weights || encoder_.error) return false;                // a ridge regression takes all rows alike
  if (plan_.options.perturbation != Perturbation::none) return false;  // one solution would make the members alike
  std::vector<at::Tensor> before;
  for (const NamedTensor& each : model_->network_parameters()) before.push_back(each.value.detach().clone());
  const auto error = [&] {
    FittedModel members = fitted();
    members.posterior = Posterior::ensemble;
    return (members.predict_function(validation_).first - validation_.targets()).square().mean().item<double>();
  };
  const double trained = validation_.size() > 0 ? error() : HUGE_VAL;
  if (!solve_last_layers(*model_, training_, plan_.options.seed)) return false;
  if (validation_.size() == 0 || error() < trained) return true;
  std::size_t i = 0;
  for (const NamedTensor& each : model_->network_parameters()) each.value.detach().copy_(before[i++]);
  return false;
}

void Stage::solve(const Stage* from) {
  make_model();
  if (from != nullptr) {
    take_kernels(*from);
    noise_ = from->noise() / encoder_.target_scaling.sd;
    take(from->scales());
  } else if (plan_.options.posterior == Posterior::exact) {
    maximise_evidence();
  } else {
    warm_up();
    const LinearKind kind = plan_.options.posterior == Posterior::ntk ? LinearKind::ntk : LinearKind::nngp;
    scales_ = find_scales(*model_, kind, training_, plan_.options.seed, stated_noise_variance());
    noise_ = std::sqrt(scales_.noise_variance);
  }
  if (plan_.options.posterior != Posterior::exact) return draw();
  const LinearPosterior posterior = linear_posterior(*model_, training_, noise_ * noise_);
  model_->set_linear_weights(posterior.mean.unsqueeze(0));
  factor_ = posterior.factor;
}

void Stage::draw() {
  if (hooks_.progress) {
    Progress progress;
    progress.phase = phase_ + ", draws";
    progress.validation = progress.best = kNone;
    hooks_.progress(progress);
  }
  const Tick tick = [this] { keep_going(); };
  if (plan_.options.posterior == Posterior::ntk) {
    tangent_ = draw_tangent_weights(*model_, training_, scales_, plan_.options.seed, tick);
  } else {
    draw_last_layers(*model_, training_, scales_, plan_.options.seed, tick);
  }
}

Scales Stage::scales() const {
  const double square = encoder_.target_scaling.sd * encoder_.target_scaling.sd;
  return {scales_.amplitude * square, scales_.noise_variance * square};
}

void Stage::take(const Scales& scales) {
  const double square = encoder_.target_scaling.sd * encoder_.target_scaling.sd;
  scales_ = {scales.amplitude / square, scales.noise_variance / square};
}

void Stage::find_direct_variance(const std::optional<Scales>& known) {
  if (known) {
    take(*known);
  } else {
    scales_ = DirectVariance::scales(*model_, training_, plan_.options.seed, stated_noise_variance());
    scales_.noise_variance = std::max(scales_.noise_variance, kLeastNoise * kLeastNoise);
  }
  direct_ = std::make_shared<DirectVariance>(*model_, training_, scales_, plan_.options.seed);
}

void Stage::maximise_evidence() {
  constexpr std::int64_t kMostRows = 8192;
  const Dataset rows =
      training_.select(draw_rows(training_.size(), kMostRows, seed_for(plan_.options.seed, "evidence rows")));
  EvidenceSearch search(
      model_->kernel(), products_of(plan_.spec), rows.size(),
      [&](const at::Tensor& log_noise) { return linear_evidence(*model_, rows, log_noise); }, stated_log_noise());
  warm_up();
  const at::Tensor& raw = model_->kernel().parameters().raw();
  std::vector<double> from(raw.data_ptr<double>(), raw.data_ptr<double>() + raw.numel());
  from.push_back(stated_log_noise().value_or(log_noise_));
  const int steps = static_cast<int>(plan_.options.epochs);
  const auto clock = std::chrono::steady_clock::now();
  const LbfgsResult best = search.search(from, steps, [&](int step, double value) {
    if (hooks_.progress) {
      Progress progress;
      progress.phase = phase_;
      progress.epoch = step;
      progress.epochs = steps;
      progress.loss = value;
      progress.validation = progress.best = kNone;
      progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count();
      progress.rows_per_second = static_cast<double>(rows.size()) * step / std::max(progress.seconds, 1e-9);
      progress.seconds_left = progress.seconds / step * (steps - step);
      hooks_.progress(progress);
    }
    return keep_going();
  });
  search(best.x);
  epochs_ = best_epoch_ = best.iterations;
  noise_ = std::max(kLeastNoise, std::exp(0.5 * best.x.back()));
  model_->place_maps(training_);
}

FittedModel Stage::fitted() const {
  FittedModel result;
  result.encoder = encoder_;
  result.options = options_;
  result.model = model_;
  result.posterior = plan_.options.posterior;
  result.likelihood = &likelihood_of(plan_.options);
  result.amplitude = scales_.amplitude;
  result.factor = factor_;
  result.tangent = tangent_;
  result.direct = direct_;
  return result;
}

Dataset judged_training_rows(const Dataset& training, std::uint64_t seed) {
  constexpr std::int64_t kMost = 1'000'000;  // enough for one number, the noise
  return training.subset(draw_rows(training.size(), kMost, seed_for(seed, "judged rows")));
}

Unseen Stage::unseen() const {
  const Dataset rows = validation_.size() > 0 ? validation_ : judged_training_rows(training_, plan_.options.seed);
  const FittedModel model = fitted();
  if (model.likelihood->has_classes()) return {rows, model.member_functions(rows), {}, rows.targets()};
  const Scaling& scaling = encoder_.target_scaling;
  const auto [mean, variance] = model.predict_function(rows);
  return {rows, mean * scaling.sd + scaling.mean, variance * (scaling.sd * scaling.sd),
          rows.targets() * scaling.sd + scaling.mean};
}

}  // namespace ick
