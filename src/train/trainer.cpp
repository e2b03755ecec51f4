#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "dataset/recipe.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "train/epochs.h"
#include "train/gather.h"

namespace ick {

namespace {

// Rows of the whole step, of which other processes have some.
std::int64_t rows_in(const Batch& batch) { return batch.whole > 0 ? batch.whole : batch.x.size(0); }

}  // namespace

Trainer::Trainer(Model& model, std::unique_ptr<Objective> objective, const FitOptions& options, const Dataset& training,
                 const Dataset* validation, double unit, const FitHooks& hooks, std::string phase)
    : model_(model),
      objective_(std::move(objective)),
      options_(options),
      training_(training),
      validation_(validation),
      unit_(unit),
      hooks_(hooks),
      phase_(std::move(phase)),
      rate_(options.learning_rate),
      scheduled_(options.epochs),
      steps_per_epoch_((training.size() + options.batch - 1) / options.batch) {
  if (options_.kernels == KernelTraining::held) {
    features_ = held_features(training_);
    if (validation_ != nullptr) validation_features_ = held_features(*validation_);
  }
  if (!training_.images.empty()) {
    std::vector<Augmentation> augmentations;
    for (const TermSpec& term : model.spec().terms) {
      for (const NetworkSpec& network : term.networks) augmentations.push_back(network.augmentation);
    }
    loader_ = std::make_unique<Loader>(training_, std::move(augmentations), options_.seed, options_.loaders);
  }
  for (const NamedTensor& each : model.buffers()) {
    if (each.value.is_floating_point()) buffers_.push_back(each.value);  // a script's bytes never change
  }
  perturb();
  make_groups();
  if (options_.path == Path::fused && training_.images.empty()) fused_ = objective_->fused(model_);
  // Kernels that are learned take their gradients of all members at once.
  const bool apart = fused_ != nullptr && !learns_kernels();
  sharing_ = std::make_unique<Sharing>(hooks_.ranks, model_.members(), apart);
  sharing_->start_alike(groups_, buffers_);
}

bool Trainer::learns_kernels() const { return options_.kernels != KernelTraining::held && model_.has_kernels(); }

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
  (noise ? noise_ : weights_) = drawn;
}

Batch Trainer::batch_of(const at::Tensor& index) const {
  std::vector<at::Tensor> inputs;
  for (std::size_t a = 0; a < training_.networks.size() && !training_.images.empty(); ++a) {
    inputs.push_back(training_.inputs(a, index));
  }
  return batch_of(index, std::move(inputs));
}

// Rows of the next steps are asked for before those of this one are taken.
Batch Trainer::next_batch(RowOrder& order) {
  const auto rows = [this, &order](std::int64_t step) { return order.rows(step, sharing_->part(), sharing_->parts()); };
  Batch batch;
  if (loader_ != nullptr) {
    constexpr std::int64_t kAhead = 4;
    for (std::int64_t next = step_ + static_cast<std::int64_t>(loader_->asked());
         next < std::min(step_ + kAhead, steps_per_epoch_); ++next) {
      loader_->ask(rows(next), epoch_);
    }
    batch = batch_of(rows(step_), loader_->take());
  } else {
    batch = ahead_ ? *std::exchange(ahead_, {}) : batch_of(rows(step_));
    meanwhile_ = [this, rows, next = step_ + 1] { ahead_ = batch_of(rows(next)); };
    if (fused_ == nullptr || step_ + 1 == steps_per_epoch_) meanwhile_ = {};
  }
  batch.whole = order.count(step_);
  return batch;
}

