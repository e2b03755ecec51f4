#include "ick/evaluate/effects.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evaluate/curves.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

// The column that goes with this one most, where that is much.
std::string goes_with(const EffectQuestion& question, const Column& column) {
  std::string found;
  double most = kGoTogether;
  for (const ColumnInfo& info : question.others()) {
    const double much = together(column, question.table.column(info.name));
    if (much > most) most = much, found = info.name;
  }
  return found;
}

// What is asked of the model: rows of the table, each with a value of the column, and how their predictions make a curve.
struct CurveRows {
  std::vector<std::int64_t> rows;
  std::vector<double> values;
  std::vector<std::size_t> point;  // whose mean a row's prediction counts in
  std::vector<double> sign;        // accumulated: +1 at the upper end of the row's interval, -1 at the lower
};

CurveRows partial_rows(const std::vector<std::int64_t>& rows, const std::vector<double>& points) {
  CurveRows ask;
  for (std::size_t k = 0; k < points.size(); ++k) {
    for (const std::int64_t row : rows) {
      ask.rows.push_back(row), ask.values.push_back(points[k]), ask.point.push_back(k), ask.sign.push_back(1.0);
    }
  }
  return ask;
}

CurveRows accumulated_rows(const Column& column, const std::vector<std::int64_t>& rows,
                           const std::vector<double>& points) {
  CurveRows ask;
  for (const std::int64_t row : rows) {
    const double value = column.values[static_cast<std::size_t>(row)];
    const auto place = std::lower_bound(points.begin() + 1, points.end() - 1, value) - points.begin();
    const auto k = static_cast<std::size_t>(place);  // points[k - 1] < value <= points[k]
    for (const double sign : {1.0, -1.0}) {
      ask.rows.push_back(row), ask.values.push_back(points[sign > 0.0 ? k : k - 1]);
      ask.point.push_back(k), ask.sign.push_back(sign);
    }
  }
  return ask;
}

std::vector<double> curve_of(const CurveRows& ask, std::size_t points, const std::vector<double>& predicted,
                             bool accumulated) {
  std::vector<double> sum(points, 0.0), count(points, 0.0);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    sum[ask.point[i]] += ask.sign[i] * predicted[i];
    count[ask.point[i]] += accumulated ? 0.5 : 1.0;
  }
  for (std::size_t k = 0; k < points; ++k) sum[k] = count[k] > 0.0 ? sum[k] / count[k] : 0.0;
  if (accumulated) std::partial_sum(sum.begin(), sum.end(), sum.begin());
  return centred(std::move(sum));
}

// What importance is measured in: the model's error on rows that have a target.
double error_of(const Predictor& model, const Table& table) {
  const Evaluation found = model.evaluate(table);
  return model.classes().empty() ? found.scores.rmse : found.class_scores.log_loss;
}

}  // namespace

Effect effect_of(const Predictor& model, const Table& table, const std::string& name, const EffectOptions& options) {
  const EffectQuestion question(model, table, {name}, options);
  const Column& column = question.table.column(name);
  std::vector<double> points;
  Effect effect;
  static_cast<EffectPoints&>(effect) = question.points(name, points);
  effect.goes_with = goes_with(question, column);
  effect.accumulated = !effect.goes_with.empty();
  const CurveRows ask =
      effect.accumulated ? accumulated_rows(column, question.rows, points) : partial_rows(question.rows, points);
  const auto curve = [&](const std::vector<double>& predicted) {
    return curve_of(ask, points.size(), predicted, effect.accumulated);
  };
  const EffectQuestion::Answer answer = question.ask(ask.rows, {ask.values});
  effect.mean = curve(answer.mean);
  std::vector<std::vector<double>> curves;
  for (const std::vector<double>& draw : answer.draws) curves.push_back(curve(draw));
  add_band(curves, options.level, effect.mean, effect.lower, effect.upper);
  return effect;
}

std::vector<Importance> importance_of(const Predictor& model, const Table& table, const ImportanceOptions& options) {
  std::vector<std::int64_t> scored = model.evaluate(table).rows;
  const Table some = select_rows(table, some_of(std::move(scored), options.rows, seed_for(options.seed, "importance")));
  const double before = error_of(model, some);
  std::vector<Importance> found;
  for (const ColumnInfo& info : model.columns()) {
    std::vector<double> increases;
    for (std::int64_t deal = 0; deal < options.deals; ++deal) {
      Table dealt = some;
      Random random(seed_for(options.seed, info.name + "#" + std::to_string(deal)));
      for (Column& each : dealt.columns) {
        if (each.info.name != info.name) continue;
        std::vector<double> values = each.values.copy();
        for (std::int64_t i = some.rows - 1; i > 0; --i) {
          const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(random.below(i + 1));
          if (!values.empty()) std::swap(values[a], values[b]);
          if (!each.text.empty()) std::swap(each.text[a], each.text[b]);
        }
        each.values = Numbers(std::move(values));
      }
      increases.push_back(error_of(model, dealt) - before);
    }
    const auto n = static_cast<double>(increases.size());
    Importance one{info.name, std::accumulate(increases.begin(), increases.end(), 0.0) / n, 0.0};
    for (const double each : increases) one.error += (each - one.increase) * (each - one.increase);
    one.error = n > 1.0 ? std::sqrt(one.error / (n - 1.0) / n) : std::nan("");
    found.push_back(one);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Importance& a, const Importance& b) { return a.increase > b.increase; });
  return found;
}

}  // namespace ick
