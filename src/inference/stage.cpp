#include "inference/stage.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "ick/train/ranks.h"
#include "inference/engines.h"
#include "inference/enough_features.h"
#include "train/evidence.h"
#include "train/trainer.h"
#include "train/warm_start.h"

namespace ick {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Those of kernels on this column, or on what the calendar says of it, each once.
std::vector<double> periods_of(const Model& model, const Encoder& encoder, const std::string& column) {
  constexpr double kSame = 0.01;
  std::vector<double> periods;
  if (!model.has_kernels()) return periods;
  const auto is_new = [&](double period) {
    return std::none_of(periods.begin(), periods.end(),
                        [&](double each) { return std::abs(period - each) < kSame * each; });
  };
  const ParameterSet& set = model.kernel().parameters();
  for (const std::vector<Factor>& factors : model.kernel().terms()) {
    for (const Factor& f : factors) {
      for (const Parameter& each : set.parameters()) {
        const bool own = each.first >= f.first_parameter && each.first < f.first_parameter + f.parameter_count;
        if (!own || !each.path.ends_with(".period")) continue;
        const at::Tensor values = set.natural(each.path).detach().mean(0);
        for (std::size_t d = 0; d < f.columns.size(); ++d) {
          const KernelColumn& read = encoder.kernel_columns[static_cast<std::size_t>(f.columns[d])];
          const auto place = static_cast<std::int64_t>(values.numel() > 1 ? d : 0);
          std::optional<double> period = values[place].item<double>();
          if (read.info.name != column) {
            const bool calendar = time_behind(encoder.derived, read.info.name) == column;
            period = calendar ? convert(*period, read.unit, "d") : std::nullopt;
          }
          if (period && is_new(*period)) periods.push_back(*period);
        }
      }
    }
  }
  return periods;
}

// Whether a column of numbers has one value in each group of rows with equal cells in `columns`.
bool is_one_in_each(const Table& table, const std::vector<std::string>& columns, const Numbers& values,
                    const std::vector<std::int64_t>& rows) {
  std::map<std::pair<std::vector<double>, std::vector<std::string>>, double> known;
  return std::all_of(rows.begin(), rows.end(), [&](std::int64_t row) {
    std::pair<std::vector<double>, std::vector<std::string>> group;
    for (const std::string& name : columns) {
      const Column& column = table.column(name);
      if (column.values.empty()) {
        group.second.push_back(column.text[static_cast<std::size_t>(row)]);
      } else {
        group.first.push_back(std::isnan(column.values[row]) ? HUGE_VAL : column.values[row]);
      }
    }
    return known.try_emplace(std::move(group), values[row]).first->second == values[row];
  });
}

constexpr char kModes[] = "spread.mode", kSds[] = "spread.sd";  // in checkpoints

void write_spread(const RawSpread& spread, TensorState& to) {
  if (spread.mode.empty()) return;
  to.emplace_back(kModes, at::tensor(spread.mode, at::kDouble));
  to.emplace_back(kSds, at::tensor(spread.sd, at::kDouble));
}

RawSpread read_spread(const TensorState& from) {
  const at::Tensor modes = find_tensor(from, kModes), sds = find_tensor(from, kSds);
  return modes.defined() && sds.defined() ? RawSpread{numbers_of(modes), numbers_of(sds)} : RawSpread{};
}

// Kernel columns of the places by which rows are set apart: those of blocks, and what is one in each group.
std::vector<std::int64_t> kernel_columns_apart(const Table& given, const Encoder& encoder, const Split& split,
                                               const std::vector<std::int64_t>& rows) {
  std::optional<Table> made;
  const Table& table = with_derived(given, encoder.derived, made);
  std::vector<std::int64_t> found;
  const bool groups = split.kind == Split::Kind::group;
  if (!groups && (split.kind != Split::Kind::block || split.columns.size() < 2)) return found;
  for (std::size_t d = 0; d < encoder.kernel_columns.size(); ++d) {
    const std::string& name = encoder.kernel_columns[d].info.name;
    const Numbers& values = table.column(name).values;
    const bool own =
        groups ? !values.empty() && is_one_in_each(table, split.columns, values, rows) : contains(split.columns, name);
    if (own) found.push_back(static_cast<std::int64_t>(d));
  }
  return found;
}

}  // namespace

