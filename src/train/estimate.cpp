#include "ick/train/estimate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "posterior/bilinear.h"
#include "train/evidence.h"
#include "train/plan.h"
#include "train/trainer.h"

namespace ick {

namespace {

constexpr double kUnitsPerPixel = 40.0;  // that a network on images holds, about
constexpr double kWarmStart = 1.0;       // seconds, about, whatever the table

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double bytes_of(const Table& table) {
  double bytes = 0.0;
  for (const Column& column : table.columns) {
    if (!column.values.is_mapped()) bytes += 8.0 * static_cast<double>(column.values.size());
    for (const std::string& text : column.text) bytes += static_cast<double>(text.size() + sizeof(std::string));
  }
  return bytes;
}

}  // namespace

FitBytes bytes_of(const FitPlan& plan) {
  const FitOptions& o = plan.options;
  const auto n = static_cast<double>(count_of(plan.training) + count_of(plan.validation));
  double parameters = 1.0, units = 0.0, features = 0.0;  // of a member
  double maps = 0.0;                                     // what networks on images hold of one while they train
  std::size_t source = 0;
  for (const TermSpec& term : plan.spec.terms) {
    const auto p =
        static_cast<double>(term.features) * static_cast<double>(std::max<std::size_t>(1, term.kernels.size()));
    features += p;
    if (term.networks.empty()) parameters += p;
    for (const Call& call : term.networks) {
      NetworkContext context;
      const NetworkInputs& inputs = plan.encoder.networks[source++];
      context.inputs = inputs.numbers();
      if (inputs.image) context.image = inputs.image->shape;
      context.outputs = static_cast<std::int64_t>(p) * outputs_of(plan.options, plan.encoder);
      context.default_layers = o.layers;
      maps += kUnitsPerPixel * static_cast<double>(context.image.numbers());
      for (const NamedTensor& each : find_network(call.name)->make(without_sources(call), context)->parameters()) {
        parameters += static_cast<double>(each.value.numel());
        units += static_cast<double>(each.value.size(-1));
      }
    }
  }
  FitBytes bytes;
  const double row = bytes_of_row(plan.encoder);
  const bool held = row * n <= o.held_bytes;
  bytes.rows = n * (held ? 2.0 * row : 8.0);  // else which rows they are
  if (plan.spec.kernels_only()) {
    bytes.rows += 8.0 * (6.0 * std::min(n, 8192.0) * features + 3.0 * features * features);
    return bytes;
  }
  bytes.rows += std::min(256e6, 4.0 * n * features);  // of held kernels
  if (is_closed_form(o)) {  // members are solved a few at a time: what stays are their weights
    bytes.member = 4.0 * parameters * (o.posterior == Posterior::ntk ? 2.0 : 1.0);
    const double fewer = std::min({n, parameters, static_cast<double>(kMostFactored)});
    const double work = std::min(5e8, 16.0 * n * (units + features)) + 24.0 * fewer * fewer;  // more goes by blocks
    bytes.rows += std::max(work, std::min(1e9, static_cast<double>(o.members) * work));
  } else {  // values, gradients, two moments, the best so far; units and their gradients of a batch
    const double of_row = 4.0 * (units + features) + maps;
    bytes.member = 4.0 * (5.0 * parameters + static_cast<double>(o.batch) * of_row);
    if (o.polish && std::min(n, parameters) <= kMostFactored) {
      bytes.rows += std::min(5e8, 16.0 * std::min(n, static_cast<double>(kManyRows)) * (units + features));
    }
  }
  return bytes;
}

void check_memory(const FitPlan& plan, double free) {
  constexpr double kUsable = 0.9;
  const FitBytes bytes = bytes_of(plan);
  const auto members = static_cast<double>(plan.options.members);
  const double needed = bytes.rows + members * bytes.member;
  if (needed <= kUsable * free) return;
  const auto fit = static_cast<std::int64_t>((kUsable * free - bytes.rows) / std::max(1.0, bytes.member));
  const auto& networks = plan.encoder.networks;
  const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
  const std::string remedy =
      fit >= 1 && members > 1.0 ? "ask for at most " + std::to_string(fit) + " " + setting("members")
      : images ? "use a smaller " + setting("batch") + ", smaller images (size=...), or a smaller network"
               : "use fewer rows, smaller " + setting("layers") + ", or points=... in the formula";
  throw UsageError("this fit with " + std::to_string(plan.options.members) +
                   (plan.options.members == 1 ? " member" : " members") + " would take about " +
                   number_text(std::ceil(needed / 1e8) / 10.0) + " GB of memory, and " +
                   number_text(std::floor(free / 1e8) / 10.0) + " GB are free; " + remedy);
}

FitEstimate estimate_fit(const Table& table, const Formula& formula, const FitOptions& options) {
  FitEstimate estimate;
  estimate.plan = plan_fit(table, formula, options);
  const FitPlan& plan = estimate.plan;
  const FitOptions& o = plan.options;
  estimate.training_rows = count_of(plan.training);
  estimate.validation_rows = count_of(plan.validation);
  estimate.holdout_rows = count_of(plan.holdout);

  const Dataset all = open_rows(table, plan.encoder, std::vector<bool>(table.rows, true));
  const std::int64_t some = std::min<std::int64_t>(all.size(), std::max<std::int64_t>(4 * o.batch, 4096));
  const Dataset rows = all.select(at::arange(some, at::kLong));
  // members that are drawn cost all the same
  ModelOptions model_options;
  model_options.members = is_closed_form(o) ? std::min<std::int64_t>(o.members, 4) : o.members;
  model_options.outputs = outputs_of(o, plan.encoder);
  model_options.own_kernels = o.own_kernels;
  model_options.seed = o.seed;
  model_options.layers = o.layers;
  Model model(plan.spec, plan.encoder, rows, model_options);
  estimate.features = model.features();
  estimate.parameters = model.trainable() / model.members() * o.members;

  const auto n = static_cast<double>(estimate.training_rows);
  const FitBytes bytes = bytes_of(plan);
  estimate.bytes = bytes_of(table) + bytes.rows + static_cast<double>(o.members) * bytes.member;
  const double runs = o.refit && estimate.validation_rows > 0 ? 2.0 : 1.0;
  if (o.optimiser == Optimiser::lbfgs) {
    const at::Tensor noise = at::zeros({}, at::kDouble).requires_grad_(true);
    const double once = seconds_of([&] { linear_evidence(model, rows.x, rows.y, noise).backward(); });
    const double used = std::min(n, 8192.0);
    estimate.seconds_per_epoch = once * used / static_cast<double>(some);
    estimate.seconds = kWarmStart + 1.3 * estimate.seconds_per_epoch * static_cast<double>(o.epochs);
    return estimate;
  }
  if (is_closed_form(o)) {
    const std::int64_t few = std::min<std::int64_t>(rows.size(), 512);
    const Dataset some_rows = rows.select(at::arange(few, at::kLong));
    const double once = seconds_of([&] {
      if (o.posterior == Posterior::ntk) {
        draw_tangent_weights(model, some_rows, Scales{}, o.seed);
      } else {
        draw_last_layers(model, some_rows, Scales{}, o.seed);
      }
    });
    const double times =
        n / static_cast<double>(few) * static_cast<double>(o.members) / static_cast<double>(model.members());
    estimate.seconds = runs * once * times + (model.has_kernels() && o.warm_start ? kWarmStart : 0.0);
    return estimate;
  }
  const FitHooks hooks;
  Trainer trainer(model, o, rows, nullptr, 1.0, hooks, "estimate");
  const std::int64_t count = std::min(o.batch, rows.size());
  const Batch batch = trainer.batch_of(at::arange(count, at::kLong));
  trainer.step(batch);  // the first has everything to allocate
  constexpr int kSteps = 5;
  const double step = seconds_of([&] {
                        for (int i = 0; i < kSteps; ++i) trainer.step(batch);
                      }) /
                      kSteps;
  estimate.seconds_per_epoch = step * std::max(1.0, n / static_cast<double>(o.batch));
  const double before = model.has_kernels() && o.warm_start ? kWarmStart : 0.0;
  estimate.seconds = runs * (before + estimate.seconds_per_epoch * static_cast<double>(o.epochs));
  return estimate;
}

}  // namespace ick
