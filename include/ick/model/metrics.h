#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ick/likelihood/predictive.h"

namespace ick {

// How well predictive distributions fit what was seen, in the target's units.
struct Scores {
  std::int64_t rows = 0;
  double rmse = 0.0, mae = 0.0, r2 = 0.0, spearman = 0.0;
  double nlpd = 0.0;  // mean of -log p(y), negative log predictive density (of counts: probability)
  double msll = 0.0;  // nlpd minus that of the training targets' mean and variance (Rasmussen and Williams 2006, 2.5)
  double crps = 0.0;  // mean continuous ranked probability score
  // By level, "0.5", "0.8", "0.9", "0.95", "0.99": share of rows inside the central interval; its mean width,
  // in the target's units.
  std::map<std::string, double> coverage, width;
  // Shares of rows with a probability integral transform F(y) in [0, 0.1), ..., [0.9, 1]: each 0.1 where the predictive
  // distribution is that of the data, more at the ends where it is too narrow.
  std::vector<double> pit;
};

// `y` in the target's units; location and scale of each row as Predictive has them, those of the transformed target.
// `training`: mean and sd of the (transformed) targets the model was trained on. Intervals are those between
// Predictive::bound(+-half_width(level)), by default the standard normal quantile. `weights` of the rows in every mean;
// empty: all one. Not a number where a score has no meaning (one row, a constant target; for msll, training targets
// without spread). UsageError when lengths differ, there are no rows, a number is not finite, or a scale or weight is
// not positive: a density without width has no logarithm.
Scores score(const Predictive& predictive, std::span<const double> y, std::span<const double> location,
             std::span<const double> scale, Moments training, const std::function<double(double)>& half_width = {},
             std::span<const double> weights = {});

// Ranks with ties averaged, then Pearson's correlation; not a number when either side is constant or holds one.
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace ick
