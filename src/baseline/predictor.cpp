#include "ick/baseline/predictor.h"

#include <ATen/ATen.h>

#include <limits>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "predict/classes.h"
#include "predict/in_units.h"

namespace ick {

FunctionMoments BaselineRule::moments(const Dataset& rows) const {
  const at::Tensor mean = at(rows);
  return {mean, at::zeros_like(mean)};
}

std::vector<ColumnInfo> BaselinePredictor::scoring_columns() const {
  std::vector<ColumnInfo> columns = {encoder.target};
  if (encoder.weights) columns.push_back(encoder.weights->info);
  return columns;
}

Moments BaselinePredictor::training_moments() const {
  const bool shifted = encoder.offset && encoder.offset_in_target();
  return {encoder.target_summary.mean, shifted ? 0.0 : encoder.target_summary.sd};
}

double BaselinePredictor::row_weight(const Table& table, std::int64_t row) const {
  const RowColumn& weights = *encoder.weights;
  return find_transform(weights.transform)->forward(table.column(weights.info.name).values[row]) / weights.scale;
}

double BaselinePredictor::noise_sd() const {
  return encoder.classes.empty() ? noise * encoder.target_scaling.sd : std::numeric_limits<double>::quiet_NaN();
}

std::string BaselinePredictor::description() const {
  const std::string chosen = rule->text();
  return std::string(baseline->name) + (chosen.empty() ? "" : " (" + chosen + ")");
}

Prediction BaselinePredictor::predict(const Table& table, const PredictOptions& wanted, EncodingNotes* notes) const {
  const Dataset rows = encode(table, lenient(encoder), false, notes);
  const at::Tensor index = complete_rows(rows);
  const Dataset some = index.size(0) == rows.size() ? rows : rows.select(index);
  const auto all = [&](const at::Tensor& values) { return spread_out(values.contiguous(), index, rows.size()); };
  Prediction p;
  if (!classes().empty()) {
    const at::Tensor found = rule->at(some);
    for (std::int64_t c = 0; c < found.size(1); ++c) p.probability.push_back(to_vector(all(found.select(1, c))));
    choose_classes(p, threshold(wanted.level));
    return p;
  }
  const FunctionMoments found = rule->moments(some);
  at::Tensor variance = at::full({some.size()}, noise * noise, at::kDouble);
  if (some.error.defined()) variance = variance + some.error;
  return in_units({encoder, predictive(), calibration}, all(found.mean), all(found.variance), all(variance),
                  wanted.level, some.offset.defined() ? all(some.offset) : some.offset);
}

std::vector<std::vector<double>> BaselinePredictor::draw(const Table& table, const DrawOptions& wanted) const {
  if (!classes().empty()) throw UsageError("draws are of numbers; this model predicts classes");
  if (wanted.count < 1) throw UsageError("there must be at least one draw");
  const Prediction p = predict(table);
  const Predictive distribution = predictive();
  std::vector<std::vector<double>> all;
  for (std::int64_t s = 0; s < wanted.count; ++s) {
    Random random(seed_for(wanted.seed, "noise#" + std::to_string(s)));
    std::vector<double>& drawn = all.emplace_back();
    for (std::size_t i = 0; i < p.location.size(); ++i) {
      const double uniform = random.uniform();
      drawn.push_back(!wanted.noise               ? encoder.transform->inverse(p.location[i])
                      : std::isfinite(p.scale[i]) ? distribution.draw(uniform, p.location[i], p.scale[i])
                                                  : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return all;
}

}  // namespace ick
