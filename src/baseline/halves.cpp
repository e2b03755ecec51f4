#include <algorithm>

#include "baseline/kinds.h"
#include "baseline/rewrite.h"

// The two halves of a formula: its networks without kernels, its kernels without networks.
//   mlp(a) * rbf(t) + linear(b)   ->   mlp(a)    and    rbf(t) + linear(b)
namespace ick {

namespace {

// Each product without the calls of the other half; what is then said twice is said once.
Formula half(const BaselineTask& task, bool networks) {
  SumOfProducts kept;
  for (const Product& product : spelled_out(task.plan.spec)) {
    Product part;
    std::ranges::copy_if(product, std::back_inserter(part),
                         [&](const Call& call) { return (find_network(call.name) != nullptr) == networks; });
    if (!part.empty() && std::ranges::find(kept, part) == kept.end()) kept.push_back(std::move(part));
  }
  return with_right(task.plan.spec.formula, kept);
}

std::string why_no_half(const BaselineTask& task) {
  const ModelSpec& spec = task.plan.spec;
  if (spec.kernel_columns.empty()) return "the formula has no kernel";
  return spec.kernels_only() ? "the formula has no network" : "";
}

Baseline half_baseline() {
  Baseline row;
  row.usual = [](const BaselineTask&) { return true; };
  row.why_not = why_no_half;
  return row;
}

}  // namespace

Baseline network_baseline() {
  Baseline row = half_baseline();
  row.name = "network";
  row.text = "the formula without its kernels";
  row.phrase = "the network without the kernels";
  row.rewrite = [](const BaselineTask& task) { return half(task, true); };
  return row;
}

Baseline kernels_baseline() {
  Baseline row = half_baseline();
  row.name = "kernels";
  row.text = "the formula without its networks";
  row.phrase = "the kernels without the network";
  row.rewrite = [](const BaselineTask& task) { return half(task, false); };
  return row;
}

}  // namespace ick
