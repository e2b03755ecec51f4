#include "baseline/kinds.h"
#include "baseline/rewrite.h"
#include "baseline/roles.h"

// One network on all columns that the formula reads: what a formula with structure has to beat.
namespace ick {

namespace {

Formula rewrite_mlp(const BaselineTask& task) {
  Call call;
  call.name = "mlp";
  add_columns(call, roles_of(task).columns, task.plan.spec.derived);
  return with_right(task.plan.spec.formula, {{call}});
}

}  // namespace

Baseline mlp_baseline() {
  Baseline row;
  row.name = "mlp";
  row.text = "the formula mlp(...) of all its columns";
  row.phrase = "a network on all columns";
  row.usual = [](const BaselineTask& task) { return task.plan.spec.network_columns.empty(); };
  row.why_not = why_not_columns;
  row.rewrite = rewrite_mlp;
  return row;
}

}  // namespace ick
