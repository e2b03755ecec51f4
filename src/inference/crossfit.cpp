#include "inference/crossfit.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "inference/engines.h"

namespace ick {

namespace {

// Which of the rows in `use` are in each fold. Of groups there may be fewer than folds.
std::vector<std::vector<bool>> folds_of(const Table& table, const FitPlan& plan, std::vector<bool> use, int count) {
  Split split;
  split.kind = Split::Kind::random;
  if (plan.options.validation->kind == Split::Kind::group) split = *plan.options.validation;
  std::vector<std::vector<bool>> folds;
  for (int left = count; left > 1; --left) {
    split.share = 1.0 / left;
    std::vector<bool> fold;
    try {
      fold = held_out(table, split, seed_for(plan.options.seed, "fold " + std::to_string(left)), use);
    } catch (const DataError&) {  // one group is left: it is the last fold
      break;
    }
    for (std::size_t i = 0; i < use.size(); ++i) use[i] = use[i] && !fold[i];
    folds.push_back(std::move(fold));
  }
  folds.push_back(std::move(use));
  return folds;
}

}  // namespace

CrossFit cross_fit(const Stage& stage, int count) {
  const at::NoGradGuard no_grad;
  const Table& table = stage.table();
  const Dataset& rows = stage.training();
  std::vector<bool> use(static_cast<std::size_t>(table.rows), false);
  for (const std::int64_t row : rows.rows) use[static_cast<std::size_t>(row)] = true;
  const std::vector<std::vector<bool>> folds = folds_of(table, stage.plan(), use, count);
  if (folds.size() < 2) return {};

  FitPlan plan = stage.plan();
  plan.encoder = stage.encoder();  // scalings and levels stay: residuals have one unit
  plan.options.members = 1;
  plan.options.perturbation = Perturbation::none;
  FitHooks hooks;
  hooks.interrupted = stage.hooks().interrupted;
  const StageOutcome outcome = stage.outcome();
  const Likelihood& likelihood = likelihood_of(plan.options);
  CrossFit found{at::empty({rows.size()}, at::kDouble), at::empty({rows.size()}, at::kLong)};
  for (std::size_t k = 0; k < folds.size(); ++k) {
    stage.say("fold " + std::to_string(k + 1) + " of " + std::to_string(folds.size()));
    plan.training = use;
    std::vector<std::int64_t> places;  // of the fold's rows among the stage's
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows.rows[static_cast<std::size_t>(i)]);
      if (!folds[k][row]) continue;
      plan.training[row] = false;
      places.push_back(i);
    }
    plan.options.batch = std::min(stage.options().batch, count_of(plan.training));
    Stage others(table, plan, plan.training, "fold", hooks);
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

}  // namespace ick
