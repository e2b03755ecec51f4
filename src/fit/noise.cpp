#include "fit/noise.h"

#include <ATen/ATen.h>

#include <cmath>

#include "fit/choices.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/base/transform.h"
#include "inference/golden_section.h"
#include "model/named_columns.h"

namespace ick {

double fit_noise(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& y, const at::Tensor& shape,
                 double unit, const at::Tensor& weights) {
  const at::Tensor squares = (y - mean).square();
  const at::Tensor relative = shape.defined() ? shape : at::ones_like(y);
  const auto cost = [&](double t) {
    const at::Tensor total = variance + std::exp(t) * relative, each = total.log() + squares / total;
    return (weights.defined() ? each * weights : each).sum().item<double>();
  };
  // log s^2 from 1e-4 to 50 standard deviations of the target: less no posterior can be solved with, more none needs
  constexpr double kLowest = -18.5, kRange = 26.5, step = 0.5;
  const double low_end = 2.0 * std::log(unit) + kLowest, high_end = low_end + kRange;
  double best = low_end, lowest = HUGE_VAL;
  for (double t = low_end; t <= high_end; t += step) {
    const double value = cost(t);
    if (value < lowest) lowest = value, best = t;
  }
  return std::exp(0.5 * golden_section(best - step, best + step, 1e-6, cost));
}

ModelSpec parse_noise_formula(const Table& table, const std::string& target, const FitOptions& options) {
  const Formula formula = parse_formula(options.noise_formula);
  if (formula.target != "sigma" || !formula.transform.empty()) {
    const std::string found = transformed(*find_transform(formula.transform), formula.target);
    throw UsageError("found a formula of " + found + "; expected sigma ~ ...");
  }
  if (formula.weights.exists() || formula.offset.exists() || formula.error.exists()) {
    throw UsageError("weights(...), offset(...) and error(...) belong to the target's formula; leave them out here");
  }
  if (table.find("sigma") != nullptr) {
    throw UsageError("the table has a column named sigma, which here means the noise; rename the column");
  }
  std::vector<std::string> columns = {"sigma"};
  for (const std::string& name : columns_for(formula, table, options)) {
    if (name != target) columns.push_back(name);
  }
  ModelSpec spec = make_spec(formula, columns, not_numbers(table));
  find_derived_settings(table, spec.derived);
  if (spec.trees) {
    throw UsageError(where(spec.trees->position) + std::string(spec.trees->kind->name) +
                     "(...) is for the target's formula; the noise is learned by kernels and networks");
  }
  for (const std::string& name : spec.kernel_columns) {
    if (find_derived(spec.derived, name) != nullptr) continue;
    const ColumnType type = table.column(name).info.type;
    if (type != ColumnType::category && type != ColumnType::text) continue;
    throw DataError("column \"" + name + "\" is a " + std::string(column_type_name(type)) +
                    ", and kernels of the noise read numbers and times; let a network read it, as in mlp(" + name +
                    ")");
  }
  return spec;
}

std::shared_ptr<const CompositePredictor> fit_noise_model(const Table& table, const std::string& target,
                                                          const FitOptions& options, const Unseen& unseen,
                                                          const FitHooks& hooks) {
  Formula logarithm = parse_formula(options.noise_formula);
  logarithm.transform = "log";
  Table rows = select_rows(table, unseen.rows.rows);
  const std::vector<std::string> readable = columns_for(logarithm, table, options);
  std::erase_if(rows.columns, [&](const Column& column) {
    return column.info.name == target || !contains(readable, column.info.name);
  });
  const at::Tensor squares = (unseen.y - unseen.mean).square();
  constexpr double kLeastShare = 1e-6, kLeast = 1e-300;  // a residual of zero has no logarithm
  const double least = kLeastShare * squares.mean().item<double>();
  const at::Tensor bounded = squares.clamp_min(least > 0.0 ? least : kLeast).contiguous();
  Column& sigma = rows.columns.emplace_back();
  sigma.info.name = "sigma";
  sigma.values = std::vector<double>(bounded.data_ptr<double>(), bounded.data_ptr<double>() + bounded.numel());

  FitOptions own;
  own.seed = options.seed;
  own.gaps = options.gaps;
  own.units = options.units;
  own.layers = options.layers;
  own.threads = options.threads;
  FitHooks quiet;
  if (hooks.ranks == nullptr) quiet.interrupted = hooks.interrupted;
  if (hooks.progress) {
    quiet.progress = [&](Progress progress) {
      progress.phase = "noise, " + progress.phase;
      hooks.progress(progress);
    };
  }
  return std::make_shared<CompositePredictor>(fit_model(rows, logarithm, own, quiet).model);
}

}  // namespace ick
