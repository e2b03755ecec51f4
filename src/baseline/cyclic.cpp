#include <algorithm>

#include "baseline/rewrite.h"
#include "baseline/roles.h"
#include "ick/base/text.h"

// Seasons without a kernel: the formula's network also reads sine and cosine of the time, and what else kernels read.
//   mlp(a) * periodic(t, period=1y) + rbf(x)   ->   mlp(a, x, cycle(t, period=1y))
namespace ick {

namespace {

Formula rewrite_cyclic(const BaselineTask& task) {
  Call network;
  network.name = "mlp";
  network = only_network(task.plan.spec).value_or(network);
  add_columns(network, kernel_columns(task, /*by_phase=*/true), task.plan.spec.derived);
  network.nested.push_back(*cycle_of_time(task));
  return with_right(task.plan.spec.formula, {{network}});
}

std::string why_not_cyclic(const BaselineTask& task) {
  if (roles_of(task).time.empty()) return "the formula reads no time";
  if (!cycle_of_time(task)) return "the formula states no period, and its times show no day, week or year twice";
  const std::optional<Call> network = only_network(task.plan.spec);
  if (!network && !task.plan.spec.kernels_only())
    return "the formula has several networks, and one is to read the time";
  const bool has_cycle =
      network && std::ranges::any_of(network->nested, [](const Call& each) { return each.name == "cycle"; });
  return has_cycle ? "the formula's network reads sine and cosine already" : "";
}

}  // namespace

Baseline cyclic_baseline() {
  Baseline row;
  row.name = "cyclic";
  row.text = "the formula's network, which reads sine and cosine of the time in place of kernels";
  row.phrase = "the same network with sine and cosine of {time}";
  row.usual = [](const BaselineTask& task) { return !task.plan.spec.kernel_columns.empty(); };
  row.why_not = why_not_cyclic;
  row.rewrite = rewrite_cyclic;
  return row;
}

}  // namespace ick
