#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "model/likelihood.h"
#include "train/epochs.h"

namespace ick {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Lays tensors of one type end to end and lets them be views of the whole, values and gradients alike.
ParameterGroup flatten(std::string name, const std::vector<at::Tensor>& tensors, double rate, double weight_decay) {
  ParameterGroup group;
  group.name = std::move(name);
  group.rate = rate;
  group.weight_decay = weight_decay;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& each : tensors) flat.push_back(each.detach().reshape(-1));
  group.value = at::cat(flat).requires_grad_(true);
  group.value.mutable_grad() = at::zeros_like(group.value);
  std::int64_t first = 0;
  for (at::Tensor each : tensors) {
    each.set_data(group.value.detach().narrow(0, first, each.numel()).view(each.sizes()));
    each.mutable_grad() = group.value.grad().narrow(0, first, each.numel()).view(each.sizes());
    group.members.push_back(each.grad());
    first += each.numel();
  }
  return group;
}

// The optimiser's memory of a parameter, by name. Adam and AdamW keep the same things.
template <class State>
void save_moments(const torch::optim::OptimizerParamState& state, const std::string& prefix, Checkpoint& to) {
  const auto& moments = static_cast<const State&>(state);
  to.numbers[prefix + "step"] = static_cast<double>(moments.step());
  to.tensors.emplace_back(prefix + "first", moments.exp_avg().clone());
  to.tensors.emplace_back(prefix + "second", moments.exp_avg_sq().clone());
}

const at::Tensor& tensor_of(const Checkpoint& checkpoint, const std::string& name) {
  for (const auto& [each, tensor] : checkpoint.tensors) {
    if (each == name) return tensor;
  }
  throw DataError("the checkpoint has no tensor named \"" + name + "\"; it belongs to another fit");
}

double number_of(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.numbers.find(name);
  if (found == checkpoint.numbers.end()) {
    throw DataError("the checkpoint has no number named \"" + name + "\"; it belongs to another fit");
  }
  return found->second;
}

template <class State>
std::unique_ptr<State> load_moments(const Checkpoint& from, const std::string& prefix) {
  auto moments = std::make_unique<State>();
  moments->step(static_cast<std::int64_t>(number_of(from, prefix + "step")));
  moments->exp_avg(tensor_of(from, prefix + "first").clone());
  moments->exp_avg_sq(tensor_of(from, prefix + "second").clone());
  return moments;
}

std::string key_of(const at::Tensor& value) { return c10::guts::to_string(value.unsafeGetTensorImpl()); }

}  // namespace

Trainer::Trainer(Model& model, const FitOptions& options, const Dataset& training, const Dataset* validation,
                 double unit, const FitHooks& hooks, std::string phase)
    : model_(model),
      options_(options),
      training_(training),
      validation_(validation),
      unit_(unit),
      hooks_(hooks),
      phase_(std::move(phase)),
      steps_per_epoch_((training.size() + options.batch - 1) / options.batch) {
  const Family family = options_.family.value_or(Family::gaussian);
  if (family == Family::student || (family == Family::gaussian && options_.loss == Loss::gaussian)) {
    log_noise_ = at::full({model.members()}, std::log(0.1), at::kDouble).requires_grad_(true);
  }
  if (options_.kernels == KernelTraining::held) {
    features_ = held_features(training_);
    if (validation_ != nullptr) validation_features_ = held_features(*validation_);
  }
  if (!training_.images.empty()) {
    std::vector<Augmentation> augmentations;
    for (const TermSpec& term : model.spec().terms) {
      for (const Call& call : term.networks) augmentations.push_back(augmentation_of(call));
    }
    loader_ = std::make_unique<Loader>(training_, std::move(augmentations), options_.seed, options_.loaders);
  }
  for (const NamedTensor& each : model.buffers()) {
    if (each.value.is_floating_point()) buffers_.push_back(each.value);  // a script's bytes never change
  }
  perturb();
  make_groups();
  make_optimiser();
}

// A member's draws follow from its number, not from how many there are.
void Trainer::perturb() {
  if (options_.perturbation == Perturbation::none) return;
  const std::int64_t members = model_.members(), n = training_.size();
  const bool noise = options_.perturbation == Perturbation::noise;
  at::Tensor drawn = at::zeros({members, n}, at::kFloat);
  for (std::int64_t e = 0; e < members; ++e) {
    Random random(seed_for(options_.seed, "perturbation#" + std::to_string(e)));
    float* row = drawn[e].data_ptr<float>();
    for (std::int64_t i = 0; i < n; ++i) {
      if (noise) {
        row[i] = static_cast<float>(options_.noise / unit_ * random.normal());
      } else {
        row[random.below(n)] += 1.0F;
      }
    }
  }
  (noise ? targets_ : weights_) = noise ? drawn + training_.y : drawn;
}