Stage::Stage(const Table& table, const FitPlan& plan, const std::vector<bool>& use, std::string phase,
             const FitHooks& hooks)
    : table_(table), plan_(plan), hooks_(hooks), phase_(std::move(phase)), log_noise_(kStartLogNoise) {
  // The plan's encoder was fitted on the training rows.
  encoder_ = use == plan.training ? plan.encoder : fit_encoder(table, encoder_plan(plan.spec, plan.options), use);
  training_ = open_rows(table, encoder_, use, &notes_, plan.options.held_bytes);
  if (training_.size() < 2) throw DataError("fewer than 2 rows are left to learn from");
  if (phase_ == "train") {
    validation_ = open_rows(table, encoder_, plan.validation, nullptr, plan.options.held_bytes);
  }
  const Likelihood& likelihood = likelihood_of(plan.options);
  model_options_.members = plan.options.members;
  model_options_.seed = plan.options.seed;
  model_options_.layers = plan.options.layers;
  model_options_.outputs = outputs_of(plan.options, encoder_);
  model_options_.own_kernels = plan.options.own_kernels;
  find_frequencies(plan.spec, training_, likelihood, plan.options.seed, encoder_);
}

void Stage::open_rows_again() {
  training_ = open_rows(table_, encoder_, plan_.training, nullptr, options().held_bytes);
  validation_ = open_rows(table_, encoder_, plan_.validation, nullptr, options().held_bytes);
}

bool Stage::keep_going() const {
  // Several processes stop in training, where they agree on it.
  if (hooks_.ranks != nullptr || !hooks_.interrupted || !hooks_.interrupted()) return true;
  throw Interrupted("the fit was interrupted");
}

std::function<void()> Stage::tick() const {
  return [this] { keep_going(); };
}

void Stage::say(const std::string& what) const {
  if (!hooks_.progress) return;
  Progress progress;
  progress.phase = phase_ + ", " + what;
  progress.validation = progress.best = kNone;
  hooks_.progress(progress);
}

bool Stage::say_step(int step, double value, std::int64_t rows) const {
  if (hooks_.progress) {
    const int steps = static_cast<int>(options().epochs);
    Progress progress;
    progress.phase = phase_;
    progress.epoch = step;
    progress.epochs = steps;
    progress.loss = value;
    progress.validation = progress.best = kNone;
    progress.seconds = watch_.seconds();
    progress.rows_per_second = static_cast<double>(rows) * step / std::max(progress.seconds, 1e-9);
    progress.seconds_left = progress.seconds / step * (steps - step);
    hooks_.progress(progress);
  }
  return keep_going();
}

std::optional<LeftOutParts> Stage::left_out_parts(const Dataset& rows, bool futures, std::size_t most) const {
  const Split& split = *options().validation;
  LeftOutTime time;
  time.futures = futures;
  if (most > 0) time.most = most;
  if (split.kind == Split::Kind::last) {
    for (const double period : periods(time_column_of(table_, split))) time.period = std::max(time.period, period);
  }
  return ick::left_out_parts(table_, plan_, rows, time);
}

std::vector<double> Stage::periods(const std::string& column) const { return periods_of(*model_, encoder_, column); }

std::optional<double> Stage::stated_noise_variance() const {
  if (options().noise <= 0.0) return std::nullopt;
  const double relative = std::max(kLeastNoise, options().noise / encoder_.target_scaling.sd);
  return relative * relative;
}

std::optional<double> Stage::stated_log_noise() const {
  const std::optional<double> variance = stated_noise_variance();
  return variance ? std::optional(std::log(*variance)) : std::nullopt;
}

