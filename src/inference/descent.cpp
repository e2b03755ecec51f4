#include <ATen/ATen.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "inference/bilinear.h"
#include "inference/engines.h"
#include "inference/stage.h"
#include "train/trainer.h"

// What the engines that train share.
namespace ick {

void descend_and_polish(Stage& stage, const StageRun& run) {
  const bool again = run.before != nullptr;
  stage.descend(again ? static_cast<std::int64_t>(run.before->best_epoch) : 0, run);
  if (!again || run.before->polished) stage.set_polished(stage.polish(run.before));
}

// Values, gradients, two moments, the best so far; units and their gradients of a batch.
FitBytes descent_bytes(const FitSizes& sizes, const FitOptions& options) {
  constexpr double kHeldFeatures = 256e6, kBlockBytes = 5e8;
  FitBytes bytes;
  const double of_row = 4.0 * (sizes.units + sizes.features) + sizes.pixels;
  bytes.member = 4.0 * (5.0 * sizes.parameters + static_cast<double>(options.batch) * of_row);
  bytes.rows = std::min(kHeldFeatures, 4.0 * sizes.rows * sizes.features);
  if (options.polish && std::min(sizes.rows, sizes.parameters) <= kMostFactored) {
    bytes.rows += std::min(
        kBlockBytes, 16.0 * std::min(sizes.rows, static_cast<double>(kManyRows)) * (sizes.units + sizes.features));
  }
  return bytes;
}

Engine::Seconds descent_seconds(Model& model, const FitOptions& options, const Dataset& some, double rows) {
  const FitHooks hooks;
  Trainer trainer(model, likelihood_objective(model, options), options, some, nullptr, 1.0, hooks, "estimate");
  const Batch batch = trainer.batch_of(at::arange(std::min(options.batch, some.size()), at::kLong));
  trainer.step(batch);  // the first has everything to allocate
  constexpr int kSteps = 5;
  const Stopwatch watch;
  for (int i = 0; i < kSteps; ++i) trainer.step(batch);
  const double step = watch.seconds() / kSteps;
  const double epoch = step * std::max(1.0, rows / static_cast<double>(options.batch));
  const double before = model.has_kernels() && options.warm_start ? kWarmStartSeconds : 0.0;
  return {before + epoch * static_cast<double>(options.epochs), epoch};
}

void one_network_each(const ModelSpec& spec, const std::string& asked) {
  for (const TermSpec& term : spec.terms) {
    if (term.networks.size() < 2) continue;
    throw UsageError(where(term.networks[1].position) + asked +
                     " takes one network in a product, whose posterior is linear; use " +
                     setting("posterior", "ensemble"));
  }
}

at::Tensor function_normals(std::int64_t count, std::int64_t numbers, std::uint64_t seed) {
  at::Tensor drawn = at::empty({count, numbers}, at::kDouble);
  for (std::int64_t s = 0; s < count; ++s) {
    Random random(seed_for(seed, "function#" + std::to_string(s)));
    std::generate_n(drawn[s].data_ptr<double>(), numbers, [&] { return random.normal(); });
  }
  return drawn;
}

// Seeded by the bytes of the row's kernel inputs: rows that are alike are one place of the function.
at::Tensor independent_normals(const Batch& batch, std::int64_t count, std::uint64_t seed) {
  const at::Tensor x = batch.x.contiguous();
  at::Tensor drawn = at::empty({count, x.size(0)}, at::kDouble);
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const std::string_view bytes(reinterpret_cast<const char*>(x.data_ptr<double>() + i * x.size(1)),
                                 static_cast<std::size_t>(x.size(1)) * sizeof(double));
    Random random(seed_for(seed, bytes));
    for (std::int64_t s = 0; s < count; ++s) drawn.data_ptr<double>()[s * x.size(0) + i] = random.normal();
  }
  return drawn;
}

}  // namespace ick