Batch Trainer::batch_of(const at::Tensor& index) const {
  std::vector<at::Tensor> inputs;
  for (std::size_t a = 0; a < training_.networks.size(); ++a) inputs.push_back(training_.inputs(a, index));
  return batch_of(index, std::move(inputs));
}

// Rows of the next steps are asked for before those of this one are taken.
Batch Trainer::next_batch(const at::Tensor& order) {
  const auto rows = [&](std::int64_t step) {
    const std::int64_t first = step * options_.batch;
    return order.narrow(0, first, std::min(options_.batch, training_.size() - first));
  };
  if (loader_ == nullptr) return batch_of(rows(step_));
  constexpr std::int64_t kAhead = 4;
  for (std::int64_t next = step_ + static_cast<std::int64_t>(loader_->asked());
       next < std::min(step_ + kAhead, steps_per_epoch_); ++next) {
    loader_->ask(rows(next), epoch_);
  }
  return batch_of(rows(step_), loader_->take());
}

Batch Trainer::batch_of(const at::Tensor& index, std::vector<at::Tensor> inputs) const {
  Batch batch;
  batch.x = training_.x.index_select(0, index);
  batch.networks = std::move(inputs);
  for (const at::Tensor& each : features_) {
    batch.features.push_back(each.defined() ? each.index_select(1, index) : each);
  }
  batch.y = targets_.defined() ? targets_.index_select(1, index) : training_.y.index_select(0, index);
  if (weights_.defined()) batch.weights = weights_.index_select(1, index);
  return batch;
}

// Features of all rows, once for all members when their kernels are alike. Empty when there are none, or when they
// would take more memory than they save time.
std::vector<at::Tensor> Trainer::held_features(const Dataset& rows) const {
  constexpr double kMostBytes = 1e9;
  if (!model_.has_kernels()) return {};
  at::NoGradGuard no_grad;
  const at::Tensor raw = model_.kernel().parameters().raw();
  const std::int64_t kept = raw.eq(raw.narrow(0, 0, 1)).all().item<bool>() ? 1 : raw.size(0);
  if (4.0 * static_cast<double>(rows.size() * kept * model_.features()) > kMostBytes) return {};
  constexpr std::int64_t kBlock = 4096;
  std::vector<at::Tensor> all;
  for (std::int64_t first = 0; first < rows.size(); first += kBlock) {
    const std::int64_t count = std::min(kBlock, rows.size() - first);
    const std::vector<at::Tensor> block = model_.features_at(rows.x.narrow(0, first, count));
    all.resize(block.size());
    for (std::size_t t = 0; t < block.size(); ++t) {
      if (!block[t].defined()) continue;
      if (!all[t].defined()) all[t] = at::empty({kept, rows.size(), block[t].size(2)}, block[t].options());
      all[t].narrow(1, first, count).copy_(block[t].narrow(0, 0, kept));
    }
  }
  return all;
}

Trainer::~Trainer() = default;

// Weights decay, biases do not; kernel parameters never do and learn at their own rate.
void Trainer::make_groups() {
  std::vector<at::Tensor> decaying, steady, kernel;
  for (const NamedTensor& each : model_.network_parameters()) (each.decays ? decaying : steady).push_back(each.value);
  if (options_.kernels != KernelTraining::held) {
    for (const NamedTensor& each : model_.kernel_parameters()) kernel.push_back(each.value);
  }
  if (log_noise_.defined()) kernel.push_back(log_noise_);
  if (!decaying.empty()) groups_.push_back(flatten("decaying", decaying, 1.0, options_.weight_decay));
  groups_.push_back(flatten("steady", steady, 1.0, 0.0));
  if (!kernel.empty()) groups_.push_back(flatten("kernel", kernel, options_.kernel_rate, 0.0));
}

