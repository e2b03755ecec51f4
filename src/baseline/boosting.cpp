#include <ATen/ATen.h>

#include <cmath>

#include "baseline/kinds.h"
#include "baseline/tree_rule.h"

// Gradient boosting: trees one after the other, until validation rows are predicted no better.
namespace ick {

namespace {

constexpr int kUsualRounds = 200;  // where there are no validation rows to stop by

TreeSettings boosting_settings(const TreeTerm& term, std::int64_t classes, std::uint64_t seed) {
  TreeSettings settings = term.settings(seed);
  if (classes == 0) return settings;
  settings["objective"] = classes == 2 ? "binary:logistic" : "multi:softprob";
  settings["base_score"] = "0.5";
  if (classes > 2) settings["num_class"] = std::to_string(classes);
  return settings;
}

// Mean squared error; of classes the mean of -log p.
double cost_of(const at::Tensor& found, const at::Tensor& y, const at::Tensor& w, std::int64_t classes) {
  constexpr double kLeast = 1e-15;
  at::Tensor cost;
  if (classes == 0) {
    cost = (found - y).square();
  } else if (classes == 2) {
    cost = -at::where(y > 0.5, found, 1.0 - found).clamp_min(kLeast).log();
  } else {
    cost = -found.gather(1, y.to(at::kLong).unsqueeze(1)).squeeze(1).clamp_min(kLeast).log();
  }
  return (w * cost).sum().item<double>() / w.sum().item<double>();
}

at::Tensor boosted(const std::vector<at::Tensor>& found) { return found[0]; }

// Float32 is 0 or 1 for what is only nearly so.
at::Tensor boosted_classes(const std::vector<at::Tensor>& found) {
  constexpr double kLeast = 1e-6;
  const at::Tensor p = found[0].dim() == 2 ? found[0] : at::stack({1.0 - found[0], found[0]}, 1);
  const at::Tensor inside = p.clamp(kLeast, 1.0);
  return inside / inside.sum(1, true);
}

std::shared_ptr<const BaselineRule> learn_boosting(const BaselineTraining& training) {
  const BaselineTask& task = training.task;
  const at::Tensor calendar = calendar_of(task.table, training.encoder, task.plan.training);
  const TreeTerm term = trees_of(task, "boost");
  const std::int64_t classes = std::ssize(training.encoder.classes);
  const TreeRows rows(tree_values(training.rows, calendar), training.rows.targets(), weights_or_one(training.rows));
  Trees trees(boosting_settings(term, classes, task.plan.options.seed), rows);
  const auto* const chosen = dynamic_cast<const TreeRule*>(training.chosen);
  const auto rule = [&](Trees made) {
    return std::make_shared<TreeRule>(TreeSums({std::move(made)}, calendar), classes == 0 ? boosted : boosted_classes);
  };
  if (chosen != nullptr || training.validation == nullptr || term.rounds() > 0) {
    const int rounds = term.rounds() > 0 ? term.rounds() : chosen != nullptr ? chosen->rounds() : kUsualRounds;
    for (int round = 0; round < rounds; ++round) trees.add_round(rows);
    return rule(std::move(trees));
  }
  const at::Tensor y = training.validation->targets(), w = weights_or_one(*training.validation);
  const TreeRows unseen(tree_values(*training.validation, calendar));
  double least = HUGE_VAL;
  int best = 1;
  for (int round = 1; round <= kMostTreeRounds && round <= best + kTreePatience; ++round) {
    trees.add_round(rows);
    if (const double cost = cost_of(trees.predict(unseen), y, w, classes); cost < least) least = cost, best = round;
  }
  return rule(trees.first(best));
}

std::shared_ptr<const BaselineRule> restore_boosting(const TensorState& tensors, const Encoder& encoder) {
  return std::make_shared<TreeRule>(TreeSums::restore(tensors, encoder),
                                    encoder.classes.empty() ? boosted : boosted_classes);
}

}  // namespace

Baseline boosting_baseline() {
  Baseline row;
  row.name = "boosting";
  row.text = "gradient boosting on all columns of the formula, levels as 0/1 numbers, by XGBoost";
  row.phrase = "boosting";
  row.usual = [](const BaselineTask& task) { return count_of(task.plan.training) >= kManyForForest; };
  row.classes = true;
  row.trainings = 5;
  row.side_by_side = true;
  row.why_not = why_not_columns;
  row.read = read_tree_columns;
  row.learn = learn_boosting;
  row.restore = restore_boosting;
  return row;
}

}  // namespace ick
