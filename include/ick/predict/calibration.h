#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ick {

// Split conformal prediction (Vovk et al. 2005; Lei et al. 2018), normalised by the predictive sd: an interval
//   mean +- q(level) sd,   q the ceil((n + 1) level)-th smallest of the scores |y_i - mean_i| / sd_i
// of n rows the model has not seen holds a further row with probability at least `level`, whatever the distribution of
// the data, if that row and those are exchangeable.
class Calibration {
 public:
  Calibration() = default;  // without rows: intervals are Gaussian

  // Scores in any order; UsageError for one that is negative or not a number. Many are thinned to kMostScores order
  // statistics, rounded up: intervals may get wider by it, never narrower.
  explicit Calibration(std::vector<double> scores);
  // As kept: sorted, thinned scores of `rows` rows.
  Calibration(std::vector<double> sorted, std::int64_t rows);

  static constexpr std::size_t kMostScores = 2000;

  std::int64_t rows() const { return rows_; }
  const std::vector<double>& scores() const { return scores_; }  // sorted

  // Rows that an interval of this level takes: the least n with ceil((n + 1) level) <= n.
  static std::int64_t rows_needed(double level);
  bool knows(double level) const { return rows_ >= rows_needed(level); }

  // q(level). Where there are too few rows, the Gaussian quantile or the largest score, whichever is larger.
  double half_width(double level) const;

 private:
  std::vector<double> scores_;
  std::int64_t rows_ = 0;
};

}  // namespace ick
