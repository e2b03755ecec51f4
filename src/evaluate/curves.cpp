#include "evaluate/curves.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/model/metrics.h"
#include "ick/table/time.h"

namespace ick {

namespace {

std::vector<std::string> names_read(const Predictor& model) {
  std::vector<std::string> names;
  for (const ColumnInfo& info : model.columns()) names.push_back(info.name);
  return names;
}

void refuse_unread(const Predictor& model, const std::string& name) {
  const std::vector<std::string> read = names_read(model);
  if (contains(read, name)) return;
  const std::string guess = did_you_mean(name, read);
  throw UsageError("the model does not read a column \"" + name + "\"" +
                   (guess.empty() ? "; it reads " + join_words(read) : guess));
}

// A cell's text as the column has its values.
double value_of(const Column& column, const std::string& text) {
  const std::string& name = column.info.name;
  const auto refuse = [&](const std::string& expected) {
    throw UsageError("\"" + name + "\" is to be held at \"" + text + "\", which is not " + expected);
  };
  switch (column.info.type) {
    case ColumnType::text:
      refuse("a number, a time or a level: the column holds text");
      break;
    case ColumnType::category: {
      const auto found = std::find(column.info.levels.begin(), column.info.levels.end(), text);
      if (found == column.info.levels.end()) refuse("one of its levels");
      return static_cast<double>(found - column.info.levels.begin());
    }
    case ColumnType::time: {
      std::optional<double> time =
          parse_time(text, column.info.time_format.empty() ? "%Y-%m-%d" : column.info.time_format);
      if (!time) time = parse_time(text, "%Y-%m-%d");
      if (!time) refuse("a time");
      return *time;
    }
    default:
      break;
  }
  std::size_t used = 0;
  double value = 0.0;
  try {
    value = std::stod(text, &used);
  } catch (const std::logic_error&) {
    refuse("a number");
  }
  if (used != text.size() || !std::isfinite(value)) refuse("a number");
  return value;
}

void set_values(Table& table, const std::string& column, std::vector<double> values) {
  for (Column& each : table.columns) {
    if (each.info.name == column) each.values = Numbers(std::move(values));
  }
}

bool is_ordered(const ColumnInfo& info) { return info.type != ColumnType::category && info.type != ColumnType::text; }

}  // namespace

EffectQuestion::EffectQuestion(const Predictor& of, const Table& given, std::vector<std::string> changed,
                               const EffectOptions& wanted)
    : model(of), options(wanted), columns(std::move(changed)), table(given) {
  if (!model.classes().empty()) throw UsageError("effects are of numbers; this model predicts classes");
  for (const std::string& name : columns) {
    refuse_unread(model, name);
    if (table.column(name).info.type == ColumnType::text) {
      throw UsageError("\"" + name + "\" holds text, of which there is no curve");
    }
    if (options.at.contains(name)) throw UsageError("\"" + name + "\" cannot change and be held at a value at once");
  }
  for (const auto& [name, text] : options.at) {
    refuse_unread(model, name);
    set_values(table, name,
               std::vector<double>(static_cast<std::size_t>(table.rows), value_of(table.column(name), text)));
  }
  if (!options.term.empty()) component();
  const std::vector<double> mean = model.predict(table).mean;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const bool complete = std::isfinite(mean[row]) && std::all_of(columns.begin(), columns.end(), [&](auto& name) {
                            return std::isfinite(table.column(name).values[row]);
                          });
    if (complete) all.push_back(i);
  }
  if (all.empty()) throw DataError("no row has a prediction and a value of " + join_words(columns));
  rows = some_of(all, options.rows, seed_for(options.seed, "effects"));
}

EffectPoints EffectQuestion::points(const std::string& name, std::vector<double>& codes) const {
  const Column& column = table.column(name);
  std::vector<double> values;
  for (const std::int64_t row : all) values.push_back(column.values[static_cast<std::size_t>(row)]);
  std::sort(values.begin(), values.end());
  codes = values;
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  if (column.info.type != ColumnType::category && std::ssize(codes) > options.points) {
    codes.clear();
    for (std::int64_t k = 0; k < options.points; ++k) {
      const double place =
          static_cast<double>(k) * static_cast<double>(values.size() - 1) / static_cast<double>(options.points - 1);
      codes.push_back(values[static_cast<std::size_t>(std::llround(place))]);
    }
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  }
  if (codes.size() < 2) throw DataError("\"" + name + "\" has one value in all rows that can be predicted");
  EffectPoints found;
  found.column = name, found.type = column.info.type;
  if (column.info.type != ColumnType::category) {
    found.at = codes;
  } else {
    for (const double code : codes) found.levels.push_back(column.info.levels[static_cast<std::size_t>(code)]);
  }
  return found;
}

