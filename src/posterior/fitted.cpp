#include "ick/posterior/fitted.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "model/row_cost.h"
#include "posterior/bilinear.h"
#include "posterior/classes.h"

namespace ick {

namespace {

// Rows evaluated at once. No power of two, or columns of features would compete for the same few places of the cache.
constexpr std::int64_t kBlock = 4104;

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

// Which rows have all that is needed: (m) in int64
at::Tensor complete_rows(const Dataset& rows) { return rows.complete().nonzero().select(1, 0).contiguous(); }

// Values (m) of the rows `index` among n, not a number elsewhere.
at::Tensor spread_out(const at::Tensor& values, const at::Tensor& index, std::int64_t n) {
  const at::Tensor all = at::full({n}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  return all.index_copy_(0, index, values);
}

std::vector<double> to_vector(const at::Tensor& values) {
  const at::Tensor dense = values.to(at::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}

// (E, B) -> mean and mean square about it: the members of an ensemble are taken as a mixture.
void summarise_mixture(const at::Tensor& f, at::Tensor& mean, at::Tensor& variance) {
  mean = f.mean(0);
  variance = (f - mean).square().mean(0);
}

// Draws come in pairs c +- d about the mean of a posterior with its own hidden layers: the mean of d^2, and the
// variance between the c.
void summarise_draws(const at::Tensor& f, at::Tensor& mean, at::Tensor& variance) {
  const std::int64_t pairs = f.size(0) / 2;
  const at::Tensor one = f.slice(0, 0, 2 * pairs, 2), other = f.slice(0, 1, 2 * pairs, 2);
  const at::Tensor centre = 0.5 * (one + other);
  mean = centre.mean(0);
  variance = (0.5 * (one - other)).square().mean(0);
  if (pairs > 1) variance = variance + centre.var(0, true);
}

}  // namespace

Encoder lenient(Encoder encoder) {
  if (encoder.gaps == Gaps::refuse) encoder.gaps = Gaps::drop;
  return encoder;
}

std::vector<double> FittedModel::observed(const Table& table, const Dataset& rows) const {
  const Numbers& values = table.column(encoder.target.name).values;
  std::vector<double> y;
  for (const std::int64_t row : rows.rows) y.push_back(values[row]);
  return y;
}

std::pair<at::Tensor, at::Tensor> noise_shape(const Likelihood& likelihood, const at::Tensor& mean) {
  at::Tensor base = at::empty_like(mean), slope = at::empty_like(mean);
  const at::Tensor means = mean.contiguous();
  for (std::int64_t i = 0; i < means.numel(); ++i) {
    const NoiseShape shape = likelihood.noise(means.data_ptr<double>()[i]);
    base.data_ptr<double>()[i] = shape.base, slope.data_ptr<double>()[i] = shape.slope;
  }
  return {base, slope};
}

std::vector<ColumnInfo> FittedModel::columns() const {
  std::vector<ColumnInfo> all = encoder.columns();
  if (noise_model == nullptr) return all;
  for (const ColumnInfo& info : noise_model->encoder.columns()) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ColumnInfo& each) { return each.name == info.name; });
    if (!known) all.push_back(info);
  }
  return all;
}

