#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/registry.h"
#include "baseline/kinds.h"
#include "baseline/rewrite.h"
#include "ick/base/error.h"

namespace ick {

// Each in a file of its own.
Baseline mean_baseline();
Baseline seasonal_baseline();
Baseline last_season_baseline();
Baseline inverse_distance_baseline();
Baseline ridge_baseline();
Baseline forest_baseline();
Baseline boosting_baseline();
Baseline mlp_baseline();
Baseline cyclic_baseline();
Baseline network_baseline();
Baseline kernels_baseline();
Baseline joint_baseline();
Baseline seasonal_joint_baseline();
Baseline svgp_baseline();
Baseline gp_baseline();
Baseline dkl_baseline();

namespace {

// The table. A new baseline is a file like its neighbours and a line above and here.
const Registry<Baseline>& baseline_table() {
  static const Registry<Baseline> rows(
      "baseline", {mean_baseline(), seasonal_baseline(), last_season_baseline(), inverse_distance_baseline(),
                   ridge_baseline(), forest_baseline(), boosting_baseline(), mlp_baseline(), cyclic_baseline(),
                   network_baseline(), kernels_baseline(), joint_baseline(), seasonal_joint_baseline(), svgp_baseline(),
                   gp_baseline(), dkl_baseline()});
  return rows;
}

}  // namespace

std::vector<const Baseline*> baselines() { return baseline_table().all(); }
const Baseline& baseline_named(std::string_view name) { return baseline_table().named(name); }

std::string why_not(const Baseline& baseline, const BaselineTask& task) {
  const FitOptions& o = task.plan.options;
  const Formula& formula = task.plan.spec.formula;
  if (baseline.learn != nullptr) {
    const Likelihood& likelihood = likelihood_of(o);
    if (likelihood.has_classes() && !baseline.classes) return "it is for numbers, and the target is one of classes";
    if (likelihood.has_classes() && formula.offset.exists()) return "it has no part for offset(...) of classes";
    if (!likelihood.has_classes() && !likelihood.conjugate) {
      return "its noise is Gaussian, and this is " + setting("likelihood", o.likelihood);
    }
    if (!o.noise_formula.empty()) return "its noise has one size, and " + setting("noise_formula") + " is given";
  }
  const std::string reason = baseline.why_not != nullptr ? baseline.why_not(task) : "";
  if (!reason.empty() || baseline.rewrite == nullptr) return reason;
  const bool same = print(baseline.rewrite(task)) == print(with_right(formula, spelled_out(task.plan.spec)));
  return same ? "the formula is that already" : "";
}

at::Tensor kept_tensor(const TensorState& tensors, std::string_view name, std::int64_t axes) {
  const at::Tensor found = find_tensor(tensors, name);
  if (!found.defined() || found.dim() != axes) {
    throw DataError("the baseline has no \"" + std::string(name) + "\" with " + std::to_string(axes) +
                    (axes == 1 ? " axis" : " axes"));
  }
  return found.to(at::kDouble).contiguous();
}

void refuse_kept(std::string_view name) {
  throw DataError("the baseline's \"" + std::string(name) + "\" makes no sense");
}

std::vector<double> kept_numbers(const TensorState& tensors, std::string_view name, std::int64_t count) {
  const std::vector<double> found = numbers_of(kept_tensor(tensors, name));
  const bool finite = std::all_of(found.begin(), found.end(), [](double each) { return std::isfinite(each); });
  if (!finite || (count >= 0 && std::ssize(found) != count)) refuse_kept(name);
  return found;
}

namespace detail {

std::vector<std::string> baseline_names() {
  std::vector<std::string> names;
  for (const Baseline* row : baselines()) names.emplace_back(row->name);
  return names;
}

}  // namespace detail

}  // namespace ick
