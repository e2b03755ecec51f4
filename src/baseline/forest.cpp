#include <ATen/ATen.h>

#include "baseline/kinds.h"
#include "baseline/tree_rule.h"

// A random forest. Leaves are means of the target, so that of classes each has a forest of its own for 1 where a row is
// of that class, else 0.
namespace ick {

namespace {

Trees grow_forest(const TreeTerm& term, const TreeRows& rows, std::uint64_t seed) {
  Trees trees(term.settings(seed), rows);
  trees.add_round(rows);
  return trees;
}

at::Tensor forest_of(const std::vector<at::Tensor>& found) {
  if (found.size() == 1) return found[0];
  // as if each forest had one more tree of so many, that shares itself out among all classes
  const double trees = 500.0, classes = static_cast<double>(found.size());
  const at::Tensor shares = at::stack(found, 1).clamp(0.0, 1.0) * trees + 1.0 / classes;
  return shares / shares.sum(1, true);
}

std::shared_ptr<const BaselineRule> learn_forest(const BaselineTraining& training) {
  const BaselineTask& task = training.task;
  const at::Tensor calendar = calendar_of(task.table, training.encoder, task.plan.training);
  const TreeTerm term = trees_of(task, "forest");
  const at::Tensor values = tree_values(training.rows, calendar), y = training.rows.targets();
  const at::Tensor weights = weights_or_one(training.rows);
  const std::uint64_t seed = task.plan.options.seed;
  std::vector<Trees> forests;
  const std::int64_t classes = std::ssize(training.encoder.classes);
  if (classes == 0) forests.push_back(grow_forest(term, {values, y, weights}, seed));
  for (std::int64_t c = 0; c < classes; ++c) forests.push_back(grow_forest(term, {values, y.eq(c), weights}, seed));
  return std::make_shared<TreeRule>(TreeSums(std::move(forests), calendar), forest_of);
}

std::shared_ptr<const BaselineRule> restore_forest(const TensorState& tensors, const Encoder& encoder) {
  return std::make_shared<TreeRule>(TreeSums::restore(tensors, encoder), forest_of);
}

}  // namespace

Baseline forest_baseline() {
  Baseline row;
  row.name = "forest";
  row.text = "random forest of 500 trees on all columns of the formula, levels as 0/1 numbers, by XGBoost";
  row.phrase = "a forest";
  row.usual = [](const BaselineTask& task) { return count_of(task.plan.training) < kManyForForest; };
  row.classes = true;
  row.trainings = 5;
  row.side_by_side = true;
  row.why_not = why_not_columns;
  row.read = read_tree_columns;
  row.learn = learn_forest;
  row.restore = restore_forest;
  return row;
}

}  // namespace ick
