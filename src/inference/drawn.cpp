#include <ATen/ATen.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/kernel/table.h"
#include "inference/bilinear.h"
#include "inference/drawn.h"
#include "inference/engines.h"

namespace ick {

// The mean of d^2, and the variance between the c.
FunctionMoments moments_of_draws(const at::Tensor& f) {
  const std::int64_t pairs = f.size(0) / 2;
  const at::Tensor one = f.slice(0, 0, 2 * pairs, 2), other = f.slice(0, 1, 2 * pairs, 2);
  const at::Tensor centre = 0.5 * (one + other);
  FunctionMoments found{centre.mean(0), (0.5 * (one - other)).square().mean(0)};
  if (pairs > 1) found.variance = found.variance + centre.var(0, true);
  return found;
}

at::Tensor some_members(const at::Tensor& f, std::int64_t count, std::uint64_t seed) {
  const std::int64_t first = Random(seed_for(seed, "member")).below(f.size(0));
  return f.index_select(0, (at::arange(count, at::kLong) + first).remainder(f.size(0)));
}

void choose_draws(const ModelSpec& spec, FitOptions& options, std::vector<Message>& remarks) {
  const std::string asked = setting("posterior", options.posterior);
  if (options.perturbation != Perturbation::none) {
    throw UsageError(setting("perturbation") + " is for " + setting("posterior", "ensemble") + "; " +
                     options.posterior + " perturbs the targets by itself");
  }
  one_network_each(spec, asked);
  constexpr std::int64_t kDraws = 30;
  if (options.members == 0) options.members = kDraws;
  if (options.members == 1) {
    throw UsageError(asked + " with one member has no spread; ask for " + setting("members", "30") +
                     " or more (at least 2)");
  }
  if (options.members % 2 == 1) {
    ++options.members;
    remarks.push_back(asked + " draws members in pairs: there are " + std::to_string(options.members));
  }
  for (const TermSpec& term : spec.terms) {
    if (term.train_points) {
      throw UsageError(asked + " trains nothing by gradient descent; leave train_points=yes out of the formula");
    }
    for (const NetworkSpec& network : term.networks) {
      if (!network.inputs.image) continue;
      throw UsageError(asked + " is for fully connected networks, and this one reads images; use " +
                       setting("posterior", "ensemble"));
    }
  }
}

namespace {

// The first variance of a product is its scale; further ones are pure numbers.
bool mentions_scale(const KernelProduct& product) {
  for (const KernelSpec& kernel : product) {
    for (const ParameterDeclaration& each : find_kernel(kernel.name, kernel.sphere, kernel.position).parameters) {
      if (each.unit == Unit::target_squared) return kernel.find(each.name) != nullptr;
    }
  }
  return false;
}

}  // namespace

bool states_scale(const ModelSpec& spec) {
  return std::any_of(spec.terms.begin(), spec.terms.end(), [](const TermSpec& term) {
    return std::any_of(term.kernels.begin(), term.kernels.end(), mentions_scale);
  });
}

void prepare_draws(Stage& stage, const StageRun& run, LinearKind kind) {
  stage.make_model();
  const std::optional<double> amplitude = states_scale(stage.model().spec()) ? std::optional(1.0) : std::nullopt;
  if (run.from != nullptr) {
    stage.take_kernels(*run.from);
    stage.take_scales(run.from->scales());
    // What is stated is in the target's units already, which rows of another number measure otherwise.
    if (amplitude) stage.set_scales({*amplitude, stage.standard_scales().noise_variance});
  } else {
    stage.warm_up();
    stage.add_features();
    stage.set_scales(find_scales(stage.model(), kind, stage.training(), stage.options().seed,
                                 stage.stated_noise_variance(), amplitude));
  }
  stage.set_noise(std::sqrt(stage.standard_scales().noise_variance));
  stage.say("draws");
}

// Members are solved a few at a time: what stays are their weights, `copies` of them.
FitBytes drawn_bytes(const FitSizes& sizes, const FitOptions& options, double copies) {
  constexpr double kBlockBytes = 5e8, kAllBytes = 1e9;  // more goes by blocks
  const double fewer = std::min({sizes.rows, sizes.parameters, static_cast<double>(kMostFactored)});
  const double work = std::min(kBlockBytes, 16.0 * sizes.rows * (sizes.units + sizes.features)) + 24.0 * fewer * fewer;
  FitBytes bytes;
  bytes.member = 4.0 * sizes.parameters * copies;
  bytes.rows = std::max(work, std::min(kAllBytes, static_cast<double>(options.members) * work));
  return bytes;
}

Engine::Seconds drawn_seconds(Model& model, const FitOptions& options, const Dataset& some, double rows,
                              const std::function<void(const Dataset&)>& draw) {
  constexpr std::int64_t kFewRows = 512;
  const std::int64_t few = std::min<std::int64_t>(some.size(), kFewRows);
  const Dataset some_rows = some.select(at::arange(few, at::kLong));
  const Stopwatch watch;
  draw(some_rows);
  const double once = watch.seconds();
  const double times =
      rows / static_cast<double>(few) * static_cast<double>(options.members) / static_cast<double>(model.members());
  return {once * times + (model.has_kernels() && options.warm_start ? kWarmStartSeconds : 0.0), 0.0};
}

}  // namespace ick
