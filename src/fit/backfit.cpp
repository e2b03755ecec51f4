#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "fit/grow_trees.h"
#include "ick/inference/engine.h"
#include "ick/train/threads.h"
#include "inference/left_out.h"
#include "inference/stage.h"

namespace ick {

namespace {

// What other terms, fitted on what trees leave, predict of rows that they have not seen: training rows in fifths, drawn
// one by one, and validation rows. In the transformed target's units; 0 of rows that nothing is learned from.
std::vector<double> predicted_by_others(const FirstTrees& first, const FitPlan& plan, const FitHooks& hooks) {
  FitHooks quiet;
  if (hooks.ranks == nullptr) quiet.interrupted = hooks.interrupted;
  Stage stage(first.table, plan, plan.training, "train", quiet);
  const auto posterior = engine_named(plan.options.posterior).fit(stage, {});
  const at::NoGradGuard no_grad;
  const Dataset &rows = stage.training(), &unseen = stage.validation();
  LeftOutParts parts = parts_at_random(rows.size(), plan.options.seed);
  for (LeftOut& part : parts.folds) part.rows.clear();
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    parts.folds[static_cast<std::size_t>(parts.cell_of[static_cast<std::size_t>(i)])].rows.push_back(i);
  }
  const double s2 = stage.standard_noise() * stage.standard_noise();
  const std::vector<FunctionMoments> found = posterior->left_out(rows, parts.cell_of, parts.folds, s2);
  std::vector<double> others(static_cast<std::size_t>(first.table.rows), 0.0);
  const auto [mean, sd] = stage.encoder().target_scaling;
  const auto take = [&](std::int64_t row, double f) { others[static_cast<std::size_t>(row)] = mean + sd * f; };
  for (std::size_t k = 0; k < found.size(); ++k) {
    for (std::size_t i = 0; i < parts.folds[k].rows.size(); ++i) {
      const auto place = static_cast<std::size_t>(parts.folds[k].rows[i]);
      take(rows.rows[place], found[k].mean[static_cast<std::int64_t>(i)].item<double>());
    }
  }
  if (unseen.size() == 0) return others;
  const at::Tensor f = moments_at(*posterior, likelihood_of(plan.options), unseen).mean;
  for (std::int64_t i = 0; i < unseen.size(); ++i) {
    take(unseen.rows[static_cast<std::size_t>(i)], f[i].item<double>());
  }
  return others;
}

// Of both together, each on rows that it has not seen.
double error_of(const FirstTrees& first, const FitPlan& plan, const std::vector<double>& others) {
  const Dataset rows = open_rows(first.table, plan.encoder, plan.training, nullptr, HUGE_VAL);
  const auto [mean, sd] = plan.encoder.target_scaling;
  const at::Tensor left = rows.targets() * sd + mean;  // by trees
  double squares = 0.0;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows.rows[static_cast<std::size_t>(i)]);
    squares += std::pow(left[i].item<double>() - others[row], 2);
  }
  return squares;
}

}  // namespace

FirstTrees backfit_trees(const Table& table, const FitPlan& plan, const FitHooks& hooks) {
  constexpr int kMostTurns = 3;
  constexpr double kLess = 0.99;  // of the squares, that another turn has to be worth
  FirstTrees best = grow_trees(table, plan, hooks);
  if (!engine_named(plan.options.posterior).kernels_only) return best;
  use_torch_threads(1);  // the same to the last bit for any number of workers
  double least = HUGE_VAL;
  FirstTrees next = best;
  for (int turn = 0; turn <= kMostTurns; ++turn) {
    FitPlan own = plan;
    take_trees(next, own);
    std::vector<double> others = predicted_by_others(next, own, hooks);
    const double squares = error_of(next, own, others);
    if (!(squares < kLess * least)) break;
    least = squares, best = next;
    if (turn < kMostTurns) next = grow_trees(table, plan, hooks, std::move(others));
  }
  return best;
}

}  // namespace ick
