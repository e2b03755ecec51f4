#include "ick/predict/composite.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "likelihood/special.h"
#include "model/row_cost.h"
#include "predict/classes.h"
#include "predict/in_units.h"
#include "trees/grown.h"

namespace ick {

namespace {

// Unit of a parameter that is in the unit of its kernel's inputs: "d", or "m, km" where the columns have different
// ones.
std::string unit_of(const Encoder& encoder, const Factor& f) {
  const auto unit = [&](std::int64_t column) { return encoder.kernel_columns[column].unit; };
  const bool same = std::all_of(f.columns.begin(), f.columns.end(),
                                [&](std::int64_t column) { return unit(column) == unit(f.columns[0]); });
  std::string text = unit(f.columns[0]);
  for (std::size_t d = 1; d < f.columns.size() && !same; ++d) text += ", " + unit(f.columns[d]);
  return text;
}

void add_name(const std::string& name, std::vector<std::string>& names) {
  if (!contains(names, name)) names.push_back(name);
}

// The ends of a parameter's intervals on the scale of its values; empty where its numbers are not all at the mode.
void add_interval(const RawSpread& known, const Parameter& parameter, const at::Tensor& raw, ParameterValue& value) {
  constexpr double kSame = 1e-9;
  if (std::ssize(known.mode) != raw.size(1)) return;
  std::vector<double> lower, upper;
  for (std::int64_t i = parameter.first; i < parameter.first + parameter.count; ++i) {
    const double mode = known.mode[static_cast<std::size_t>(i)], sd = known.sd[static_cast<std::size_t>(i)];
    const bool there = (raw.select(1, i) - mode).abs().max().item<double>() <= kSame * (1.0 + std::abs(mode));
    if (!there || !std::isfinite(sd)) return;
    lower.push_back(constrain(parameter.constraint, mode - kNinety * sd));
    upper.push_back(constrain(parameter.constraint, mode + kNinety * sd));
  }
  value.lower = std::move(lower), value.upper = std::move(upper);
}

bool owns(const Factor& f, const Parameter& parameter) {
  return parameter.first >= f.first_parameter && parameter.first < f.first_parameter + f.parameter_count;
}

// Uniform numbers that say how large the noise of each row is among all that it could be: independent, or going together
// as the errors of the rows do.
std::vector<double> noise_ranks(const FunctionPosterior& posterior, const Dataset& rows, Random& random) {
  std::vector<double> ranks;
  const LastingNoise lasting = posterior.lasting();
  for (std::int64_t i = 0; i < rows.size(); ++i) ranks.push_back(lasting.lasts() ? random.normal() : random.uniform());
  if (!lasting.lasts()) return ranks;
  const at::Tensor times = rows.x_of(0, rows.size()).select(1, lasting.column);
  ranks = to_vector(drawn_errors(lasting, times, at::tensor(ranks, at::kDouble)));
  for (double& each : ranks) each = normal_cdf(each);
  return ranks;
}

}  // namespace

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

std::vector<double> CompositePredictor::observed(const Table& table, const Dataset& rows) const {
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

std::vector<ColumnInfo> CompositePredictor::columns() const {
  std::vector<ColumnInfo> all = encoder.columns();
  const auto add = [&](const std::vector<ColumnInfo>& more) {
    for (const ColumnInfo& info : more) {
      const bool known =
          std::any_of(all.begin(), all.end(), [&](const ColumnInfo& each) { return each.name == info.name; });
      if (!known) all.push_back(info);
    }
  };
  if (trees != nullptr) {
    std::erase_if(all, [&](const ColumnInfo& each) { return each.name == trees->column; });
    add(trees->encoder.columns());
  }
  if (noise_model != nullptr) add(noise_model->encoder.columns());
  return all;
}

const Table& CompositePredictor::readable(const Table& table, std::optional<Table>& made, EncodingNotes* notes) const {
  if (trees == nullptr) return table;
  return made.emplace(trees->added_to(table, trees->predict(table, notes)));
}

Moments CompositePredictor::training_moments() const {
  const Encoder& first = trees != nullptr ? trees->encoder : encoder;
  const bool shifted = first.offset && first.offset_in_target();
  return {first.target_summary.mean, shifted ? 0.0 : first.target_summary.sd};
}

at::Tensor CompositePredictor::noise_shape_of(const Table& table, const Dataset& rows) const {
  if (noise_model == nullptr) {
    const LastingNoise lasting = posterior->lasting();
    if (lasting.seasons.periods.empty()) return {};
    return seasonal_variance(lasting.seasons, rows.x_of(0, rows.size()).select(1, lasting.column));
  }
  // about its mean over the rows it was learned from, where the noise is `noise`
  const double scale = noise_model->encoder.target_scaling.sd;
  std::vector<at::Tensor> blocks = {at::empty({0}, at::kDouble)};
  for (std::int64_t first = 0; first < rows.size(); first += kManyRows) {
    const auto from = rows.rows.begin() + first;
    const Dataset block =
        encode_rows(table, lenient(noise_model->encoder), {from, from + std::min(kManyRows, rows.size() - first)});
    const at::Tensor index = complete_rows(block);
    const at::Tensor log_variance = noise_model->predict_function(block.select(index)).mean * scale;
    blocks.push_back(spread_out(log_variance.exp(), index, block.size()));
  }
  return at::cat(blocks);
}

at::Tensor CompositePredictor::noise_variance(const Table& table, const Dataset& rows, const at::Tensor& mean) const {
  if (likelihood->link != Link::identity) {
    const auto [base, slope] = noise_shape(*likelihood, mean);
    return base + noise * noise * slope;
  }
  const at::Tensor constant = at::full({rows.size()}, noise * noise, at::kDouble), shape = noise_shape_of(table, rows);
  const at::Tensor variance = shape.defined() ? constant * shape : constant;
  const at::Tensor error = rows.row_error();
  return error.defined() ? variance + error : variance;
}

Prediction CompositePredictor::in_units(const at::Tensor& mean, const at::Tensor& variance,
                                        const at::Tensor& noise_variance, double level,
                                        const at::Tensor& offset) const {
  return ick::in_units({encoder, predictive(), calibration}, mean, variance, noise_variance, level, offset);
}

std::string CompositePredictor::formula() const { return print(spec().formula); }

std::vector<ColumnInfo> CompositePredictor::scoring_columns() const {
  std::vector<ColumnInfo> columns = {encoder.target};
  if (encoder.weights) columns.push_back(encoder.weights->info);
  return columns;
}

double CompositePredictor::row_weight(const Table& table, std::int64_t row) const {
  const RowColumn& weights = *encoder.weights;
  return find_transform(weights.transform)->forward(table.column(weights.info.name).values[row]) / weights.scale;
}

std::vector<ColumnInfo> CompositePredictor::known_levels() const {
  std::vector<ColumnInfo> known;
  for (const KernelColumn& column : encoder.kernel_columns) {
    if (column.levels.empty() || column.info.type != ColumnType::category) continue;
    known.push_back({column.info.name, ColumnType::category, "", column.levels});
  }
  return known;
}

std::int64_t CompositePredictor::rows_at_once() const {
  return std::max(Predictor::rows_at_once(), posterior->rows_at_once());
}

bool CompositePredictor::reads_images() const {
  return std::any_of(encoder.networks.begin(), encoder.networks.end(),
                     [](const NetworkInputs& each) { return each.image.has_value(); });
}

std::vector<std::string> CompositePredictor::support_names() const {
  std::vector<std::string> names;
  for (const SupportSource& source : support) names.push_back(source.name());
  return names;
}

double CompositePredictor::noise_sd() const {
  const bool one_size = likelihood->link == Link::identity && noise_model == nullptr;
  return one_size ? noise * encoder.target_scaling.sd : std::numeric_limits<double>::quiet_NaN();
}

FunctionMoments CompositePredictor::predict_function(const Dataset& rows) const {
  FunctionMoments found = moments_at(*posterior, *likelihood, rows);
  if (spread != 1.0) found.variance = spread * found.variance;
  return found;
}

// The functions of the posterior, as far from their mean as `spread` has them: (S, n)
at::Tensor CompositePredictor::draw_functions(const Dataset& rows, const DrawOptions& wanted) const {
  const at::Tensor drawn = draws_at(*posterior, *likelihood, rows, wanted.count, wanted.seed);
  if (spread == 1.0) return drawn;
  const at::Tensor mean = moments_at(*posterior, *likelihood, rows).mean;
  return mean + std::sqrt(spread) * (drawn - mean);
}

std::vector<std::vector<double>> CompositePredictor::draw(const Table& given, const DrawOptions& wanted) const {
  if (likelihood->has_classes()) throw UsageError("draws are of numbers; this model predicts classes");
  if (wanted.count < 1) throw UsageError("there must be at least one draw");
  std::optional<Table> made;
  const Table& table = readable(given, made);
  const Dataset rows = encode(table, lenient(encoder), false);
  const at::Tensor index = complete_rows(rows);
  const Dataset some = rows.select(index);
  const at::Tensor f = draw_functions(some, wanted);  // (S, m)
  const bool identity = likelihood->link == Link::identity;
  const at::Tensor offset = some.row_offset();
  const at::Tensor mean = mean_at(*likelihood, offset.defined() ? f + offset : f);
  const Scaling& scaling = encoder.target_scaling;
  const Predictive distribution = predictive();
  std::vector<std::vector<double>> all;
  for (std::int64_t s = 0; s < wanted.count; ++s) {
    Random random(seed_for(wanted.seed, "noise#" + std::to_string(s)));
    const std::vector<double> location = to_vector(mean[s] * scaling.sd + scaling.mean);
    const at::Tensor variance = noise_variance(table, some, identity ? at::Tensor() : mean[s]);
    const std::vector<double> scale = to_vector(variance.sqrt() * scaling.sd);
    std::vector<double>& drawn = all.emplace_back(rows.size(), std::numeric_limits<double>::quiet_NaN());
    const std::vector<double> uniform = noise_ranks(*posterior, some, random);
    for (std::size_t i = 0; i < location.size(); ++i) {
      drawn[index.data_ptr<std::int64_t>()[i]] =
          wanted.noise ? distribution.draw(uniform[i], location[i], scale[i]) : encoder.transform->inverse(location[i]);
    }
  }
  return all;
}

namespace {

// Moves offsets (n) from the last component to one of their own.
void take_offset(const at::Tensor& offset, Components& components) {
  const std::vector<double> known = to_vector(offset);
  std::vector<double>& trees = components.mean.back();
  for (std::size_t i = 0; i < known.size(); ++i) trees[i] -= known[i];
  components.mean.push_back(known);
  components.sd.push_back(std::vector<double>(known.size(), 0.0));
}

}  // namespace

Prediction CompositePredictor::predict(const Table& given, const PredictOptions& wanted, EncodingNotes* notes) const {
  std::optional<Table> made;
  const Table& table = readable(given, made, notes);
  const Dataset rows = encode(table, lenient(encoder), false, notes);
  const at::Tensor index = complete_rows(rows);
  const Dataset some = index.size(0) == rows.size() ? rows : rows.select(index);
  const auto all = [&](const at::Tensor& values) {
    return index.size(0) == rows.size() ? values : spread_out(values, index, rows.size());
  };
  Prediction p;
  at::Tensor function;
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
    function = mean;
  }
  if (wanted.components) {
    p.components = components_of(some, function);
    if (trees != nullptr && trees->encoder.offset) {  // trees stand in one column with it
      const Dataset first = encode(given, lenient(trees->encoder), false);
      take_offset(first.row_offset().index_select(0, index) * trees->encoder.target_scaling.sd, p.components);
    }
    const auto of_all = [&](std::vector<double>& values) { values = to_vector(all(at::tensor(values, at::kDouble))); };
    for (auto* each : {&p.components.mean, &p.components.sd}) {
      for (std::vector<double>& values : *each) of_all(values);
    }
    of_all(p.components.constant);
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

std::vector<ComponentName> CompositePredictor::component_names() const {
  std::vector<ComponentName> names;
  if (likelihood->has_classes()) return names;
  std::size_t network = 0;
  for (const TermSpec& term : spec().terms) {
    ComponentName name{"term" + std::to_string(names.size() + 1), print(term)};
    for (std::size_t n = 0; n < term.networks.size(); ++n) {
      for (const ColumnInfo& info : encoder.networks[network++].infos()) add_name(info.name, name.columns);
    }
    for (const KernelProduct& product : term.kernels) {
      for (const KernelSpec& kernel : product) {
        for (const std::string& column : kernel.columns) add_name(column, name.columns);
      }
    }
    names.push_back(std::move(name));
  }
  if (trees != nullptr) {
    names.push_back({"trees", spec().trees->text});
    for (const ColumnInfo& info : trees->encoder.columns()) add_name(info.name, names.back().columns);
  }
  if (const std::optional<RowColumn>& offset = trees != nullptr ? trees->encoder.offset : encoder.offset) {
    const std::string& column = offset->info.name;
    names.push_back({"offset", "offset(" + transformed(*find_transform(offset->transform), column) + ")", {column}});
  }
  return names;
}

std::string CompositePredictor::component_scale() const {
  const std::string target = transformed(*encoder.transform, encoder.target.name);
  switch (likelihood->link) {
    case Link::log:
      return "log mean of " + target;
    case Link::logit:
      return "logit of the mean of " + target;
    case Link::probit:
      return "probit of the mean of " + target;
    default:
      return target;
  }
}

// `mean` (n) of predict_function(). The networks' sums in float32 are rounded in another order there: the constant has
// the difference, and the levels of the terms.
Components CompositePredictor::components_of(const Dataset& rows, const at::Tensor& mean) const {
  if (likelihood->has_classes()) throw UsageError("components are of numbers; this model predicts classes");
  FunctionParts parts = parts_at(*posterior, rows);
  const bool identity = likelihood->link == Link::identity;
  if (!centres.empty()) {
    const at::Tensor levels = at::tensor(centres, at::kDouble);
    parts.mean = parts.mean - levels.unsqueeze(1);
    parts.constant = parts.constant + levels.sum();
  }
  if (identity) parts.constant = mean - parts.mean.sum(0);
  const Scaling scaling = identity ? encoder.target_scaling : Scaling{};
  Components found;
  for (std::int64_t t = 0; t < parts.mean.size(0); ++t) {
    found.mean.push_back(to_vector(parts.mean[t] * scaling.sd));
    found.sd.push_back(to_vector((spread * parts.variance[t]).sqrt() * scaling.sd));
  }
  if (const at::Tensor offset = rows.row_offset(); offset.defined()) {  // known beforehand
    found.mean.push_back(to_vector(offset * scaling.sd));
    found.sd.push_back(to_vector(at::zeros_like(offset)));
  }
  found.constant = to_vector(parts.constant * scaling.sd + scaling.mean);
  return found;
}

Scores CompositePredictor::scores_of(const Table& table, const Dataset& rows) const {
  if (rows.size() == 0)
    throw DataError("no row has a value of the target, \"" + encoder.target.name + "\", to score by");
  const auto [mean, variance] = predict_function(rows);
  const Prediction p = in_units(mean, variance, noise_variance(table, rows, mean), 0.9, rows.row_offset());
  const auto half_width = [&](double level) { return calibration.half_width(level); };
  const at::Tensor weights = rows.row_weights();
  return score(predictive(), observed(table, rows), p.location, p.scale, training_moments(), half_width,
               weights.defined() ? to_vector(weights) : std::vector<double>());
}

std::vector<ParameterValue> CompositePredictor::parameters() const {
  std::vector<ParameterValue> values;
  if (!model().has_kernels()) return values;
  const ParameterSet& set = model().kernel().parameters();
  const bool scaled = likelihood->link == Link::identity;
  const double amplitude = posterior->engine().draws ? posterior->amplitude() : 1.0;  // beside the parameters
  const double target_variance = encoder.target_scaling.sd * encoder.target_scaling.sd * spec().share() * amplitude;
  for (const Parameter& each : set.parameters()) {
    ParameterValue value;
    value.path = each.path;
    value.fixed = each.fixed;
    const at::Tensor raw = set.raw().detach().narrow(1, each.first, each.count).mean(0);
    for (std::int64_t i = 0; i < each.count && !each.fixed; ++i) {
      const double sds = each.prior[static_cast<std::size_t>(i)].sds(raw[i].item<double>());
      value.at_edge = value.at_edge || std::abs(sds) > kEdge;
    }
    value.values = to_vector(set.natural(each.path).detach().mean(0));
    if (!each.fixed) add_interval(raw_spread, each, set.raw().detach(), value);
    if (each.unit == Unit::kilometre) value.unit = "km";
    if (scaled && each.unit == Unit::target_squared && is_scale(model().kernel(), each)) {
      for (auto* each_of : {&value.values, &value.lower, &value.upper}) {
        for (double& number : *each_of) number *= target_variance;
      }
      value.unit = transformed(*encoder.transform, encoder.target.name) + "^2";
    }
    for (const auto& factors : model().kernel().terms()) {
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
