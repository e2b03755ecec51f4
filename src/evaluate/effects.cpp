#include "ick/evaluate/effects.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/model/metrics.h"

namespace ick {

namespace {

constexpr double kGoTogether = 0.5;  // rank correlation from which a partial effect averages over what does not occur

// The table with other values in one column.
Table with_values(Table table, const std::string& column, std::vector<double> values) {
  for (Column& each : table.columns) {
    if (each.info.name == column) each.values = Numbers(std::move(values));
  }
  return table;
}

std::vector<std::int64_t> some_of(std::vector<std::int64_t> rows, std::int64_t most, std::uint64_t seed) {
  if (std::ssize(rows) <= most) return rows;
  Random random(seed);
  for (std::int64_t i = 0; i < most; ++i) {
    std::swap(rows[static_cast<std::size_t>(i)],
              rows[static_cast<std::size_t>(i + random.below(std::ssize(rows) - i))]);
  }
  rows.resize(static_cast<std::size_t>(most));
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Rows that can be predicted and have a value of the column.
std::vector<std::int64_t> complete_rows_of(const Predictor& model, const Table& table, const Column& column) {
  const std::vector<double> mean = model.predict(table).mean;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (std::isfinite(mean[row]) && std::isfinite(column.values[row])) rows.push_back(i);
  }
  if (rows.empty()) throw DataError("no row has a prediction and a value of \"" + column.info.name + "\"");
  return rows;
}

// Quantiles of the values, each once, so many at most; levels in the order of their codes.
std::vector<double> points_of(const Column& column, const std::vector<std::int64_t>& rows, std::int64_t most) {
  std::vector<double> values;
  for (const std::int64_t row : rows) values.push_back(column.values[static_cast<std::size_t>(row)]);
  std::sort(values.begin(), values.end());
  std::vector<double> different = values;
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (column.info.type == ColumnType::category || std::ssize(different) <= most) return different;
  std::vector<double> points;
  for (std::int64_t k = 0; k < most; ++k) {
    const double place =
        static_cast<double>(k) * static_cast<double>(values.size() - 1) / static_cast<double>(most - 1);
    points.push_back(values[static_cast<std::size_t>(std::llround(place))]);
  }
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

bool is_ordered(const ColumnInfo& info) { return info.type != ColumnType::category && info.type != ColumnType::text; }

// The column that goes with this one most, where that is much.
std::string goes_with(const Predictor& model, const Table& table, const Column& column) {
  std::string found;
  double most = kGoTogether;
  if (!is_ordered(column.info)) return found;
  for (const ColumnInfo& info : model.columns()) {
    if (info.name == column.info.name || !is_ordered(info)) continue;
    const Numbers& other = table.column(info.name).values;
    std::vector<double> a, b;
    for (std::size_t i = 0; i < other.size(); ++i) {
      if (std::isnan(other[i]) || std::isnan(column.values[i])) continue;
      a.push_back(column.values[i]), b.push_back(other[i]);
    }
    if (a.size() < 3) continue;
    const double together = std::abs(spearman(a, b));
    if (together > most) most = together, found = info.name;
  }
  return found;
}

// What is asked of the model: rows of the table, each with a value of the column, and how their predictions make a curve.
struct Question {
  std::vector<std::int64_t> rows;
  std::vector<double> values;
  std::vector<std::size_t> point;  // whose mean a row's prediction counts in
  std::vector<double> sign;        // accumulated: +1 at the upper end of the row's interval, -1 at the lower
};

Question partial_question(const std::vector<std::int64_t>& rows, const std::vector<double>& points) {
  Question ask;
  for (std::size_t k = 0; k < points.size(); ++k) {
    for (const std::int64_t row : rows) {
      ask.rows.push_back(row), ask.values.push_back(points[k]), ask.point.push_back(k), ask.sign.push_back(1.0);
    }
  }
  return ask;
}

Question accumulated_question(const Column& column, const std::vector<std::int64_t>& rows,
                              const std::vector<double>& points) {
  Question ask;
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

std::vector<double> centred(std::vector<double> curve) {
  const double mean = std::accumulate(curve.begin(), curve.end(), 0.0) / static_cast<double>(curve.size());
  for (double& each : curve) each -= mean;
  return curve;
}

std::vector<double> curve_of(const Question& ask, std::size_t points, const std::vector<double>& predicted,
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

// Of a sorted sample, between its two nearest values.
double sample_quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// The band of the draws' curves, moved from their mean to that of the predictions.
void add_band(const std::vector<std::vector<double>>& curves, double level, Effect& effect) {
  for (std::size_t k = 0; k < effect.mean.size(); ++k) {
    std::vector<double> values;
    for (const std::vector<double>& curve : curves) values.push_back(curve[k]);
    std::sort(values.begin(), values.end());
    if (!(values.front() < values.back())) {  // one function: nothing is known of what is not
      effect.lower.push_back(std::nan("")), effect.upper.push_back(std::nan(""));
      continue;
    }
    const double centre = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    effect.lower.push_back(effect.mean[k] + sample_quantile(values, 0.5 * (1.0 - level)) - centre);
    effect.upper.push_back(effect.mean[k] + sample_quantile(values, 0.5 * (1.0 + level)) - centre);
  }
}

// What importance is measured in: the model's error on rows that have a target.
double error_of(const Predictor& model, const Table& table) {
  const Evaluation found = model.evaluate(table);
  return model.classes().empty() ? found.scores.rmse : found.class_scores.log_loss;
}

}  // namespace

Effect effect_of(const Predictor& model, const Table& table, const std::string& name, const EffectOptions& options) {
  if (!model.classes().empty()) throw UsageError("effects are of numbers; this model predicts classes");
  std::vector<std::string> read;
  for (const ColumnInfo& info : model.columns()) read.push_back(info.name);
  if (!contains(read, name)) {
    const std::string guess = did_you_mean(name, read);
    throw UsageError("the model does not read a column \"" + name + "\"" +
                     (guess.empty() ? "; it reads " + join_words(read) : guess));
  }
  const Column& column = table.column(name);
  if (column.info.type == ColumnType::text) {
    throw UsageError("\"" + name + "\" holds text, of which there is no curve");
  }
  Effect effect;
  effect.column = name, effect.type = column.info.type;
  effect.goes_with = goes_with(model, table, column);
  effect.accumulated = !effect.goes_with.empty();
  const std::vector<std::int64_t> all = complete_rows_of(model, table, column);
  effect.at = points_of(column, all, options.points);
  if (effect.at.size() < 2) throw DataError("\"" + name + "\" has one value in all rows that can be predicted");
  const std::vector<std::int64_t> rows = some_of(all, options.rows, seed_for(options.seed, "effects"));
  const Question ask =
      effect.accumulated ? accumulated_question(column, rows, effect.at) : partial_question(rows, effect.at);
  const Table asked = with_values(select_rows(table, ask.rows), name, ask.values);
  const auto curve = [&](const std::vector<double>& predicted) {
    return curve_of(ask, effect.at.size(), predicted, effect.accumulated);
  };
  effect.mean = curve(model.predict(asked).mean);
  std::vector<std::vector<double>> curves;
  for (const std::vector<double>& draw :
       model.draw(asked, {.count = options.draws, .seed = options.seed, .noise = false})) {
    curves.push_back(curve(draw));
  }
  add_band(curves, options.level, effect);
  if (column.info.type == ColumnType::category) {
    for (const double code : effect.at) effect.levels.push_back(column.info.levels[static_cast<std::size_t>(code)]);
    effect.at.clear();
  }
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