// Whatever the posterior, what the features miss of the kernels is added.
std::pair<at::Tensor, at::Tensor> FittedModel::predict_function(const Dataset& rows) const {
  at::NoGradGuard no_grad;
  at::Tensor mean = at::empty({rows.size()}, at::kDouble), variance = at::empty({rows.size()}, at::kDouble);
  // hidden units of all members at once: 300 members get smaller blocks
  const std::int64_t block =
      rows.block(std::max<std::int64_t>(64, kBlock / std::max<std::int64_t>(1, options.members / 8)));
  for (std::int64_t first = 0; first < rows.size(); first += block) {
    const std::int64_t count = std::min(block, rows.size() - first);
    const Batch batch = batch_of(rows, first, count);
    at::Tensor centre, spread;
    const auto members = [&] {  // (E, B)
      const at::Tensor f = (*model)(batch).to(at::kDouble);
      const bool shifted = likelihood->link != Link::identity && batch.offset.defined();
      return mean_at(*likelihood, shifted ? f + batch.offset : f);
    };
    switch (posterior) {
      case Posterior::exact: {  // f = phi . w, w ~ N(m, (L L^T)^-1), all members alike
        const at::Tensor phi = model->linear_features(batch.x)[0];  // (B, P + 1)
        centre = members().mean(0);
        spread = at::linalg_solve_triangular(factor, phi.t(), false).square().sum(0);
        spread = spread + model->missed_variance(batch)[0];
        break;
      }
      case Posterior::ensemble:
        if (counts_missed && likelihood->link == Link::identity) {
          const auto [f, missed] = model->with_missed_variance(batch);
          summarise_mixture(f.to(at::kDouble), centre, spread);
          spread = spread + missed.mean(0);
        } else {
          summarise_mixture(members(), centre, spread);
        }
        break;
      case Posterior::nngp: {
        summarise_draws(members(), centre, spread);
        const Pairs layers = model->last_layers(batch, LayerPrior::start);
        const std::vector<at::Tensor> residual = model->residuals(batch.x);
        for (std::size_t t = 0; t < residual.size(); ++t) {
          if (!residual[t].defined()) continue;
          const at::Tensor missed =
              layers[t].left.defined() ? residual[t] * layers[t].left.square().sum(2) : residual[t];
          spread = spread + amplitude * missed.mean(0);
        }
        break;
      }
      case Posterior::ntk: {
        summarise_draws(product(model->tangents(batch), tangent).to(at::kDouble), centre, spread);
        const Pairs missed = model->tangents(batch, Model::Part::missed);
        if (!missed.empty()) spread = spread + amplitude * diagonal(missed).mean(0);
        break;
      }
      case Posterior::laplace:
        centre = members()[0];
        spread = (*direct)(*model, batch);
        break;
    }
    mean.narrow(0, first, count).copy_(centre);
    variance.narrow(0, first, count).copy_(spread);
  }
  return {mean, variance};
}

at::Tensor FittedModel::noise_variance(const Table& table, const Dataset& rows, const at::Tensor& mean) const {
  if (likelihood->link != Link::identity) {
    const auto [base, slope] = noise_shape(*likelihood, mean);
    return base + noise * noise * slope;
  }
  const at::Tensor error = rows.row_error();
  const auto with_error = [&](const at::Tensor& variance) { return error.defined() ? variance + error : variance; };
  const at::Tensor constant = at::full({rows.size()}, noise * noise, at::kDouble);
  if (noise_model == nullptr) return with_error(constant);
  // about its mean over the rows it was learned from, where the noise is `noise`
  const double scale = noise_model->encoder.target_scaling.sd;
  std::vector<at::Tensor> blocks = {at::empty({0}, at::kDouble)};
  for (std::int64_t first = 0; first < rows.size(); first += kManyRows) {
    const auto from = rows.rows.begin() + first;
    const Dataset block =
        encode_rows(table, lenient(noise_model->encoder), {from, from + std::min(kManyRows, rows.size() - first)});
    const at::Tensor index = complete_rows(block);
    const at::Tensor log_variance = noise_model->predict_function(block.select(index)).first * scale;
    blocks.push_back(spread_out(log_variance.exp(), index, block.size()));
  }
  return with_error(constant * at::cat(blocks));
}

Prediction FittedModel::in_units(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& noise_variance,
                                 double level, const at::Tensor& offset) const {
  if (!(level > 0.0 && level < 1.0)) throw UsageError("the level of an interval must be between 0 and 1");
  const double width = calibration.half_width(level);
  const Scaling& scaling = encoder.target_scaling;
  const Predictive law = predictive();
  Prediction p;
  const bool shifted = offset.defined() && encoder.offset_in_target();
  p.location = to_vector((shifted ? mean + offset : mean) * scaling.sd + scaling.mean);
  p.scale = to_vector((variance + noise_variance).sqrt() * scaling.sd);
  p.function_sd = to_vector(variance.sqrt() * scaling.sd);
  for (std::vector<double>* each : {&p.mean, &p.sd, &p.lower, &p.upper}) each->resize(p.location.size());
  for (std::size_t i = 0; i < p.location.size(); ++i) {
    const double m = p.location[i], s = p.scale[i];
    const Moments moments = law.moments(m, s);
    p.mean[i] = moments.mean, p.sd[i] = moments.sd;
    p.lower[i] = p.upper[i] = std::numeric_limits<double>::quiet_NaN();
    if (std::isfinite(m) && std::isfinite(s)) p.lower[i] = law.bound(-width, m, s), p.upper[i] = law.bound(width, m, s);
  }
  return p;
}

