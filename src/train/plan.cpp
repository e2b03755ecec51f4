#include "ick/train/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ick/base/transform.h"

namespace ick {

double usual_validation_share(std::int64_t rows) {
  constexpr std::int64_t kFewest = 20, kMany = 100'000;
  return rows < kFewest ? 0.0 : rows > kMany ? 0.1 : 0.2;
}

std::vector<bool> rows_with_value(const Table& table, const std::string& column) {
  const Numbers& values = table.column(column).values;
  std::vector<bool> has(static_cast<std::size_t>(table.rows), true);
  for (std::size_t i = 0; i < values.size(); ++i) has[i] = !std::isnan(values[i]);
  return has;
}

std::int64_t count_of(const std::vector<bool>& rows) { return std::count(rows.begin(), rows.end(), true); }

std::int64_t outputs_of(const FitOptions& options, const Encoder& encoder) {
  return likelihood_of(options).link == Link::softmax ? std::ssize(encoder.classes) : 1;
}

EncoderPlan encoder_plan(const ModelSpec& spec, const FitOptions& options) {
  EncoderPlan plan;
  plan.kind = likelihood_of(options).target;
  plan.seed = options.seed;
  plan.target = spec.formula.target;
  plan.transform = find_transform(spec.formula.transform);
  plan.weights = spec.formula.weights;
  plan.offset = spec.offset;
  plan.error = spec.formula.error;
  plan.kernel_columns = spec.kernel_columns;
  plan.level_columns = spec.level_columns;
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) plan.networks.push_back(network.inputs);
  }
  plan.derived = spec.derived;
  plan.ranked = options.inputs == NumberInputs::ranks;
  plan.units = options.units;
  plan.gaps = options.gaps;
  return plan;
}

}  // namespace ick
