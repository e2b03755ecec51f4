#include "baseline/rewrite.h"
#include "baseline/roles.h"
#include "ick/base/text.h"

// Joint models (Zheng et al. 2021; MLP-RF, CNN-RF and ViT-RF of Jiang et al. 2024, by the network of the formula): what
// kernels would read goes through totally random trees, whose leaves are joined to the network's representation before
// its dense layers. The seasonal ones give the trees sine and cosine of the time in place of it.
//   cnn(image) * periodic(t, period=1y)   ->   cnn(image, trees(t))   and   cnn(image, trees(cycle(t, period=1y)))
namespace ick {

namespace {

Formula rewrite_joint(const BaselineTask& task, bool seasonal) {
  Call network = *only_network(task.plan.spec);
  Call trees;
  trees.name = "trees";
  add_columns(trees, kernel_columns(task, seasonal), task.plan.spec.derived);
  if (seasonal) trees.nested = {*cycle_of_time(task)};
  network.nested.push_back(trees);
  return with_right(task.plan.spec.formula, {{network}});
}

std::string why_not_joint(const BaselineTask& task) {
  const ModelSpec& spec = task.plan.spec;
  if (spec.kernels_only()) return "the formula has no network";
  if (spec.kernel_columns.empty()) return "the formula has no kernel, whose columns the trees would read";
  return only_network(spec) ? "" : "the formula has several networks, and one is to be joined";
}

std::string why_not_seasonal_joint(const BaselineTask& task) {
  if (const std::string reason = why_not_joint(task); !reason.empty()) return reason;
  if (roles_of(task).time.empty()) return "the formula reads no time";
  return cycle_of_time(task) ? "" : "the formula states no period, and its times show no day, week or year twice";
}

}  // namespace

Baseline joint_baseline() {
  Baseline row;
  row.name = "joint";
  row.text = "the formula's network joined with random trees of what its kernels read (MLP-RF, CNN-RF, ViT-RF)";
  row.phrase = "the same network joined with random trees";
  row.why_not = why_not_joint;
  row.rewrite = [](const BaselineTask& task) { return rewrite_joint(task, false); };
  return row;
}

Baseline seasonal_joint_baseline() {
  Baseline row;
  row.name = "seasonal-joint";
  row.text = "the same with sine and cosine of the time for the trees (seasonal CNN-RF, ViT-RF)";
  row.phrase = "the same network joined with random trees of the season";
  row.why_not = why_not_seasonal_joint;
  row.rewrite = [](const BaselineTask& task) { return rewrite_joint(task, true); };
  return row;
}

}  // namespace ick