std::shared_ptr<Model> Stage::new_model(const ModelSpec& spec) const {
  auto model = std::make_shared<Model>(spec, encoder_, training_, model_options_);
  const Likelihood& likelihood = likelihood_of(options());
  if (likelihood.link != Link::identity && !likelihood.has_classes()) {  // functions start near the mean of the rows
    double start = function_at_mean(likelihood, encoder_.target_summary.mean);
    if (encoder_.offset) start -= training_.row_offset().mean().item<double>();
    for (const NamedTensor& each : model->network_parameters()) {
      if (each.path == "bias") each.value.detach().fill_(start);
    }
  }
  return model;
}

void Stage::make_model() {
  model_ = new_model(plan_.spec);
  if (phase_ != "train") return;
  if (hooks_.planned) hooks_.planned(plan_);
  if (hooks_.checkpoint) hooks_.checkpoint(Checkpoint{"start", {}, {}});
}

void Stage::warm_up() {
  watch_.restart();
  if (!model_->has_kernels() || !options().warm_start) return;
  if (hooks_.progress) {
    Progress progress;
    progress.phase = "warm start";
    progress.validation = progress.best = kNone;
    hooks_.progress(progress);
  }
  log_noise_ = warm_start(
      *model_, encoder_, training_, likelihood_of(options()),
      elsewhere_ ? seed_for(options().seed, "elsewhere") : options().seed, [this] { return keep_going(); },
      stated_log_noise(), kernel_columns_apart(table_, encoder_, *options().validation, training_.rows), &spread_);
  // The search may end elsewhere on another machine.
  if (hooks_.ranks != nullptr) hooks_.ranks->broadcast(model_->kernel().parameters().raw().detach(), 0);
  model_->place_maps(training_);
  watch_.restart();
}

void Stage::remake(const ModelSpec& spec, const at::Tensor& raw) {
  model_ = new_model(spec);
  model_->kernel().parameters().raw().detach().copy_(raw);
  model_->place_maps(training_);
}

void Stage::add_features() {
  if (!model_->has_kernels() || !options().warm_start) return;
  EnoughFeatures enough = enough_features(*model_, encoder_, training_, model_options_);
  if (hooks_.ranks != nullptr) {  // one of them decides for all
    at::Tensor features = at::empty({std::ssize(enough.spec.terms)}, at::kDouble);
    double* const number = features.data_ptr<double>();
    for (std::size_t t = 0; t < enough.spec.terms.size(); ++t) {
      number[t] = static_cast<double>(enough.spec.terms[t].features);
    }
    hooks_.ranks->broadcast(features, 0);
    for (std::size_t t = 0; t < enough.spec.terms.size(); ++t) {
      enough.spec.terms[t].features = static_cast<std::int64_t>(number[t]);
    }
  }
  bool more = false;
  for (std::size_t t = 0; t < enough.spec.terms.size(); ++t) {
    more = more || enough.spec.terms[t].features != model_->spec().terms[t].features;
  }
  if (more) remake(enough.spec, model_->kernel().parameters().raw().detach().clone());
  if (enough.missed <= kMissedAtMost) return;
  remark("features miss " + number_text(std::round(1000.0 * std::min(1.0, enough.missed)) / 10.0) +
         "% of the kernels' variance, which is left to the noise; points=... in the formula asks for more features");
}

void Stage::take_kernels(const Stage& from) {
  spread_ = from.spread_;
  if (!model_->has_kernels()) return;
  if (from.model().features() != model_->features()) {
    model_ = new_model(from.model().spec());
  }
  ParameterSet& own = model_->kernel().parameters();
  // a fold has fewer members than the stage it is of
  const at::Tensor raw = from.model_->kernel().parameters().raw().detach().narrow(0, 0, own.members());
  for (const Parameter& each : own.parameters()) {
    if (each.fixed) continue;  // known in the target's units, which rows of another number measure otherwise
    own.raw().detach().narrow(1, each.first, each.count).copy_(raw.narrow(1, each.first, each.count));
  }
  model_->place_maps(training_);
}