// `inputs` of networks, unless they are the dataset's own numbers.
Batch Trainer::batch_of(const at::Tensor& index, std::vector<at::Tensor> inputs) const {
  Batch batch;
  at::Tensor row_weights;
  if (training_.held()) {
    const auto of_rows = [&](const at::Tensor& all) { return all.defined() ? gather_rows(all, index, 0) : all; };
    batch.x = gather_rows(training_.x, index, 0);
    batch.y = gather_rows(training_.y, index, 0);
    batch.offset = of_rows(training_.offset);
    batch.error = of_rows(training_.error);
    row_weights = of_rows(training_.weights);
    for (std::size_t a = 0; a < training_.networks.size() && inputs.empty(); ++a) {
      batch.networks.push_back(gather_rows(training_.networks[a], index, 0));
    }
  } else {
    Dataset rows = training_.select(index);
    batch.x = std::move(rows.x);
    batch.y = std::move(rows.y);
    batch.offset = std::move(rows.offset);
    batch.error = std::move(rows.error);
    row_weights = std::move(rows.weights);
    batch.networks = std::move(rows.networks);
  }
  if (!inputs.empty()) batch.networks = std::move(inputs);
  for (const at::Tensor& each : features_) {
    batch.features.push_back(each.defined() ? gather_rows(each, index, 1) : each);
  }
  if (noise_.defined()) batch.y = batch.y + gather_rows(noise_, index, 1);
  if (weights_.defined()) batch.weights = gather_rows(weights_, index, 1);
  if (row_weights.defined()) {
    const at::Tensor own = row_weights.to(at::kFloat);
    batch.weights = (batch.weights.defined() ? batch.weights * own : own.expand({model_.members(), -1})).contiguous();
  }
  return batch;
}

