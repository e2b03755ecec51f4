#include "ick/model/fitted.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr std::int64_t kBlock = 4096;  // rows evaluated at once

Dataset block_of(const Dataset& rows, std::int64_t first, std::int64_t count) {
  Dataset block;
  block.x = rows.x.narrow(0, first, count);
  for (const at::Tensor& each : rows.networks) block.networks.push_back(each.narrow(0, first, count));
  return block;
}

// Of a parameter in the unit of its kernel's inputs: "d", or "m, km" where the columns have different ones.
std::string unit_of(const Encoder& encoder, const Factor& f) {
  const auto unit = [&](std::int64_t column) { return encoder.kernel_columns[column].unit; };
  const bool same = std::all_of(f.columns.begin(), f.columns.end(),
                                [&](std::int64_t column) { return unit(column) == unit(f.columns[0]); });
  std::string text = unit(f.columns[0]);
  for (std::size_t d = 1; d < f.columns.size() && !same; ++d) text += ", " + unit(f.columns[d]);
  return text;
}

bool owns(const Factor& f, const Parameter& parameter) {
  return parameter.first >= f.first_parameter && parameter.first < f.first_parameter + f.parameter_count;
}

// The first variance of a product is in the target's unit; those after it are factors of it, pure numbers.
bool is_scale(const Kernel& kernel, const Parameter& variance) {
  for (const auto& factors : kernel.terms()) {
    for (const Factor& f : factors) {
      if (owns(f, variance)) return true;
      const auto& declared = f.row->parameters;
      if (std::any_of(declared.begin(), declared.end(), [](const auto& d) { return d.unit == Unit::target_squared; }))
        break;
    }
  }
  return false;
}

// A gap that training refused is a row that cannot be predicted: it is left out, not a reason to stop.
Encoder lenient(Encoder encoder) {
  if (encoder.gaps == Gaps::refuse) encoder.gaps = Gaps::drop;
  return encoder;
}

std::vector<double> to_vector(const at::Tensor& values) {
  const at::Tensor dense = values.to(at::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}

}  // namespace

std::pair<at::Tensor, at::Tensor> FittedModel::predict_function(const Dataset& rows) const {
  at::NoGradGuard no_grad;
  at::Tensor mean = at::empty({rows.size()}, at::kDouble), variance = at::empty({rows.size()}, at::kDouble);
  for (std::int64_t first = 0; first < rows.size(); first += kBlock) {
    const std::int64_t count = std::min(kBlock, rows.size() - first);
    const Dataset block = block_of(rows, first, count);
    at::Tensor spread;
    at::Tensor centre;
    if (posterior.defined()) {
      // f = phi . w, w ~ N(m, (L L^T)^-1), all members alike; what the features miss of the kernel is added.
      const at::Tensor phi = model->linear_features(block.x)[0];  // (B, P + 1)
      const at::Tensor solved = at::linalg_solve_triangular(posterior, phi.t(), false);
      centre = (*model)(Batch{block.x, block.networks, {}}).to(at::kDouble).mean(0);
      spread = solved.square().sum(0) + model->residual(block.x)[0];
    } else {
      const at::Tensor f = (*model)(Batch{block.x, block.networks, {}}).to(at::kDouble);  // (E, B)
      centre = f.mean(0);
      spread = (f - centre).square().mean(0);
    }
    mean.narrow(0, first, count).copy_(centre);
    variance.narrow(0, first, count).copy_(spread);
  }
  return {mean, variance};
}

Prediction FittedModel::in_units(const at::Tensor& mean, const at::Tensor& variance, double level) const {
  if (!(level > 0.0 && level < 1.0)) throw UsageError("the level of an interval must be between 0 and 1");
  const double width = normal_quantile(0.5 + 0.5 * level);
  const Scaling& scaling = encoder.target_scaling;
  Prediction p;
  p.location = to_vector(mean * scaling.sd + scaling.mean);
  p.scale = to_vector((variance + noise * noise).sqrt() * scaling.sd);
  for (std::size_t i = 0; i < p.location.size(); ++i) {
    const double m = p.location[i], s = p.scale[i];
    if (encoder.log_target) {  // log-normal
      p.mean.push_back(std::exp(m + 0.5 * s * s));
      p.sd.push_back(p.mean.back() * std::sqrt(std::expm1(s * s)));
      p.lower.push_back(std::exp(m - width * s));
      p.upper.push_back(std::exp(m + width * s));
    } else {
      p.mean.push_back(m);
      p.sd.push_back(s);
      p.lower.push_back(m - width * s);
      p.upper.push_back(m + width * s);
    }
  }
  return p;
}

Prediction FittedModel::predict(const Table& table, double level, EncodingNotes* notes) const {
  Dataset rows = encode(table, lenient(encoder), false, notes);
  const at::Tensor complete = rows.x.isnan().logical_not().all(1);  // (n)
  const bool any_gap = rows.size() > 0 && rows.x.size(1) > 0 && !complete.all().item<bool>();
  if (!any_gap) {
    const auto [mean, variance] = predict_function(rows);
    return in_units(mean, variance, level);
  }
  const at::Tensor index = complete.nonzero().select(1, 0).contiguous();
  const auto [some_mean, some_variance] = predict_function(rows.select(index));
  const auto fill = std::numeric_limits<double>::quiet_NaN();
  at::Tensor mean = at::full({rows.size()}, fill, at::kDouble).index_copy_(0, index, some_mean);
  at::Tensor variance = at::full({rows.size()}, fill, at::kDouble).index_copy_(0, index, some_variance);
  return in_units(mean, variance, level);
}

Scores FittedModel::evaluate(const Table& table, EncodingNotes* notes) const {
  return evaluate(encode(table, lenient(encoder), true, notes));
}

Scores FittedModel::evaluate(const Dataset& rows) const {
  if (rows.size() == 0)
    throw DataError("no row has a value of the target, \"" + encoder.target.name + "\", to score by");
  const auto [mean, variance] = predict_function(rows);
  const Prediction p = in_units(mean, variance, 0.9);
  const Scaling& scaling = encoder.target_scaling;
  const std::vector<double> y = to_vector(rows.y * scaling.sd + scaling.mean);
  if (encoder.log_target) return score_log(y, p.location, p.scale, scaling.mean, scaling.sd);
  return score(y, p.location, p.scale, scaling.mean, scaling.sd);
}

std::vector<ParameterValue> FittedModel::kernel_values() const {
  std::vector<ParameterValue> values;
  if (!model->has_kernels()) return values;
  const ParameterSet& parameters = model->kernel().parameters();
  const double target_variance = encoder.target_scaling.sd * encoder.target_scaling.sd * spec().share();
  for (const Parameter& each : parameters.parameters()) {
    ParameterValue value;
    value.path = each.path;
    value.fixed = each.fixed;
    value.values = to_vector(parameters.natural(each.path).detach().mean(0));
    if (each.unit == Unit::kilometre) value.unit = "km";
    if (each.unit == Unit::target_squared && is_scale(model->kernel(), each)) {
      for (double& number : value.values) number *= target_variance;
      value.unit = encoder.log_target ? "log(" + encoder.target.name + ")^2" : encoder.target.name + "^2";
    }
    for (const auto& factors : model->kernel().terms()) {
      for (const Factor& f : factors) {
        if (!owns(f, each) || f.columns.empty()) continue;
        const std::string unit = unit_of(encoder, f);
        if (each.unit == Unit::input) value.unit = unit;
        if (each.unit == Unit::per_input && !unit.empty()) value.unit = "1/" + unit;
      }
    }
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace ick
