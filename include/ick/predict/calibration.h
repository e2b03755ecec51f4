#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ick {

// Split conformal prediction (Vovk et al. 2005; Lei et al. 2018), normalised by the predictive sd: an interval
//   mean +- q(level) sd,   q the ceil((n + 1) level)-th smallest of the scores |y_i - mean_i| / sd_i
// of n rows the model has not seen holds a further row with probability at least `level`, whatever the distribution of
// the data, if that row and those are exchangeable.
//
// Rows of one place or time are not, but blocks of them may be. B blocks count alike whatever their size, and tell as
// much as m independent rows, B <= m <= n:
//   m = B^2 / sum_b (rho + (1 - rho) / n_b)
// with rho the correlation, within blocks, of being inside an interval (Kish's effective sample size; B blocks cannot
// show that rho is below 1 / B). q is the least score at or below which lies the share level (m + 1) / m, the mean over
// blocks of their shares; with rho = 1 this is hierarchical conformal prediction (Dunn, Wasserman and Ramdas 2023). With
// fewer than kFewestBlocks blocks, and where m is too small, the width is a mean of the model's own and of the scores'
// quantile. With fewer than kManyBlocks blocks an interval is never narrower than the Gaussian one.
class Calibration {
 public:
  Calibration() = default;  // without rows: intervals are Gaussian

  // Scores in any order; UsageError for one that is negative or not a number. Many are thinned to kMostScores order
  // statistics, rounded up: intervals may get wider by it, never narrower.
  explicit Calibration(std::vector<double> scores);
  // As kept: sorted, thinned scores of `rows` rows, in `blocks` blocks (0: each row is one) that tell as much as
  // `effective` rows (0: as many as there are blocks).
  Calibration(std::vector<double> sorted, std::int64_t rows, std::int64_t blocks = 0, double effective = 0.0);
  static Calibration of_blocks(const std::vector<std::vector<double>>& scores);  // empty blocks do not count

  static constexpr std::size_t kMostScores = 2000;
  static constexpr std::int64_t kFewestBlocks = 9, kManyBlocks = 20;

  std::int64_t rows() const { return rows_; }
  std::int64_t blocks() const { return blocks_; }                // 0: rows are exchangeable one by one
  double effective() const { return effective_; }                // m: independent rows that would tell as much
  const std::vector<double>& scores() const { return scores_; }  // sorted

  // Rows that an interval of this level takes: the least n with ceil((n + 1) level) <= n.
  static std::int64_t rows_needed(double level);
  // Blocks that it takes, or rows, where these are not in blocks.
  std::int64_t needed(double level) const {
    return blocks_ > 0 ? std::max(kFewestBlocks, rows_needed(level)) : rows_needed(level);
  }
  // Rows, or what blocks are worth, are enough for it.
  bool knows(double level) const {
    return (blocks_ == 0 || blocks_ >= kFewestBlocks) && effective_ >= static_cast<double>(rows_needed(level));
  }

  // q(level). Of too few rows that are not in blocks, the Gaussian quantile or the largest score, whichever is larger.
  double half_width(double level) const;

  // What the interval of this level rests on.
  enum class Basis : std::uint8_t {
    own,         // the model's own distribution: rows are too few, and no score is larger
    widened,     // scores of too few rows or blocks, which are larger
    calibrated,  // rows, or blocks, are enough
  };
  Basis basis(double level) const;

 private:
  double of_blocks_half_width(double level) const;

  std::vector<double> scores_;
  std::int64_t rows_ = 0, blocks_ = 0;
  double effective_ = 0.0;
};

}  // namespace ick
