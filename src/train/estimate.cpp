#include "ick/train/estimate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

#include "train/evidence.h"
#include "train/plan.h"
#include "train/trainer.h"

namespace ick {

namespace {

constexpr double kWarmStart = 4.0;  // seconds, about, whatever the table

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double bytes_of(const Table& table) {
  double bytes = 0.0;
  for (const Column& column : table.columns) {
    bytes += 8.0 * static_cast<double>(column.values.size());
    for (const std::string& text : column.text) bytes += static_cast<double>(text.size() + sizeof(std::string));
  }
  return bytes;
}

}  // namespace

FitEstimate estimate_fit(const Table& table, const Formula& formula, const FitOptions& options) {
  FitEstimate estimate;
  estimate.plan = plan_fit(table, formula, options);
  const FitPlan& plan = estimate.plan;
  const FitOptions& o = plan.options;
  estimate.training_rows = count_of(plan.training);
  estimate.validation_rows = count_of(plan.validation);
  estimate.holdout_rows = count_of(plan.holdout);

  const Dataset all = encode(table, plan.encoder, true);
  const std::int64_t some = std::min<std::int64_t>(all.size(), std::max<std::int64_t>(4 * o.batch, 4096));
  const Dataset rows = all.select(at::arange(some, at::kLong));
  ModelOptions model_options{o.members, o.seed, o.layers};
  Model model(plan.spec, plan.encoder, rows, model_options);
  estimate.features = model.features();
  estimate.parameters = model.trainable();

  const auto n = static_cast<double>(estimate.training_rows);
  const auto features = static_cast<double>(estimate.features);
  const double encoded =
      static_cast<double>(table.rows) * (8.0 * static_cast<double>(plan.encoder.kernel_columns.size() + 1) + [&] {
        double widths = 0.0;
        for (std::size_t a = 0; a < plan.encoder.network_columns.size(); ++a) {
          widths += 4.0 * static_cast<double>(plan.encoder.width(a));
        }
        return widths;
      }());
  estimate.bytes = bytes_of(table) + 2.0 * encoded + 5.0 * 4.0 * static_cast<double>(estimate.parameters);
  const double runs = o.refit && estimate.validation_rows > 0 ? 2.0 : 1.0;
  if (o.optimiser == Optimiser::lbfgs) {
    const at::Tensor noise = at::zeros({}, at::kDouble).requires_grad_(true);
    const double once = seconds_of([&] { linear_evidence(model, rows.x, rows.y, noise).backward(); });
    const double used = std::min(n, 8192.0);
    estimate.seconds_per_epoch = once * used / static_cast<double>(some);
    estimate.bytes += 6.0 * 8.0 * used * features;
    estimate.seconds = kWarmStart + 1.3 * estimate.seconds_per_epoch * static_cast<double>(o.epochs);
    return estimate;
  }
  const FitHooks hooks;
  Trainer trainer(model, o, rows, nullptr, 1.0, hooks, "estimate");
  const std::int64_t count = std::min(o.batch, rows.size());
  Batch batch{rows.x.narrow(0, 0, count), {}, rows.y.narrow(0, 0, count)};
  for (const at::Tensor& each : rows.networks) batch.networks.push_back(each.narrow(0, 0, count));
  trainer.step(batch);  // the first has everything to allocate
  constexpr int kSteps = 5;
  const double step = seconds_of([&] {
                        for (int i = 0; i < kSteps; ++i) trainer.step(batch);
                      }) /
                      kSteps;
  estimate.seconds_per_epoch = step * std::max(1.0, n / static_cast<double>(o.batch));
  const double before = model.has_kernels() && o.warm_start ? kWarmStart : 0.0;
  estimate.seconds = runs * (before + estimate.seconds_per_epoch * static_cast<double>(o.epochs));
  if (o.kernels == KernelTraining::held) estimate.bytes += std::min(1e9, 4.0 * n * features);
  if (o.polish) estimate.bytes += 3.0 * 8.0 * std::min(n, 3000.0) * std::min(n, 3000.0);
  estimate.bytes += 8.0 * static_cast<double>(o.batch * o.members) * (features + 256.0);
  return estimate;
}

}  // namespace ick
