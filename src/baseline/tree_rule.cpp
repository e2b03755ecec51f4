#include "baseline/tree_rule.h"

namespace ick {

void read_tree_columns(const BaselineTask& task, EncoderPlan& plan) {
  read_tree_columns(task.table, roles_of(task).columns, plan);
}

TreeTerm trees_of(const BaselineTask& task, std::string_view kind) {
  const std::optional<TreeTerm>& stated = task.plan.spec.trees;
  return stated && stated->kind->name == kind ? *stated : usual_trees(kind);
}

}  // namespace ick