void Trainer::make_optimiser() {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (const ParameterGroup& group : groups_) {
    const double rate = options_.learning_rate * group.rate;
    std::unique_ptr<torch::optim::OptimizerOptions> settings;
    switch (options_.optimiser) {
      case Optimiser::adam:
        settings = std::make_unique<torch::optim::AdamOptions>(
            torch::optim::AdamOptions(rate).weight_decay(group.weight_decay));
        break;
      case Optimiser::sgd:
        settings = std::make_unique<torch::optim::SGDOptions>(
            torch::optim::SGDOptions(rate).momentum(options_.momentum).weight_decay(group.weight_decay));
        break;
      default:
        settings = std::make_unique<torch::optim::AdamWOptions>(
            torch::optim::AdamWOptions(rate).weight_decay(group.weight_decay));
    }
    groups.emplace_back(std::vector<at::Tensor>{group.value}, std::move(settings));
  }
  if (options_.optimiser == Optimiser::adam) {
    optimiser_ = std::make_unique<torch::optim::Adam>(groups);
  } else if (options_.optimiser == Optimiser::sgd) {
    optimiser_ = std::make_unique<torch::optim::SGD>(groups, torch::optim::SGDOptions(options_.learning_rate));
  } else {
    optimiser_ = std::make_unique<torch::optim::AdamW>(groups);
  }
}

at::Tensor Trainer::loss(const Batch& batch, const std::optional<at::Generator>& training) const {
  const at::Tensor f = model_(batch, training);  // (E, B) or (E, B, C)
  const auto mean = [&](const at::Tensor& each) {
    return (batch.weights.defined() ? each * batch.weights : each).mean(1);
  };
  const Family family = options_.family.value_or(Family::gaussian);
  if (family != Family::gaussian && family != Family::student) return mean(surprise(family, options_.link, f, batch.y));
  const at::Tensor residual = f - batch.y.to(f.scalar_type());
  if (family == Family::student) return mean(student_surprise(residual, log_noise_));
  switch (options_.loss) {
    case Loss::mse:
      return mean(residual.square());
    case Loss::mae:
      return mean(residual.abs());
    case Loss::huber: {  // quadratic within one deviation of the target, linear beyond
      const at::Tensor size = residual.abs();
      return mean(at::where(size < 1.0, 0.5 * residual.square(), size - 0.5));
    }
    case Loss::gaussian:
      break;
  }
  const at::Tensor squared = mean(residual.to(at::kDouble).square());
  return 0.5 * (std::log(2.0 * std::numbers::pi) + log_noise_ + squared * (-log_noise_).exp());
}

// Each member's gradient over all its parameters is brought down to the norm asked for.
void Trainer::clip() const {
  const auto by_member = [&](const at::Tensor& gradient) { return gradient.view({model_.members(), -1}); };
  at::Tensor squares;  // (E)
  for (const ParameterGroup& group : groups_) {
    for (const at::Tensor& gradient : group.members) {
      const at::Tensor each = by_member(gradient).to(at::kDouble).square().sum(1);
      squares = squares.defined() ? squares + each : each;
    }
  }
  const at::Tensor factor = (options_.clip / (squares.sqrt() + 1e-12)).clamp_max(1.0).unsqueeze(1);
  for (const ParameterGroup& group : groups_) {
    for (const at::Tensor& gradient : group.members) by_member(gradient).mul_(factor.to(gradient.scalar_type()));
  }
}

double Trainer::step(const Batch& batch) {
  const std::uint64_t seed = seed_for(options_.seed, "dropout " + std::to_string(epoch_ * steps_per_epoch_ + step_));
  for (const ParameterGroup& group : groups_) group.value.mutable_grad().zero_();
  // Members are summed: each one's gradient is its own, however many there are.
  const at::Tensor losses = loss(batch, at::make_generator<at::CPUGeneratorImpl>(seed));
  losses.sum().backward();
  if (options_.clip > 0.0) {
    at::NoGradGuard no_grad;
    clip();
  }
  optimiser_->step();
  return losses.detach().mean().item<double>();
}

double Trainer::rate_at(std::int64_t step) const {
  const auto total = static_cast<double>(options_.epochs * steps_per_epoch_);
  const double at = static_cast<double>(step) / std::max(total, 1.0);
  switch (options_.schedule) {
    case Schedule::onecycle:
      return one_cycle(at);
    case Schedule::cosine:
      return cosine(at);
    case Schedule::constant:
      return 1.0;
  }
  return 1.0;
}