// Features of all rows, once for all members when their kernels are alike. Empty when there are none, or when they
// would take more memory than they save time.
std::vector<at::Tensor> Trainer::held_features(const Dataset& rows) const {
  constexpr double kMostBytes = 256e6;
  if (!model_.has_kernels()) return {};
  at::NoGradGuard no_grad;
  const at::Tensor raw = model_.kernel().parameters().raw();
  const std::int64_t kept = raw.eq(raw.narrow(0, 0, 1)).all().item<bool>() ? 1 : raw.size(0);
  if (4.0 * static_cast<double>(rows.size() * kept * model_.features()) > kMostBytes) return {};
  constexpr std::int64_t kBlock = 4096;
  std::vector<at::Tensor> all;
  for (std::int64_t first = 0; first < rows.size(); first += kBlock) {
    const std::int64_t count = std::min(kBlock, rows.size() - first);
    const std::vector<at::Tensor> block = model_.features_at(rows.x_of(first, count));
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
  for (const at::Tensor& each : objective_->parameters()) kernel.push_back(each);
  if (!decaying.empty()) groups_.push_back(flatten("decaying", decaying, 1.0, options_.weight_decay));
  groups_.push_back(flatten("steady", steady, 1.0, 0.0));
  if (!kernel.empty()) groups_.push_back(flatten("kernel", kernel, options_.kernel_rate, 0.0));
}

at::Tensor Trainer::loss(const Batch& batch, const std::optional<at::Generator>& training) const {
  return objective_->loss(model_, batch, training);
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
  const double loss = differentiate(batch);
  sharing_->add_up(groups_);
  if (options_.clip > 0.0) {
    at::NoGradGuard no_grad;
    clip();
  }
  for (ParameterGroup& group : groups_) update(options_, rate_, group);
  return loss;
}

double Trainer::differentiate(const Batch& batch) {
  if (batch.x.size(0) == 0) {  // all rows of the step are other processes'
    if (meanwhile_) std::exchange(meanwhile_, {})();
    for (const ParameterGroup& group : groups_) group.value.mutable_grad().zero_();
    return 0.0;
  }
  if (fused_ != nullptr) return differentiate_fused(batch);
  std::string name = "dropout " + std::to_string(epoch_ * steps_per_epoch_ + step_);
  if (sharing_->part() > 0) name += " part " + std::to_string(sharing_->part());
  const std::uint64_t seed = seed_for(options_.seed, name);
  for (const ParameterGroup& group : groups_) group.value.mutable_grad().zero_();
  // Members are summed: each one's gradient is its own, however many there are.
  const at::Tensor losses = loss(batch, at::make_generator<at::CPUGeneratorImpl>(seed));
  const double share = static_cast<double>(batch.x.size(0)) / static_cast<double>(rows_in(batch));
  (share == 1.0 ? losses.sum() : losses.sum() * share).backward();
  return share * losses.detach().mean().item<double>();
}

// Networks and loss by themselves; what is learned of kernels by autograd, from the features on.
double Trainer::differentiate_fused(const Batch& batch) {
  for (const ParameterGroup& group : groups_) {
    if (group.name == "kernel") group.value.mutable_grad().zero_();
  }
  const bool learned = learns_kernels();
  std::vector<at::Tensor> features = batch.features;
  if (features.empty() && model_.has_kernels()) {
    const at::AutoGradMode mode(learned);
    features = model_.features_at(batch.x);
  }
  d_features_.resize(learned ? features.size() : 0);
  for (std::size_t t = 0; t < d_features_.size(); ++t) {
    if (!features[t].defined()) continue;
    if (!d_features_[t].defined() || d_features_[t].sizes() != features[t].sizes()) {
      const at::Tensor& z = features[t];
      d_features_[t] = at::empty({z.size(0), z.size(2), z.size(1)}, at::kFloat).transpose(1, 2);
    }
  }
  const std::vector<double>& losses =
      (*fused_)({batch, features, d_features_, rows_in(batch), {sharing_->first_member(), sharing_->end_member()}},
                std::exchange(meanwhile_, {}));
  torch::autograd::variable_list roots, slopes;
  for (std::size_t t = 0; t < d_features_.size(); ++t) {
    if (!features[t].defined() || !features[t].requires_grad()) continue;
    roots.push_back(features[t]);
    slopes.push_back(d_features_[t]);
  }
  if (!roots.empty()) torch::autograd::backward(roots, slopes);
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

at::Tensor Trainer::functions(const Batch& batch) const {
  at::NoGradGuard no_grad;
  if (fused_ == nullptr) return model_(batch);
  const bool known = !batch.features.empty() || !model_.has_kernels();
  return fused_->functions(batch, known ? batch.features : model_.features_at(batch.x));
}

double Trainer::validate() const {
  if (validation_ == nullptr) return std::numeric_limits<double>::quiet_NaN();
  at::NoGradGuard no_grad;
  const std::int64_t rows = validation_->size(), block = validation_->block(4096), blocks = (rows + block - 1) / block;
  Objective::Sum sum;
  for (std::int64_t first = 0; first < rows; first += block) {
    if (!sharing_->takes(first / block, blocks)) continue;
    const std::int64_t count = std::min(block, rows - first);
    Batch batch = ick::batch_of(*validation_, first, count);
    for (const at::Tensor& each : validation_features_) {
      batch.features.push_back(each.defined() ? each.narrow(1, first, count) : each);
    }
    const Objective::Sum more = objective_->validate(functions(batch), batch);
    sum.cost += more.cost, sum.weight += more.weight;
  }
  return objective_->score(sharing_->total(sum.cost) / sharing_->total(sum.weight), unit_);
}

double Trainer::rate_at(std::int64_t step) const {
  const auto total = static_cast<double>(scheduled_ * steps_per_epoch_);
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
  progress.measure = objective_->measure();
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
  try {
    run_epochs(last);
  } catch (const RankLost&) {
    // What this process has of others' members is of the last time that all put theirs together.
    const bool writes = hooks_.checkpoint && sharing_->first();
    if (writes && sharing_->all_members()) {
      hooks_.checkpoint(checkpoint());
    } else if (writes && whole_) {
      hooks_.checkpoint(*whole_);
    }
    throw;
  }
}

// Whether to stop and whether to write a checkpoint. Processes agree on both from time to time, and on when they will
// next: they wait for the slowest of them then.
void Trainer::pause(Stopwatch& saved) {
  const std::int64_t now = epoch_ * steps_per_epoch_ + step_;
  if (now < next_pause_) return;
  const bool due = sharing_->first() && saved.seconds() >= options_.checkpoint_seconds;
  const std::vector<bool> said = sharing_->any({hooks_.interrupted && hooks_.interrupted(), due});
  if (said[0] || said[1]) {
    sharing_->collect(groups_);
    loss_sum_ = sharing_->first() ? sharing_->total(loss_sum_) : (sharing_->total(loss_sum_), 0.0);
    if (hooks_.checkpoint && sharing_->first()) hooks_.checkpoint(checkpoint());
    saved.restart();
  }
  if (!sharing_->alone()) {
    constexpr double kSeconds = 0.5;
    const double seconds = paused_.seconds(), steps = static_cast<double>(now - last_pause_);
    const double asked = std::clamp(std::floor(steps * kSeconds / std::max(seconds, 1e-9)), 1.0, 2.0 * steps + 1.0);
    next_pause_ = now + static_cast<std::int64_t>(sharing_->total(sharing_->first() ? asked : 0.0));
    last_pause_ = now;
    paused_.restart();
  }
  if (said[0] && loader_ != nullptr) loader_->forget();
  if (said[0]) throw Interrupted("the fit was interrupted in epoch " + std::to_string(epoch_ + 1));
}

void Trainer::run_epochs(std::int64_t last) {
  const Stopwatch watch;
  Stopwatch saved = paused_ = watch;
  last_pause_ = next_pause_ = epoch_ * steps_per_epoch_ + step_;
  double rows = 0.0;
  const std::int64_t end = last > 0 ? std::min(last, options_.epochs) : options_.epochs;
  scheduled_ = end;  // a run that ends earlier lowers its rate earlier
  const auto patient = [&] { return validation_ == nullptr || epoch_ - best_epoch_ < options_.patience; };
  while (epoch_ < end && patient()) {
    const std::uint64_t seed = seed_for(options_.seed, "epoch " + std::to_string(epoch_));
    RowOrder order(training_.size(), options_.batch, seed, [this](auto... some) { expect_rows(training_, some...); });
    ahead_ = {};
    for (; step_ < steps_per_epoch_; ++step_) {
      pause(saved);
      rate_ = options_.learning_rate * rate_at(epoch_ * steps_per_epoch_ + step_);
      const double value = step(next_batch(order));
      if (!std::isfinite(value)) {
        throw NumericError("the loss is not finite in epoch " + std::to_string(epoch_ + 1) + ", step " +
                           std::to_string(step_ + 1) + "; lower " + setting("learning_rate") + " (now " +
                           number_text(options_.learning_rate) + ") or set " + setting("clip", "1"));
      }
      const auto count = static_cast<double>(order.count(step_));
      loss_sum_ += value * count;
      rows += count;
    }
    expect_rows_in_order(training_);
    sharing_->collect(groups_);
    loss_sum_ = sharing_->total(loss_sum_);
    if (model_.has_kernels()) model_.kernel().parameters().check();
    const double validation = validate();  // which may lose a process: until then the epoch is not over
    ++epoch_;
    step_ = 0;
    keep_if_best(validation);
    report(end, validation, watch.seconds(), rows);
    loss_sum_ = 0.0;
    if (!sharing_->alone() && sharing_->first()) whole_ = checkpoint();
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
  for (std::size_t t = 0; t < model_.spec().terms.size(); ++t) {
    state.numbers[features_name(t)] = static_cast<double>(model_.spec().terms[t].features);
  }
  state.tensors = model_.state();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const ParameterGroup& group = groups_[g];
    save(group, options_, state);
    if (!best_values_.empty()) state.tensors.emplace_back("optimiser." + group.name + ".best", best_values_[g].clone());
  }
  for (std::size_t b = 0; b < buffers_.size() && !best_values_.empty(); ++b) {
    state.tensors.emplace_back("best.buffer" + std::to_string(b + 1), best_values_[groups_.size() + b].clone());
  }
  return state;
}

void Trainer::restore(const Checkpoint& from) {
  epoch_ = static_cast<std::int64_t>(number_of(from, "epoch"));
  step_ = static_cast<std::int64_t>(number_of(from, "step"));
  loss_sum_ = sharing_->first() ? number_of(from, "loss_sum") : 0.0;
  const double best = number_of(from, "best");
  best_epoch_ = static_cast<std::int64_t>(number_of(from, "best_epoch"));
  if (best_epoch_ > 0) best_ = best;
  for (ParameterGroup& group : groups_) {
    ick::restore(group, options_, epoch_ * steps_per_epoch_ + step_, from);
    if (best_epoch_ > 0) best_values_.push_back(tensor_of(from, "optimiser." + group.name + ".best").clone());
  }
  for (std::size_t b = 0; b < buffers_.size() && best_epoch_ > 0; ++b) {  // the model was made with the present ones
    best_values_.push_back(tensor_of(from, "best.buffer" + std::to_string(b + 1)).clone());
  }
}

}  // namespace ick
