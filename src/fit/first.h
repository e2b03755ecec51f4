#pragma once

#include <memory>
#include <optional>

#include "ick/train/fit_hooks.h"
#include "inference/stage.h"

// The first training of a fit, and what else is tried before a model is kept: validation rows decide, which none of them
// has seen.
namespace ick {

struct FirstTraining {
  std::unique_ptr<Stage> stage;
  std::shared_ptr<const FunctionPosterior> posterior;
};

// The same plan, networks reading numbers by their ranks.
FitPlan ranked_plan(const Table& table, const FitPlan& plan);
// It, where a fit is to try it: for up to 10,000 rows, one of whose columns is skewed.
std::optional<FitPlan> plan_to_try_ranks(const Table& table, const FitPlan& plan);

// `hooks` are for the training that is asked for, which may be resumed; those of others are `quiet`. The plan of the
// stage is `plan`, or `ranked`, which is filled in when it is tried; both must live as long as the stage.
FirstTraining train_first(const Table& table, const FitPlan& plan, const FitHooks& hooks, const FitHooks& quiet,
                          const Checkpoint* resume, std::optional<FitPlan>& ranked);

}  // namespace ick