double Trainer::validate() const {
  if (validation_ == nullptr) return std::numeric_limits<double>::quiet_NaN();
  at::NoGradGuard no_grad;
  const std::int64_t rows = validation_->size(), block = validation_->block(4096);
  const Family family = options_.family.value_or(Family::gaussian);
  const bool numbers = family == Family::gaussian || family == Family::student;
  double sum = 0.0;
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t count = std::min(block, rows - first);
    Batch batch = ick::batch_of(*validation_, first, count);
    for (const at::Tensor& each : validation_features_) {
      batch.features.push_back(each.defined() ? each.narrow(1, first, count) : each);
    }
    const at::Tensor f = model_(batch).to(at::kDouble);
    if (numbers) {
      sum += (f.mean(0) - batch.y).square().sum().item<double>();
    } else if (family == Family::poisson) {  // of the mean over members, as those of classes
      const at::Tensor rate = f.exp().mean(0);
      sum += (rate - batch.y * rate.log() + at::lgamma(batch.y + 1.0)).sum().item<double>();
    } else {
      const at::Tensor p = probabilities(family, options_.link, f).mean(0);  // (B, C)
      sum -= p.gather(1, batch.y.to(at::kLong).unsqueeze(1)).clamp_min(1e-300).log().sum().item<double>();
    }
  }
  const double mean = sum / static_cast<double>(rows);
  return numbers ? unit_ * std::sqrt(mean) : mean;
}

void Trainer::keep_if_best(double validation) {
  if (validation_ == nullptr || !(validation < best_)) return;
  best_ = validation;
  best_epoch_ = epoch_;
  best_values_ = values();
}

std::vector<at::Tensor> Trainer::values() const {
  std::vector<at::Tensor> all;
  for (const ParameterGroup& group : groups_) all.push_back(group.value.detach().clone());
  for (const at::Tensor& each : buffers_) all.push_back(each.clone());
  return all;
}

void Trainer::load(const std::vector<at::Tensor>& values) const {
  std::size_t i = 0;
  for (const ParameterGroup& group : groups_) group.value.detach().copy_(values[i++]);
  for (const at::Tensor& each : buffers_) each.copy_(values[i++]);
}

void Trainer::report(std::int64_t end, double validation, double seconds, double rows) const {
  if (!hooks_.progress) return;
  Progress progress;
  progress.phase = phase_;
  const Family family = options_.family.value_or(Family::gaussian);
  if (has_classes(family)) progress.measure = "log_loss";
  if (family == Family::poisson) progress.measure = "nlpd";
  progress.epoch = epoch_;
  progress.epochs = end;
  progress.loss = loss_sum_ / static_cast<double>(training_.size());
  progress.validation = validation;
  progress.best = std::isfinite(best_) ? best_ : std::numeric_limits<double>::quiet_NaN();
  progress.learning_rate = options_.learning_rate * rate_at(epoch_ * steps_per_epoch_);
  progress.seconds = seconds;
  progress.rows_per_second = seconds > 0.0 ? rows / seconds : 0.0;
  progress.waiting = seconds > 0.0 ? waiting() / seconds : 0.0;
  const double epochs_done = rows / static_cast<double>(training_.size());
  progress.seconds_left = epochs_done > 0.0 ? seconds / epochs_done * static_cast<double>(end - epoch_) : 0.0;
  hooks_.progress(progress);
}

