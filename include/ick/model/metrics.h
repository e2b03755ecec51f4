#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ick {

// A Gaussian prediction of each row, in the target's units, with its interval.
struct Scores {
  std::int64_t rows = 0;
  double rmse = 0.0, mae = 0.0, r2 = 0.0, spearman = 0.0;
  double nlpd = 0.0;  // mean of -log N(y; mean, sd^2)
  double msll = 0.0;  // nlpd minus that of N(mean, variance of the training targets) (Rasmussen and Williams 2006, 2.5)
  double crps = 0.0;  // mean continuous ranked probability score of the Gaussian
  // By level, "0.5", "0.8", "0.9", "0.95", "0.99": share of rows inside the central interval; its mean width,
  // in the target's units.
  std::map<std::string, double> coverage, width;
  // Shares of rows with Phi((y - mean) / sd), the probability integral transform, in [0, 0.1), ..., [0.9, 1]: each 0.1
  // where the predictive law is that of the data, more at the ends where it is too narrow.
  std::vector<double> pit;
};

// `training_mean`, `training_sd`: of the targets the model was trained on. Not a number where a score has no meaning
// (one row, a constant target; for msll, training targets without spread). UsageError when lengths differ, there are no
// rows, a number is not finite, or an sd is not positive: a density without width has no logarithm.
// Intervals are mean +- half_width(level) sd, by default those of the Gaussian law; all else is of that law anyway.
Scores score(std::span<const double> y, std::span<const double> mean, std::span<const double> sd, double training_mean,
             double training_sd, const std::function<double(double)>& half_width = {});

// The same for predictions that are log-normal: location and scale are those of the logarithm (of the targets, too:
// log_y). rmse, mae and r2 compare y with the mean exp(location + scale^2 / 2); nlpd and crps are those of the
// log-normal law. Intervals are exp(location +- half_width(level) scale).
Scores score_log(std::span<const double> log_y, std::span<const double> location, std::span<const double> scale,
                 double training_location, double training_scale, const std::function<double(double)>& half_width = {});

// Ranks with ties averaged, then Pearson's correlation; not a number when either side is constant or holds one.
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace ick
