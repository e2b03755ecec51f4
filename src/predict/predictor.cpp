#include "ick/predict/predictor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

// The number of each row's class, -1 where there is none.
std::vector<std::int64_t> class_codes(const Column& column, const std::vector<std::string>& classes,
                                      const std::string& target) {
  std::vector<std::int64_t> codes(column.values.size(), -1);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const double value = column.values[i];
    if (std::isnan(value)) continue;
    const bool level = column.info.type == ColumnType::category;
    const std::string text = !level         ? number_text(value)
                             : value >= 0.0 ? column.info.levels[static_cast<std::size_t>(value)]
                                            : "";
    const auto found = std::find(classes.begin(), classes.end(), text);
    if (found == classes.end()) {
      throw DataError("the target, column \"" + target + "\", has" +
                      (text.empty() ? " a class" : " the class \"" + text + "\"") + " in row " + std::to_string(i + 1) +
                      " that no training row has; the model knows " + join_words(classes));
    }
    codes[i] = found - classes.begin();
  }
  return codes;
}

[[noreturn]] void refuse_nothing(const std::string& target) {
  throw DataError("no row has a value of the target, \"" + target + "\", to score by");
}

}  // namespace

double Predictor::threshold(double level) const {
  return interval_calibration().knows(level) ? interval_calibration().half_width(level) : 1.0;
}

Evaluation Predictor::evaluate(const Table& table, double level, EncodingNotes* notes) const {
  Evaluation found;
  PredictOptions options;
  options.level = level;
  EncodingNotes predicted;
  found.prediction = predict(table, options, &predicted);
  found.inside.assign(static_cast<std::size_t>(table.rows), false);
  const Prediction& p = found.prediction;
  const Column& target = table.column(this->target().name);
  if (notes != nullptr) {
    notes->filled = predicted.filled, notes->unseen = predicted.unseen;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      const bool seen = !std::isnan(target.values[i]);
      const bool known = classes().empty() ? std::isfinite(p.scale[i]) : p.most_probable[i] >= 0;
      notes->without_target += !seen;
      notes->with_gaps += seen && !known;
    }
  }
  if (!classes().empty()) {
    const std::vector<std::int64_t> codes = class_codes(target, classes(), this->target().name);
    std::vector<std::int64_t> seen;
    std::vector<double> probability;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (codes[i] < 0 || p.most_probable[i] < 0) continue;
      found.rows.push_back(i);
      found.inside[i] = p.in_set[codes[i]][i];
      seen.push_back(codes[i]);
      for (const std::vector<double>& of_class : p.probability) probability.push_back(of_class[i]);
    }
    if (found.rows.empty()) refuse_nothing(this->target().name);
    std::map<std::string, double> thresholds;
    for (const double each : {0.8, 0.9, 0.95, 0.99}) thresholds[number_text(each)] = threshold(each);
    found.class_scores = score_classes(seen, probability, std::ssize(classes()), thresholds);
    return found;
  }
  const bool weighted = has_weights();
  std::vector<double> y, location, scale, weights;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    const double value = target.values[i];
    const double weight = weighted ? row_weight(table, i) : 1.0;
    if (!std::isfinite(value) || !std::isfinite(p.scale[i]) || !(weight > 0.0)) continue;
    found.rows.push_back(i);
    found.inside[i] = value >= p.lower[i] && value <= p.upper[i];
    y.push_back(value), location.push_back(p.location[i]), scale.push_back(p.scale[i]);
    if (weighted) weights.push_back(weight);
  }
  if (found.rows.empty()) refuse_nothing(this->target().name);
  found.scores = score(
      predictive(), y, location, scale, training_moments(),
      [&](double each) { return interval_calibration().half_width(each); }, weights);
  return found;
}

ParameterValue Predictor::parameter(std::string_view path) const {
  std::vector<std::string> paths;
  for (const ParameterValue& each : parameters()) {
    if (each.path == path) return each;
    paths.push_back(each.path);
  }
  const std::string guess = did_you_mean(path, paths);
  throw UsageError("no parameter named \"" + std::string(path) + "\"" +
                   (!guess.empty()  ? guess
                    : paths.empty() ? "; the model has no kernel"
                                    : "; there are " + join_words(paths)));
}

}  // namespace ick
