#include <algorithm>

#include "baseline/kinds.h"
#include "baseline/rewrite.h"
#include "ick/trees/term.h"

// Parts of a formula: its networks alone, its kernels alone. Its trees alone are baselines of their own.
//   mlp(a) * rbf(t) + linear(b) + boost(c)   ->   mlp(a)    and    rbf(t) + linear(b)
namespace ick {

namespace {

bool is_network(const Call& call) { return find_network(call.name) != nullptr; }
bool is_kernel(const Call& call) { return !is_network(call) && find_trees(call.name) == nullptr; }

// Each product without other calls; what is then said twice is said once.
Formula half(const BaselineTask& task, bool (*stays)(const Call&)) {
  SumOfProducts kept;
  for (const Product& product : spelled_out(task.plan.spec)) {
    Product part;
    std::ranges::copy_if(product, std::back_inserter(part), stays);
    if (!part.empty() && std::ranges::find(kept, part) == kept.end()) kept.push_back(std::move(part));
  }
  return with_right(task.plan.spec.formula, kept);
}

struct Has {
  bool networks = false, kernels = false, trees = false;
};
Has parts_of(const ModelSpec& spec) {
  const auto networks = [](const TermSpec& term) { return !term.networks.empty(); };
  return {std::ranges::any_of(spec.terms, networks), !spec.kernel_columns.empty(), spec.trees.has_value()};
}

std::string why_no_network(const BaselineTask& task) {
  const Has has = parts_of(task.plan.spec);
  if (!has.networks) return "the formula has no network";
  return has.kernels || has.trees ? "" : "the formula has no kernel";
}

std::string why_no_kernels(const BaselineTask& task) {
  const Has has = parts_of(task.plan.spec);
  if (!has.kernels) return "the formula has no kernel";
  return has.networks || has.trees ? "" : "the formula has no network";
}

Baseline half_baseline() {
  Baseline row;
  row.usual = [](const BaselineTask&) { return true; };
  return row;
}

}  // namespace

Baseline network_baseline() {
  Baseline row = half_baseline();
  row.name = "network";
  row.why_not = why_no_network;
  row.text = "the networks of the formula alone";
  row.phrase = "the network alone";
  row.rewrite = [](const BaselineTask& task) { return half(task, is_network); };
  return row;
}

Baseline kernels_baseline() {
  Baseline row = half_baseline();
  row.name = "kernels";
  row.why_not = why_no_kernels;
  row.text = "the kernels of the formula alone";
  row.phrase = "the kernels alone";
  row.rewrite = [](const BaselineTask& task) { return half(task, is_kernel); };
  return row;
}

}  // namespace ick