std::vector<Parameter> Stage::lengthscales_beside_networks() const {
  std::vector<Parameter> found;
  if (!model_->has_kernels()) return found;
  const std::vector<TermSpec>& terms = model_->spec().terms;
  for (const Parameter& each : model_->kernel().parameters().parameters()) {
    if (each.fixed || each.stated || !each.path.ends_with(".lengthscale")) continue;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const bool own = each.path.starts_with("term" + std::to_string(t + 1) + ".");
      if (own && !terms[t].networks.empty()) found.push_back(each);
    }
  }
  return found;
}

bool Stage::has_unusual_lengthscales(bool at_edge) const {
  const double far = std::log(2.0);
  if (options().kernels != KernelTraining::held || !options().warm_start) return false;
  for (const Parameter& each : lengthscales_beside_networks()) {
    for (std::int64_t i = 0; i < each.count; ++i) {
      const double raw = model_->kernel().parameters().raw()[0][each.first + i].item<double>();
      const Prior& prior = each.prior[static_cast<std::size_t>(i)];
      if (at_edge ? std::abs(prior.sds(raw)) > kEdge : std::abs(raw - prior.centre) > far) return true;
    }
  }
  return false;
}

void Stage::take_usual_lengthscales() {
  for (const Parameter& each : lengthscales_beside_networks()) {
    for (std::int64_t i = 0; i < each.count; ++i) {
      model_->kernel()
          .parameters()
          .raw()
          .detach()
          .select(1, each.first + i)
          .fill_(each.prior[static_cast<std::size_t>(i)].centre);
    }
  }
  model_->place_maps(training_);
}

void Stage::descend(std::int64_t last, const StageRun& run) {
  if (run.resume != nullptr) {
    ModelSpec spec = plan_.spec;
    for (std::size_t t = 0; t < spec.terms.size(); ++t) {
      const auto known = run.resume->numbers.find(features_name(t));
      if (known != run.resume->numbers.end()) spec.terms[t].features = static_cast<std::int64_t>(known->second);
    }
    model_ = std::make_shared<Model>(spec, encoder_, run.resume->tensors, model_options_);
    spread_ = read_spread(run.resume->tensors);
    if (hooks_.planned) hooks_.planned(plan_);
  } else {
    make_model();
    if (run.from != nullptr) {
      take_kernels(*run.from);
    } else {
      warm_up();
    }
    if (usual_lengthscales_) take_usual_lengthscales();
    if (run.from == nullptr || usual_lengthscales_) add_features();
  }
  const Likelihood& likelihood = likelihood_of(options());
  FitHooks hooks = hooks_;
  if (hooks_.checkpoint) {
    hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      Checkpoint whole = checkpoint;
      write_spread(spread_, whole.tensors);
      hooks_.checkpoint(whole);
    };
  }
  Trainer trainer(*model_, likelihood_objective(*model_, options()), options(), training_,
                  validation_.size() > 0 ? &validation_ : nullptr, encoder_.target_scaling.sd, hooks, phase_);
  if (run.resume != nullptr) trainer.restore(*run.resume);
  const Stopwatch watch;
  trainer.run(last);
  // What follows a training, another one or folds, is resumed from its end.
  const bool writes = hooks_.checkpoint && training_.images.empty() && options().refit == Refit::yes;
  if (writes && (hooks_.ranks == nullptr || hooks_.ranks->rank() == 0)) hooks.checkpoint(trainer.checkpoint());
  seconds_ = watch.seconds();
  epochs_ = trainer.epochs_done();
  best_epoch_ = validation_.size() > 0 ? trainer.best_epoch() : epochs_;
  noise_ = likelihood.conjugate && likelihood.learns_scale ? trainer.noise() : 0.0;
  waiting_ = trainer.waiting();
}

