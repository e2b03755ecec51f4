#include "inference/crossfit.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "inference/beside.h"
#include "inference/engines.h"

namespace ick {

namespace {

// A plan for networks trained on some of a stage's rows. Scalings and levels stay: residuals have one unit.
FitPlan plan_of_fold(const Stage& stage, std::vector<bool> use) {
  FitPlan plan = stage.plan();
  plan.encoder = stage.encoder();
  plan.training = std::move(use);
  plan.options.batch = std::min(stage.options().batch, count_of(plan.training));
  return plan;
}

std::vector<bool> rows_used(const Stage& stage) {
  std::vector<bool> use(static_cast<std::size_t>(stage.table().rows), false);
  for (const std::int64_t row : stage.training().rows) use[static_cast<std::size_t>(row)] = true;
  return use;
}

FitHooks hooks_of_fold(const Stage& stage) {
  FitHooks hooks;
  // Several processes stop where they agree on it.
  if (stage.hooks().ranks == nullptr) hooks.interrupted = stage.hooks().interrupted;
  return hooks;
}

constexpr std::size_t kTrainings = LeftOutParts::kAtRandom;  // for parts left out

}  // namespace

CrossFit cross_fit(const Stage& stage, int count) {
  const at::NoGradGuard no_grad;
  const Dataset& rows = stage.training();
  const std::vector<bool> use = rows_used(stage);
  Split split;
  split.kind = Split::Kind::random;
  if (stage.options().validation->kind == Split::Kind::group) split = *stage.options().validation;
  const std::vector<std::vector<bool>> folds = folds_like(stage.table(), split, use, count, stage.options().seed);
  if (folds.size() < 2) return {};

  const FitHooks hooks = hooks_of_fold(stage);
  const StageOutcome outcome = stage.outcome();
  const Likelihood& likelihood = likelihood_of(stage.options());
  CrossFit found{at::empty({rows.size()}, at::kDouble), at::empty({rows.size()}, at::kLong)};
  for (std::size_t k = 0; k < folds.size(); ++k) {
    stage.say("fold " + std::to_string(k + 1) + " of " + std::to_string(folds.size()));
    std::vector<bool> stays = use;
    std::vector<std::int64_t> places;  // of the fold's rows among the stage's
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows.rows[static_cast<std::size_t>(i)]);
      if (!folds[k][row]) continue;
      stays[row] = false;
      places.push_back(i);
    }
    FitPlan plan = plan_of_fold(stage, std::move(stays));
    plan.options.members = 1;
    plan.options.perturbation = Perturbation::none;
    Stage others(stage.table(), plan, plan.training, "fold", hooks);
    {
      const at::AutoGradMode with_grad(true);
      descend_and_polish(others, {nullptr, &stage, &outcome});
    }
    const at::Tensor index = at::tensor(places, at::kLong);
    const Dataset left_out = rows.subset(index);
    const at::Tensor mean = moments_at(*ensemble_posterior(others.shared_model()), likelihood, left_out).mean;
    found.residuals.index_copy_(0, index, left_out.targets() - mean);
    found.folds.index_fill_(0, index, static_cast<std::int64_t>(k));
  }
  return found;
}

namespace {

// The posterior of a stage trained again without the rows of these cells. Neighbours are left for later.
std::shared_ptr<const FunctionPosterior> trained_without(const Stage& stage, const LeftOutParts& parts,
                                                         const std::vector<std::int64_t>& cells) {
  const std::set<std::int64_t> out(cells.begin(), cells.end());
  std::vector<bool> stays = rows_used(stage);
  for (std::size_t i = 0; i < parts.cell_of.size(); ++i) {
    if (out.contains(parts.cell_of[i])) stays[static_cast<std::size_t>(stage.training().rows[i])] = false;
  }
  const FitPlan plan = plan_of_fold(stage, std::move(stays));
  const FitHooks hooks = hooks_of_fold(stage);
  StageOutcome outcome = stage.outcome();
  outcome.neighbours = false;
  Stage others(stage.table(), plan, plan.training, "fold", hooks);
  const at::AutoGradMode with_grad(true);
  return engine_named(stage.options().posterior).fit(others, {nullptr, &stage, &outcome});
}

}  // namespace

std::optional<Retrained> leave_out_and_train(const Stage& stage, const FunctionPosterior& posterior) {
  const at::NoGradGuard no_grad;
  const Dataset& rows = stage.training();
  const Split::Kind kind = stage.options().validation->kind;
  Retrained all;
  all.at_random = kind == Split::Kind::random;
  if (all.at_random) {
    all.parts = parts_at_random(rows.size(), stage.options().seed);
  } else if (std::optional<LeftOutParts> found = stage.left_out_parts(rows, /*futures=*/true, kTrainings)) {
    all.parts = std::move(*found);
  } else {
    return std::nullopt;
  }
  const ResidualProcess* const near = residuals_beside(posterior);
  std::vector<FunctionMoments> of_near;
  if (near != nullptr) of_near = near->left_out(all.parts.cell_of, all.parts.folds);
  const Likelihood& likelihood = likelihood_of(stage.options());
  const std::vector<LeftOut>& folds = all.parts.folds;
  all.found.resize(folds.size());
  // Cells go in turn to as many trainings as there may be; of futures each has its own past.
  const std::size_t trainings = std::min(kTrainings, folds.size());
  for (std::size_t k = 0; k < trainings; ++k) {
    stage.say("left-out part " + std::to_string(k + 1) + " of " + std::to_string(trainings));
    std::vector<std::int64_t> cells;
    for (std::size_t f = k; f < folds.size(); f += trainings) {
      cells.insert(cells.end(), folds[f].cells.begin(), folds[f].cells.end());
    }
    std::shared_ptr<const FunctionPosterior> own = trained_without(stage, all.parts, cells);
    if (near != nullptr) own = ensemble_posterior(own->shared_model(), near->terms);
    for (std::size_t f = k; f < folds.size(); f += trainings) {
      const Dataset some = rows.select(at::tensor(folds[f].rows, at::kLong));
      all.found[f] = moments_at(*own, likelihood, some);
      if (near != nullptr) all.found[f] = together(own->model(), *near, all.found[f], of_near[f], some.x);
    }
  }
  return all;
}

}  // namespace ick