Prediction FittedModel::predict(const Table& table, const PredictOptions& wanted, EncodingNotes* notes) const {
  const Dataset rows = encode(table, lenient(encoder), false, notes);
  const at::Tensor index = complete_rows(rows);
  const Dataset some = index.size(0) == rows.size() ? rows : rows.select(index);
  const auto all = [&](const at::Tensor& values) {
    return index.size(0) == rows.size() ? values : spread_out(values, index, rows.size());
  };
  Prediction p;
  if (likelihood->has_classes()) {
    const at::Tensor probability = predict_probabilities(some);
    for (std::int64_t c = 0; c < probability.size(1); ++c) {
      p.probability.push_back(to_vector(all(probability.select(1, c))));
    }
    choose_classes(p, threshold(wanted.level));
  } else {
    const auto [mean, variance] = predict_function(some);
    const at::Tensor offset = some.row_offset();
    p = in_units(all(mean), all(variance), all(noise_variance(table, some, mean)), wanted.level,
                 offset.defined() ? all(offset) : offset);
  }
  if (!wanted.support) return p;
  for (const SupportSource& source : support) {
    const std::vector<Support> known = source(some.x);
    std::vector<Support>& of_rows = p.support.emplace_back(rows.size(), Support::unknown);
    const std::int64_t* place = index.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < index.size(0); ++i) of_rows[place[i]] = known[i];
  }
  return p;
}

Scores FittedModel::evaluate(const Table& table, EncodingNotes* notes) const {
  const Dataset rows = open_rows(table, lenient(encoder), std::vector<bool>(table.rows, true), notes);
  if (noise_model == nullptr) return evaluate(table, rows);
  const at::Tensor index = noise_variance(table, rows).isfinite().nonzero().select(1, 0).contiguous();
  if (notes != nullptr) notes->with_gaps += rows.size() - index.size(0);
  return evaluate(table, rows.subset(index));
}

Scores FittedModel::evaluate(const Table& table, const Dataset& rows) const {
  if (rows.size() == 0)
    throw DataError("no row has a value of the target, \"" + encoder.target.name + "\", to score by");
  const auto [mean, variance] = predict_function(rows);
  const Prediction p = in_units(mean, variance, noise_variance(table, rows, mean), 0.9, rows.row_offset());
  const auto half_width = [&](double level) { return calibration.half_width(level); };
  const at::Tensor weights = rows.row_weights();
  return score(predictive(), observed(table, rows), p.location, p.scale,
               {encoder.target_summary.mean, encoder.target_summary.sd}, half_width,
               weights.defined() ? to_vector(weights) : std::vector<double>());
}

std::vector<ParameterValue> FittedModel::kernel_values() const {
  std::vector<ParameterValue> values;
  if (!model->has_kernels()) return values;
  const ParameterSet& parameters = model->kernel().parameters();
  const bool scaled = likelihood->link == Link::identity;
  const double target_variance = encoder.target_scaling.sd * encoder.target_scaling.sd * spec().share();
  for (const Parameter& each : parameters.parameters()) {
    ParameterValue value;
    value.path = each.path;
    value.fixed = each.fixed;
    value.values = to_vector(parameters.natural(each.path).detach().mean(0));
    if (each.unit == Unit::kilometre) value.unit = "km";
    if (scaled && each.unit == Unit::target_squared && is_scale(model->kernel(), each)) {
      for (double& number : value.values) number *= target_variance;
      value.unit = transformed(*encoder.transform, encoder.target.name) + "^2";
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