bool Stage::lines_are_likelier() const {
  constexpr double kNats = 10.0;  // beyond doubt, and more than the parameters of another covariance are worth
  const std::vector<TermSpec>& terms = model_->spec().terms;
  const auto product = [](const TermSpec& term) { return !term.networks.empty() && !term.kernels.empty(); };
  if (std::none_of(terms.begin(), terms.end(), product)) return false;
  return nats_of_lines(*model_, encoder_, training_, likelihood_of(options()), options().seed) > kNats;
}

// The share of linear functions in the prior of last layers is one that rows not seen choose: the marginal likelihood
// of rows that hidden units were trained on takes these for better than they are. What is likelier before training comes
// first: no linear functions, or, where lines in the network's place make the rows likelier than smooth functions do,
// hardly anything else. The others must be better by more than the standard error of that.
bool Stage::polish(const StageOutcome* before) {
  constexpr double kMostWork = 4e10;  // multiplications: some seconds; above, one prior is all that is tried
  const Likelihood& likelihood = likelihood_of(options());
  if (!options().polish || !likelihood.conjugate) return false;
  if (encoder_.weights || encoder_.error) return false;            // a ridge regression takes all rows alike
  if (options().perturbation != Perturbation::none) return false;  // one solution would make the members alike
  if (!can_solve_last_layers(*model_, training_)) return false;
  if (validation_.size() == 0) {
    linear_share_ = before != nullptr ? before->linear_share : 0.0;
    return solve_last_layers(*model_, training_, options().seed, linear_share_);
  }
  const auto squares = [&] {  // of the residuals: (n)
    const FunctionMoments found = moments_at(*ensemble_posterior(model_), likelihood, validation_);
    return (found.mean - validation_.targets()).square();
  };
  const auto values = [&] {
    std::vector<at::Tensor> all;
    for (const NamedTensor& each : model_->network_parameters()) all.push_back(each.value.detach().clone());
    return all;
  };
  std::vector<at::Tensor> best = values();
  at::Tensor least = squares();
  bool solved = false;
  const bool one = last_layer_work(*model_, training_) > kMostWork;
  const bool lines = !one && lines_are_likelier();
  const std::vector<double> shares = one     ? std::vector{0.0}
                                     : lines ? std::vector{0.9999, 0.9, 0.0}
                                             : std::vector{0.0, 0.9, 0.9999};
  for (const double share : shares) {
    solve_last_layers(*model_, training_, options().seed, share);
    const at::Tensor found = squares(), gained = least - found;
    const double error = gained.std(0, true).item<double>() / std::sqrt(static_cast<double>(gained.size(0)));
    const double wanted = share != shares.front() ? error : lines ? -error : 0.0;
    if (!(gained.mean().item<double>() > wanted)) continue;
    least = found, best = values(), linear_share_ = share, solved = true;
  }
  std::size_t i = 0;
  for (const NamedTensor& each : model_->network_parameters()) each.value.detach().copy_(best[i++]);
  return solved;
}

Scales Stage::scales() const {
  const double square = encoder_.target_scaling.sd * encoder_.target_scaling.sd;
  return {scales_.amplitude * square, scales_.noise_variance * square};
}

void Stage::take_scales(const Scales& in_units) {
  const double square = encoder_.target_scaling.sd * encoder_.target_scaling.sd;
  scales_ = {in_units.amplitude / square, in_units.noise_variance / square};
}

StageOutcome Stage::outcome() const {
  StageOutcome found;
  found.noise = noise();
  found.best_epoch = static_cast<double>(best_epoch_);
  found.epochs = static_cast<double>(epochs_);
  found.polished = polished_;
  found.linear_share = linear_share_;
  found.neighbours = neighbours_;
  found.amplitude = scales().amplitude;
  found.noise_variance = scales().noise_variance;
  return found;
}

}  // namespace ick