void Trainer::run(std::int64_t last) {
  const Clock::time_point start = Clock::now();
  Clock::time_point saved = start;
  double rows = 0.0;
  const std::int64_t end = last > 0 ? std::min(last, options_.epochs) : options_.epochs;
  const auto patient = [&] { return validation_ == nullptr || epoch_ - best_epoch_ < options_.patience; };
  while (epoch_ < end && patient()) {
    const std::uint64_t seed = seed_for(options_.seed, "epoch " + std::to_string(epoch_));
    const at::Tensor index = at::tensor(shuffled(training_.size(), seed), at::kLong);
    for (; step_ < steps_per_epoch_; ++step_) {
      const bool stop = hooks_.interrupted && hooks_.interrupted();
      if (hooks_.checkpoint && (stop || seconds_since(saved) >= options_.checkpoint_seconds)) {
        hooks_.checkpoint(checkpoint());
        saved = Clock::now();
      }
      if (stop && loader_ != nullptr) loader_->forget();
      if (stop) throw Interrupted("the fit was interrupted in epoch " + std::to_string(epoch_ + 1));
      const double rate = options_.learning_rate * rate_at(epoch_ * steps_per_epoch_ + step_);
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        optimiser_->param_groups()[g].options().set_lr(rate * groups_[g].rate);
      }
      const Batch batch = next_batch(index);
      const std::int64_t count = batch.x.size(0);
      const double value = step(batch);
      if (!std::isfinite(value)) {
        throw NumericError("the loss is not finite in epoch " + std::to_string(epoch_ + 1) + ", step " +
                           std::to_string(step_ + 1) + "; lower --learning-rate (now " +
                           number_text(options_.learning_rate) + ") or set --clip 1");
      }
      loss_sum_ += value * static_cast<double>(count);
      rows += static_cast<double>(count);
    }
    if (model_.has_kernels()) model_.kernel().parameters().check();
    ++epoch_;
    const double validation = validate();
    keep_if_best(validation);
    report(end, validation, seconds_since(start), rows);
    step_ = 0;
    loss_sum_ = 0.0;
  }
  if (!best_values_.empty()) load(best_values_);
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint state;
  state.phase = phase_;
  state.numbers = {{"epoch", static_cast<double>(epoch_)},
                   {"step", static_cast<double>(step_)},
                   {"loss_sum", loss_sum_},
                   {"best", std::isfinite(best_) ? best_ : 0.0},
                   {"best_epoch", static_cast<double>(best_epoch_)}};
  state.tensors = model_.state();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const ParameterGroup& group = groups_[g];
    const std::string prefix = "optimiser." + group.name + ".";
    state.tensors.emplace_back(prefix + "value", group.value.detach().clone());
    if (!best_values_.empty()) state.tensors.emplace_back(prefix + "best", best_values_[g].clone());
    const auto moments = optimiser_->state().find(key_of(group.value));
    if (moments == optimiser_->state().end()) continue;
    if (options_.optimiser == Optimiser::adam) {
      save_moments<torch::optim::AdamParamState>(*moments->second, prefix, state);
    } else if (options_.optimiser == Optimiser::sgd) {
      const auto& kept = static_cast<const torch::optim::SGDParamState&>(*moments->second);
      state.tensors.emplace_back(prefix + "momentum", kept.momentum_buffer().clone());
    } else {
      save_moments<torch::optim::AdamWParamState>(*moments->second, prefix, state);
    }
  }
  for (std::size_t b = 0; b < buffers_.size() && !best_values_.empty(); ++b) {
    state.tensors.emplace_back("best.buffer" + std::to_string(b + 1), best_values_[groups_.size() + b].clone());
  }
  return state;
}

void Trainer::restore(const Checkpoint& from) {
  epoch_ = static_cast<std::int64_t>(number_of(from, "epoch"));
  step_ = static_cast<std::int64_t>(number_of(from, "step"));
  loss_sum_ = number_of(from, "loss_sum");
  const double best = number_of(from, "best");
  best_epoch_ = static_cast<std::int64_t>(number_of(from, "best_epoch"));
  if (best_epoch_ > 0) best_ = best;
  std::vector<at::Tensor> values;
  for (const ParameterGroup& group : groups_) {
    const std::string prefix = "optimiser." + group.name + ".";
    values.push_back(tensor_of(from, prefix + "value"));
    if (values.back().sizes() != group.value.sizes()) {
      throw DataError("the checkpoint's parameters have another size than the model's; it belongs to another fit");
    }
    if (best_epoch_ > 0) best_values_.push_back(tensor_of(from, prefix + "best").clone());
    if (epoch_ * steps_per_epoch_ + step_ == 0) continue;
    std::unique_ptr<torch::optim::OptimizerParamState> state;
    if (options_.optimiser == Optimiser::adam) {
      state = load_moments<torch::optim::AdamParamState>(from, prefix);
    } else if (options_.optimiser == Optimiser::sgd) {
      auto kept = std::make_unique<torch::optim::SGDParamState>();
      kept->momentum_buffer(tensor_of(from, prefix + "momentum").clone());
      state = std::move(kept);
    } else {
      state = load_moments<torch::optim::AdamWParamState>(from, prefix);
    }
    optimiser_->state()[key_of(group.value)] = std::move(state);
  }
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    values.push_back(buffers_[b].clone());  // the model was made with them
    if (best_epoch_ > 0) best_values_.push_back(tensor_of(from, "best.buffer" + std::to_string(b + 1)).clone());
  }
  load(values);
}

double Trainer::noise() const { return log_noise_.detach().exp().mean().sqrt().item<double>(); }

}  // namespace ick
