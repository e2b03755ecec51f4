#include "ick/predict/shares.h"

#include <cmath>
#include <limits>

namespace ick {

std::vector<TermShare> term_shares(const Predictor& model, const Table& table) {
  std::vector<TermShare> shares;
  for (const ComponentName& name : model.component_names()) shares.push_back({name, 0.0});
  if (shares.empty()) return shares;
  PredictOptions wanted;
  wanted.components = true;
  const Components parts = model.predict(table, wanted).components;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < parts.constant.size(); ++i) {
    if (std::isfinite(parts.constant[i])) rows.push_back(i);
  }
  // about their means over the rows
  std::vector<std::vector<double>> terms;
  std::vector<double> sum(rows.size(), 0.0);
  for (const std::vector<double>& part : parts.mean) {
    double mean = 0.0;
    for (const std::size_t i : rows) mean += part[i] / static_cast<double>(rows.size());
    std::vector<double>& term = terms.emplace_back();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      term.push_back(part[rows[k]] - mean);
      sum[k] += term.back();
    }
  }
  double variance = 0.0;
  for (const double each : sum) variance += each * each;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    double together = 0.0;
    for (std::size_t k = 0; k < sum.size(); ++k) together += terms[t][k] * sum[k];
    shares[t].share = variance > 0.0 ? together / variance : std::numeric_limits<double>::quiet_NaN();
  }
  return shares;
}

}  // namespace ick
