#include "predict/classes.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "inference/golden_section.h"
#include "model/row_cost.h"

namespace ick {

void choose_classes(Prediction& p, double threshold) {
  const std::size_t classes = p.probability.size(), rows = p.probability[0].size();
  p.most_probable.assign(rows, -1);
  p.in_set.assign(classes, std::vector<bool>(rows, false));
  for (std::size_t i = 0; i < rows; ++i) {
    if (std::isnan(p.probability[0][i])) continue;
    std::size_t top = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      if (p.probability[c][i] > p.probability[top][i]) top = c;
      p.in_set[c][i] = 1.0 - p.probability[c][i] <= threshold;
    }
    p.in_set[top][i] = true;
    p.most_probable[i] = static_cast<std::int64_t>(top);
  }
}

double fit_temperature(const Likelihood& likelihood, const at::Tensor& functions, const at::Tensor& y) {
  constexpr double kDeviation = 0.5;
  const at::Tensor code = y.to(at::kLong).unsqueeze(1);
  const auto cost = [&](double log_temperature) {
    const at::Tensor p = probabilities(likelihood, functions, std::exp(log_temperature)).mean(0);  // (n, C)
    const double loss = -p.gather(1, code).clamp_min(1e-300).log().sum().item<double>();
    return loss + 0.5 * log_temperature * log_temperature / (kDeviation * kDeviation);
  };
  return std::exp(golden_section(std::log(0.25), std::log(10.0), 1e-4, cost));
}

at::Tensor CompositePredictor::predict_probabilities(const Dataset& rows) const {
  std::vector<at::Tensor> blocks;
  for (std::int64_t first = 0; first < rows.size() || first == 0; first += kManyRows) {
    const Dataset block = rows.size() <= kManyRows
                              ? rows
                              : rows.subset(at::arange(first, std::min(first + kManyRows, rows.size()), at::kLong));
    blocks.push_back(probabilities(*likelihood, member_functions(model(), block), temperature).mean(0));
  }
  return at::cat(blocks);
}

ClassScores CompositePredictor::class_scores_of(const Dataset& rows) const {
  if (rows.size() == 0)
    throw DataError("no row has a value of the target, \"" + encoder.target.name + "\", to score by");
  const at::Tensor p = predict_probabilities(rows).contiguous(), seen = rows.targets().to(at::kLong).contiguous();
  std::map<std::string, double> thresholds;
  for (const double level : {0.8, 0.9, 0.95, 0.99}) thresholds[number_text(level)] = threshold(level);
  return score_classes({seen.data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.size())},
                       {p.data_ptr<double>(), static_cast<std::size_t>(p.numel())}, p.size(1), thresholds);
}

}  // namespace ick
