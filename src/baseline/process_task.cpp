#include "baseline/process_task.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "baseline/kinds.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "train/roles.h"
#include "train/warm_start.h"

namespace ick {

namespace {

constexpr std::int64_t kMostColumns = 64;  // of a network that a kernel stands for, see make_surrogate()

ModelSpec kernels_alone(const ModelSpec& of, const Surrogate& surrogate) {
  ModelSpec spec;
  spec.formula = of.formula;
  spec.level_columns = of.level_columns;
  for (const KernelProduct& product : surrogate.products) {
    TermSpec& term = spec.terms.emplace_back();
    term.kernels = {product};
    term.features = 1, term.stated_features = true;  // the process has its own
  }
  for (const InputSummary& each : surrogate.inputs) spec.kernel_columns.push_back(each.name);
  return spec;
}

Encoder encoder_alone(const Encoder& of, const Surrogate& surrogate) {
  Encoder encoder = of;
  for (std::size_t d = encoder.kernel_columns.size(); d < surrogate.inputs.size(); ++d) {
    KernelColumn column;
    column.info = {surrogate.inputs[d].name, ColumnType::number, "", {}};
    column.summary = surrogate.inputs[d];
    encoder.kernel_columns.push_back(std::move(column));
  }
  encoder.networks.clear();
  return encoder;
}

}  // namespace

ProcessTask::ProcessTask(const BaselineTraining& training, StandIn for_networks) {
  const ModelSpec& of = training.task.plan.spec;
  const FitOptions& options = training.task.plan.options;
  const Surrogate surrogate = make_surrogate(of, training.encoder, training.rows, for_networks);
  const ModelSpec spec = kernels_alone(of, surrogate);
  encoder = encoder_alone(training.encoder, surrogate);
  rows = training.rows;
  rows.x = surrogate.x, rows.networks.clear(), rows.images.clear();
  find_frequencies(spec, rows, likelihood_of(options), options.seed, encoder);
  ModelOptions of_model;
  of_model.seed = options.seed;
  model = std::make_shared<Model>(spec, encoder, rows, of_model);
}

double ProcessTask::find_parameters(const BaselineTraining& training) {
  const at::AutoGradMode with_gradients(true);
  const FitOptions& options = training.task.plan.options;
  std::optional<double> log_noise;
  if (options.noise > 0.0) log_noise = 2.0 * std::log(options.noise / encoder.target_scaling.sd);
  const auto keep_going = [&] {
    if (training.tick) training.tick("parameters");
    return true;
  };
  return warm_start(*model, encoder, rows, likelihood_of(options), options.seed, keep_going, log_noise);
}

void read_process_columns(const BaselineTask& task, EncoderPlan& plan) {
  const EncoderPlan own = encoder_plan(task.plan.spec, task.plan.options);
  plan.kernel_columns = own.kernel_columns;
  plan.level_columns = own.level_columns;
  plan.networks = own.networks;
}

std::string why_not_process(const BaselineTask& task) {
  if (task.plan.spec.terms.empty()) return "the formula has trees and nothing besides";
  for (const TermSpec& term : task.plan.spec.terms) {
    for (const NetworkSpec& network : term.networks) {
      if (network.inputs.image) return "a network reads images, for which no kernel stands";
    }
  }
  std::string other;
  each_kernel(task.plan.spec, [&](const KernelSpec& kernel) {
    if (!find_kernel(kernel.name, kernel.sphere, kernel.position).fuses()) other = kernel.name;
  });
  return other.empty() ? "" : other + "(...) is a kernel of another program, without the fast path";
}

at::Tensor process_x(const Dataset& rows) {
  std::vector<at::Tensor> columns = {rows.x};
  for (const at::Tensor& each : rows.networks) {
    columns.push_back(each.narrow(1, 0, std::min(each.size(1), kMostColumns)).to(at::kDouble));
  }
  return at::cat(columns, 1);
}

ProcessNoise noise_of_rows(const Dataset& rows) {
  ProcessNoise noise{weights_or_one(rows), rows.row_error()};
  if (!noise.error.defined()) noise.error = at::zeros_like(noise.weights);
  return noise;
}

ProcessNoise ProcessNoise::select(const at::Tensor& index) const {
  return {weights.index_select(0, index), error.index_select(0, index)};
}

at::Tensor ProcessNoise::variance(double noise_variance) const { return (error + noise_variance) / weights; }

void keep_text(std::string_view name, const std::string& text, TensorState& state) {
  at::Tensor bytes = at::empty({std::ssize(text)}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.data_ptr<std::uint8_t>());
  state.emplace_back(name, bytes);
}

std::string kept_text(const TensorState& state, std::string_view name) {
  const at::Tensor bytes = find_tensor(state, name);
  if (!bytes.defined() || bytes.scalar_type() != at::kByte || bytes.dim() != 1) refuse_kept(name);
  const at::Tensor dense = bytes.contiguous();
  const std::uint8_t* const from = dense.data_ptr<std::uint8_t>();
  return {from, from + dense.numel()};
}

void keep_kernel(const ProcessKernel& kernel, TensorState& state) {
  keep_text("kernel", kernel.text(), state);
  state.emplace_back("theta", at::tensor(kernel.theta(), at::kDouble));
}

std::int64_t process_columns(const Encoder& encoder) {
  std::int64_t columns = std::ssize(encoder.kernel_columns);
  for (const NetworkInputs& each : encoder.networks) columns += std::min(each.numbers(), kMostColumns);
  return columns;
}

ProcessKernel kept_kernel(const TensorState& state, std::int64_t columns) {
  ProcessKernel kernel(kept_text(state, "kernel"), kept_numbers(state, "theta"));
  if (kernel.columns() > columns) refuse_kept("kernel");
  return kernel;
}

void keep_prediction(const SparsePrediction& prediction, TensorState& state) {
  state.emplace_back("points", prediction.points);
  state.emplace_back("alpha", prediction.alpha);
  state.emplace_back("reduction", prediction.reduction);
}

SparsePrediction kept_prediction(const TensorState& state, ProcessKernel kernel) {
  SparsePrediction kept{std::move(kernel), kept_tensor(state, "points", 2), kept_tensor(state, "alpha"),
                        kept_tensor(state, "reduction", 2)};
  const std::int64_t p = kept.points.size(0);
  if (kept.points.size(1) != kept.kernel.width()) refuse_kept("points");
  if (kept.alpha.size(0) != p) refuse_kept("alpha");
  if (kept.reduction.size(0) != p || kept.reduction.size(1) != p) refuse_kept("reduction");
  return kept;
}

}  // namespace ick
