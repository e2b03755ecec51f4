#include "fit/sanity.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "train/roles.h"

namespace ick {

namespace {

constexpr std::int64_t kPoints = 1000;   // in the box of the inputs
constexpr double kMostRanges = 10.0;     // of the target, that a prediction may lie beyond it
constexpr double kMostVariance = 100.0;  // over the target's

std::string significant(double value) { return fmt::format("{:.4g}", value); }

// Training rows whose inputs are shuffled, column by column for kernels and row by row for each network: inside the box of
// the data, and mostly between them.
Dataset points_in_box(const Dataset& training, std::uint64_t seed) {
  Dataset points = training.select(draw_rows(training.size(), kPoints, seed_for(seed, "points in the box")));
  const std::int64_t n = points.size();
  Random random(seed_for(seed, "shuffled inputs"));
  const auto order = [&] {
    at::Tensor drawn = at::arange(n, at::kLong);
    for (std::int64_t i = n - 1; i > 0; --i) {
      std::swap(drawn.data_ptr<std::int64_t>()[i], drawn.data_ptr<std::int64_t>()[random.below(i + 1)]);
    }
    return drawn;
  };
  points.x = points.x.clone();
  for (std::int64_t d = 0; d < points.x.size(1); ++d) {
    points.x.select(1, d).copy_(points.x.select(1, d).clone().index_select(0, order()));
  }
  for (std::size_t s = 0; s < points.networks.size(); ++s) {
    const bool image = s < points.images.size() && points.images[s];
    if (!image) points.networks[s] = points.networks[s].index_select(0, order());
  }
  return points;
}

// Root mean square errors of the mean at the same phase of a period, learned from training rows, at validation rows.
double seasonal_rmse(const Table& table, const FitPlan& plan, const std::string& column, double period) {
  constexpr std::size_t kPhases = 24;
  const Numbers &times = table.column(column).values, &target = table.column(plan.spec.formula.target).values;
  std::vector<double> sums(kPhases), counts(kPhases);
  const auto phase = [&](std::int64_t i) {
    const double turns = times[i] / period;
    return std::min(kPhases - 1, static_cast<std::size_t>((turns - std::floor(turns)) * kPhases));
  };
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (plan.training[i]) sums[phase(i)] += target[i], counts[phase(i)] += 1.0;
  }
  double squares = 0.0, rows = 0.0;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (!plan.validation[i] || counts[phase(i)] == 0.0) continue;
    const double error = target[i] - sums[phase(i)] / counts[phase(i)];
    squares += error * error, rows += 1.0;
  }
  return rows > 0.0 ? std::sqrt(squares / rows) : HUGE_VAL;
}

}  // namespace

double unseen_error(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& unseen) {
  const at::Tensor mean = moments_at(posterior, likelihood, unseen).mean;
  const double error = (mean - unseen.targets()).square().mean().item<double>();
  return std::isfinite(error) ? error : HUGE_VAL;
}

bool is_wild(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& training,
             std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  const at::Tensor y = training.targets(), f = moments_at(posterior, likelihood, points_in_box(training, seed)).mean;
  const double range = (y.max() - y.min()).item<double>();
  const bool inside =
      (f < y.max() + kMostRanges * range).logical_and(f > y.min() - kMostRanges * range).all().item<bool>();
  return !inside;
}

bool looks_wrong(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& training,
                 const Dataset& unseen, std::uint64_t seed) {
  if (unseen_error(posterior, likelihood, unseen) > unseen.targets().square().mean().item<double>()) return true;
  return is_wild(posterior, likelihood, training, seed);
}

namespace {

// A season or a line of anything: it has values beyond the rows.
bool reaches_forward(const ModelSpec& spec) {
  bool found = false;
  each_kernel(spec, [&](const KernelSpec& kernel) {
    found = found || contains(std::vector<std::string>{"periodic", "linear", "polynomial", "cosine"}, kernel.name);
  });
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) {
      const NetworkPlan& read = network.inputs;
      const auto has_cycles = [](const TreesPlan& trees) { return !trees.cycles.empty(); };
      found = found || !read.cycles.empty() || std::any_of(read.trees.begin(), read.trees.end(), has_cycles);
    }
  }
  return found;
}

}  // namespace

std::vector<Message> odd_things(const Table& table, const FitPlan& plan, const Stage& stage, const Fit& fit) {
  const at::NoGradGuard no_grad;
  std::vector<Message> sentences;
  const CompositePredictor& model = fit.model;
  const Split& split = *plan.options.validation;
  const bool future = split.kind == Split::Kind::last;
  if (const auto& found = fit.report.validation; found && found->r2 < 0.0) {
    sentences.push_back(
        "validation rows are predicted worse than by the mean of the training rows (R2 " +
        fmt::format("{:.2f}", found->r2) + "): " +
        (future && !reaches_forward(plan.spec)
             ? "the formula has nothing that reaches into the future (periodic or linear kernels do), or " +
                   setting("validation") + " should set rows apart in the way in which they will be predicted"
         : future ? "what was learned before does not hold in the latest rows, or " + setting("validation") +
                        " should set rows apart in the way in which they will be predicted"
                  : "its columns may have nothing to do with the target, or " + setting("validation") +
                        " should set rows apart in the way in which they will be predicted"));
  } else if (found && future) {
    const std::string column = time_column_of(table, split);
    for (const ParameterValue& each : model.parameters()) {
      if (!each.path.ends_with(".period") || each.path.find("." + column + ".") == std::string::npos) continue;
      const double rmse = seasonal_rmse(table, plan, column, each.values[0]);
      constexpr double kClearly = 1.05;
      if (found->rmse <= kClearly * rmse) continue;
      sentences.push_back("the mean of the same time in a period of " + significant(each.values[0]) + " " + each.unit +
                          " predicts validation rows better than the model (rmse " + significant(rmse) + " against " +
                          significant(found->rmse) + "): the period may be wrong, or parts of the formula too rough");
    }
  }
  if (model.likelihood->link == Link::identity && plan.spec.terms.size() > 0) {
    const Dataset points = points_in_box(stage.training(), plan.options.seed);
    const FunctionMoments f = model.predict_function(points);
    const Prediction p = model.in_units(f.mean, f.variance, at::zeros_like(f.variance), 0.9, points.row_offset());
    const std::vector<double> y = model.observed(table, stage.training());
    const auto [low, high] = std::minmax_element(y.begin(), y.end());
    const auto [least, most] = std::minmax_element(p.mean.begin(), p.mean.end());
    const double range = *high - *low;
    if (!(*least > *low - kMostRanges * range && *most < *high + kMostRanges * range)) {
      sentences.push_back("between its rows the model predicts from " + significant(*least) + " to " +
                          significant(*most) + ", and the target lies between " + significant(*low) + " and " +
                          significant(*high) + ": do not use it there; state a prior of its lengthscales");
    }
  }
  const double variance = model.encoder.target_scaling.sd * model.encoder.target_scaling.sd;
  for (const ParameterValue& each : model.parameters()) {
    if (!each.path.ends_with(".variance") || !each.unit.ends_with("^2") || each.fixed || variance <= 0.0) continue;
    const double times = *std::max_element(each.values.begin(), each.values.end()) / variance;
    if (times <= kMostVariance) continue;
    sentences.push_back(
        each.path + " is " + significant(times) +
        " times the target's variance: the data say little of it; state a prior, as in variance=prior(" +
        significant(0.1 * variance) + ", " + significant(10.0 * variance) + ")");
  }
  return sentences;
}

}  // namespace ick
