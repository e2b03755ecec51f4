#include "fit/first.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "fit/calibrate.h"
#include "fit/sanity.h"
#include "ick/inference/engine.h"
#include "inference/beside.h"

namespace ick {

FitPlan ranked_plan(const Table& table, const FitPlan& plan) {
  FitPlan ranked = plan;
  ranked.options.inputs = NumberInputs::ranks;
  ranked.encoder = fit_encoder(table, encoder_plan(ranked.spec, ranked.options), ranked.training);
  return ranked;
}

namespace {

// By how much `other` predicts the validation rows better, in standard errors; these take rows that are not drawn at
// random for blocks.
double standard_errors_better(const FirstTraining& first, const FirstTraining& other) {
  const FitPlan& plan = first.stage->plan();
  const Likelihood& likelihood = likelihood_of(plan.options);
  const Dataset& unseen = first.stage->validation();
  const at::Tensor y = unseen.targets();
  const auto squares = [&](const FirstTraining& of) {
    return (moments_at(*of.posterior, likelihood, of.stage->validation()).mean - y).square();
  };
  const at::Tensor gained = (squares(first) - squares(other)).contiguous();  // (n)
  const double mean = gained.mean().item<double>();
  const auto blocks = exchangeable_parts(first.stage->table(), *plan.options.validation, unseen);
  double variance = 0.0;  // of the sum
  for (const std::vector<std::int64_t>& block : blocks) {
    double sum = 0.0;
    for (const std::int64_t i : block) sum += gained.data_ptr<double>()[i] - mean;
    variance += sum * sum;
  }
  const auto count = static_cast<double>(blocks.size()), rows = static_cast<double>(gained.size(0));
  if (blocks.size() < 2 || !(variance > 0.0)) return 0.0;
  return mean / (std::sqrt(variance * count / (count - 1.0)) / rows);
}

bool validation_decides(const FitPlan& plan) {
  return count_of(plan.validation) > 0 && engine_named(plan.options.posterior).trains &&
         !likelihood_of(plan.options).has_classes();
}

// Whether a column of numbers is far from normal: values hardly correlate with their normal scores. Of a uniform draw
// the correlation is .98, of an exponential one .90.
bool has_skewed_columns(const Table& table, const FitPlan& plan, const FitPlan& ranked) {
  constexpr double kLeastCorrelation = 0.95;
  const Dataset plain = open_rows(table, plan.encoder, plan.training),
                scores = open_rows(table, ranked.encoder, plan.training);
  const at::Tensor all = at::arange(plain.size(), at::kLong);
  for (std::size_t a = 0; a < ranked.encoder.networks.size(); ++a) {
    const at::Tensor x = plain.inputs(a, all), z = scores.inputs(a, all);  // (n, F), numbers standardised
    std::int64_t f = 0;
    for (const NetworkColumn& column : ranked.encoder.networks[a].columns) {
      const at::Tensor both = at::stack({x.select(1, f), z.select(1, f)}).to(at::kDouble);
      f += column.width();
      if (!column.ranks || column.ranks->values.size() < 2) continue;
      if (at::corrcoef(both)[0][1].item<double>() < kLeastCorrelation) return true;
    }
  }
  return false;
}

// What another function in a network's place makes of a kernel that multiplies it need not suit the network: trained
// with the usual lengthscales instead, where validation rows drawn at random are predicted better by more than the
// standard error; or not worse by more than that, where lengthscales were found beyond what their prior holds likely. A
// stretch of time or a region is too little to decide by.
void try_usual_lengthscales(FirstTraining& first, const FitHooks& hooks) {
  const FitPlan& plan = first.stage->plan();
  if (!validation_decides(plan) || plan.options.validation->kind != Split::Kind::random ||
      first.stage->training().size() > kMostBeside || !first.stage->has_unusual_lengthscales()) {
    return;
  }
  FirstTraining other{std::make_unique<Stage>(first.stage->table(), plan, plan.training, "train", hooks), nullptr};
  other.stage->start_with_usual_lengthscales();
  other.posterior = first.posterior->engine().fit(*other.stage, {nullptr, first.stage.get()});
  const double wanted = first.stage->has_unusual_lengthscales(/*at_edge=*/true) ? -1.0 : 1.0;
  if (!(standard_errors_better(first, other) > wanted)) return;
  other.stage->remark(
      "lengthscales of kernels that multiply networks are the usual ones: validation rows do not prefer "
      "those that were found with another function in the network's place");
  first = std::move(other);
}

// Kernels only: from other rows and starts where validation rows are predicted worse than by the mean, or wildly.
void start_again_if_wrong(FirstTraining& first, const FitHooks& hooks) {
  const FitPlan& plan = first.stage->plan();
  const Engine& engine = first.posterior->engine();
  const Likelihood& likelihood = likelihood_of(plan.options);
  if (!engine.kernels_only || !plan.options.warm_start || count_of(plan.validation) == 0 ||
      !looks_wrong(*first.posterior, likelihood, first.stage->training(), first.stage->validation(),
                   plan.options.seed)) {
    return;
  }
  FirstTraining other{std::make_unique<Stage>(first.stage->table(), plan, plan.training, "train", hooks), nullptr};
  other.stage->start_elsewhere();
  other.posterior = engine.fit(*other.stage, {});
  const double before = unseen_error(*first.posterior, likelihood, first.stage->validation());
  if (unseen_error(*other.posterior, likelihood, other.stage->validation()) < before) first = std::move(other);
}

// Columns as normal scores of their ranks, where validation rows are predicted better by more than the standard error.
void try_ranks(FirstTraining& first, const FitHooks& hooks, std::optional<FitPlan>& ranked) {
  const Table& table = first.stage->table();
  const FitPlan& plan = first.stage->plan();
  ranked = plan_to_try_ranks(table, plan);
  if (!ranked) return;
  FirstTraining other{std::make_unique<Stage>(table, *ranked, plan.training, "train", hooks), nullptr};
  other.posterior = first.posterior->engine().fit(*other.stage, {});
  if (!(standard_errors_better(first, other) > 1.0)) return;
  other.stage->remark("networks read numbers by their ranks: validation rows are predicted better");
  first = std::move(other);
}

}  // namespace

std::optional<FitPlan> plan_to_try_ranks(const Table& table, const FitPlan& plan) {
  constexpr std::int64_t kMostRanked = 10'000;  // rows: more of them show a network the shape of a column
  const auto& networks = plan.encoder.networks;
  const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
  if (plan.options.inputs != NumberInputs::automatic || !validation_decides(plan) || networks.empty() || images ||
      count_of(plan.training) > kMostRanked) {
    return std::nullopt;
  }
  FitPlan ranked = ranked_plan(table, plan);
  return has_skewed_columns(table, plan, ranked) ? std::optional(std::move(ranked)) : std::nullopt;
}

FirstTraining train_first(const Table& table, const FitPlan& plan, const FitHooks& hooks, const FitHooks& quiet,
                          const Checkpoint* resume, std::optional<FitPlan>& ranked) {
  FirstTraining first{std::make_unique<Stage>(table, plan, plan.training, "train", hooks), nullptr};
  first.posterior = engine_named(plan.options.posterior).fit(*first.stage, {resume});
  start_again_if_wrong(first, hooks);
  try_usual_lengthscales(first, quiet);
  try_ranks(first, quiet, ranked);
  return first;
}

}  // namespace ick