std::size_t EffectQuestion::component() const {
  std::vector<std::string> paths;
  for (const ComponentName& each : model.component_names()) {
    if (each.path == options.term) return paths.size();
    paths.push_back(each.path);
  }
  const std::string guess = did_you_mean(options.term, paths);
  throw UsageError("the model has no term \"" + options.term + "\"" +
                   (!guess.empty()  ? guess
                    : paths.empty() ? "; it is no sum of terms"
                                    : "; it has " + join_words(paths)));
}

std::vector<ColumnInfo> EffectQuestion::others() const {
  std::vector<ColumnInfo> found;
  std::vector<std::string> read = names_read(model);
  if (!options.term.empty()) read = model.component_names()[component()].columns;
  for (const ColumnInfo& info : model.columns()) {
    if (contains(read, info.name) && !contains(columns, info.name) && !options.at.contains(info.name)) {
      found.push_back(info);
    }
  }
  return found;
}

// What other components say does not change with the columns, and is taken off by centring.
bool EffectQuestion::has_draws() const {
  if (options.term.empty()) return true;
  if (model.component_scale() != model.target().name) return false;
  const std::vector<ComponentName> names = model.component_names();
  for (std::size_t t = 0; t < names.size(); ++t) {
    if (t == component()) continue;
    for (const std::string& name : columns) {
      if (contains(names[t].columns, name)) return false;
    }
  }
  return true;
}

EffectQuestion::Answer EffectQuestion::ask(const std::vector<std::int64_t>& of_rows,
                                           const std::vector<std::vector<double>>& values) const {
  Table asked = select_rows(table, of_rows);
  for (std::size_t c = 0; c < columns.size(); ++c) set_values(asked, columns[c], values[c]);
  Answer answer;
  PredictOptions wanted;
  wanted.components = !options.term.empty();
  Prediction predicted = model.predict(asked, wanted);
  answer.mean = wanted.components ? std::move(predicted.components.mean[component()]) : std::move(predicted.mean);
  if (has_draws()) answer.draws = model.draw(asked, {.count = options.draws, .seed = options.seed, .noise = false});
  return answer;
}

double together(const Column& a, const Column& b) {
  if (!is_ordered(a.info) || !is_ordered(b.info)) return 0.0;
  std::vector<double> of_a, of_b;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (std::isnan(a.values[i]) || std::isnan(b.values[i])) continue;
    of_a.push_back(a.values[i]), of_b.push_back(b.values[i]);
  }
  if (of_a.size() < 3) return 0.0;
  const double found = std::abs(spearman(of_a, of_b));
  return std::isfinite(found) ? found : 0.0;
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

std::vector<double> centred(std::vector<double> values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (double& each : values) each -= mean;
  return values;
}

double sample_quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

void add_band(const std::vector<std::vector<double>>& draws, double level, const std::vector<double>& mean,
              std::vector<double>& lower, std::vector<double>& upper) {
  const auto [low, high] = std::minmax_element(mean.begin(), mean.end());
  const double least = 1e-9 * (*high - *low);  // below, draws differ by rounding
  for (std::size_t k = 0; k < mean.size(); ++k) {
    std::vector<double> values;
    for (const std::vector<double>& each : draws) values.push_back(each[k]);
    std::sort(values.begin(), values.end());
    if (values.empty() || !(values.back() - values.front() > least)) {  // one function: nothing is known of what is not
      lower.push_back(std::nan("")), upper.push_back(std::nan(""));
      continue;
    }
    const double centre = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    lower.push_back(mean[k] + sample_quantile(values, 0.5 * (1.0 - level)) - centre);
    upper.push_back(mean[k] + sample_quantile(values, 0.5 * (1.0 + level)) - centre);
  }
}

}  // namespace ick
