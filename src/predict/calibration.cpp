#include "ick/predict/calibration.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"

namespace ick {
namespace {

// The decimal that a level was written as lies up to half a unit in the last place below its double, and (n + 1) 0.9
// up to as much above a whole number: without slack 0.9 would take ten rows, not nine. Far less than 1 / n for any n.
constexpr double kSlack = 1e-15;
constexpr double kSumSlack = 1e-9;  // of the sum of as many shares as there are rows

double checked(double level) {
  if (level > 0.0 && level < 1.0) return level;
  throw UsageError("calibration: the level of an interval is " + number_text(level) + " (expected between 0 and 1)");
}

void check_scores(const std::vector<double>& scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= 0.0) continue;
    throw UsageError("calibration: score " + std::to_string(i + 1) + " is " + number_text(scores[i]) +
                     " (expected |y - mean| / sd, a number from 0 upwards)");
  }
}

}  // namespace

// The j-th kept of n > m scores is the ceil(j n / m)-th smallest, j = 1 .. m; the largest is always kept.
Calibration::Calibration(std::vector<double> scores) : scores_(std::move(scores)), rows_(std::ssize(scores_)) {
  check_scores(scores_);
  std::sort(scores_.begin(), scores_.end());
  const std::size_t n = scores_.size(), m = kMostScores;
  if (n <= m) return;
  for (std::size_t j = 1; j <= m; ++j) scores_[j - 1] = scores_[(j * n + m - 1) / m - 1];
  scores_.resize(m);
}

Calibration::Calibration(std::vector<double> sorted, std::int64_t rows, std::int64_t blocks)
    : scores_(std::move(sorted)), rows_(rows), blocks_(blocks) {
  check_scores(scores_);
  if (!std::is_sorted(scores_.begin(), scores_.end())) {
    throw UsageError("calibration: the scores are not sorted (expected the smallest first)");
  }
  if (std::ssize(scores_) > rows || scores_.empty() != (rows == 0)) {
    throw UsageError("calibration: there are " + std::to_string(scores_.size()) + " scores of " + std::to_string(rows) +
                     " rows (expected at most one of each row, and none only of no rows)");
  }
  if (blocks < 0 || blocks > rows) {
    throw UsageError("calibration: there are " + std::to_string(blocks) + " blocks of " + std::to_string(rows) +
                     " rows (expected at most one of each row)");
  }
}

// (n + 1) level <= n
std::int64_t Calibration::rows_needed(double level) {
  const double least = checked(level) - kSlack;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(least / (1.0 - least))));
}

// The j-th kept of m scores is the least t at or below which lies the share j / m: the mean over blocks of their shares.
Calibration Calibration::of_blocks(const std::vector<std::vector<double>>& scores) {
  std::vector<std::pair<double, double>> weighted;  // score, share of all
  std::int64_t blocks = 0;
  for (const std::vector<double>& block : scores) blocks += block.empty() ? 0 : 1;
  for (const std::vector<double>& block : scores) {
    check_scores(block);
    const double each = 1.0 / (static_cast<double>(blocks) * static_cast<double>(block.size()));
    for (const double score : block) weighted.emplace_back(score, each);
  }
  std::sort(weighted.begin(), weighted.end());
  const std::size_t m = std::min(weighted.size(), kMostScores);
  std::vector<double> kept;
  double share = 0.0;
  for (const auto& [score, each] : weighted) {
    share += each;
    while (kept.size() < m && share >= static_cast<double>(kept.size() + 1) / static_cast<double>(m) - kSumSlack) {
      kept.push_back(score);
    }
  }
  return {std::move(kept), std::ssize(weighted), blocks};
}

double Calibration::half_width(double level) const {
  if (blocks_ > 0) {
    const double b = static_cast<double>(blocks_), wanted = checked(level) * (b + 1.0) / b;
    const double share = std::min(1.0, wanted);
    const double m = static_cast<double>(scores_.size());
    const auto k = static_cast<std::size_t>(std::clamp(std::ceil((share - kSlack) * m), 1.0, m));
    const double own = blocks_ < kManyBlocks || !knows(level) ? normal_quantile(0.5 + 0.5 * level) : 0.0;
    return std::max(own, scores_[k - 1]);
  }
  if (!knows(level)) {
    const double gaussian = normal_quantile(0.5 + 0.5 * level);
    return scores_.empty() ? gaussian : std::max(gaussian, scores_.back());
  }
  const double rank = std::ceil((static_cast<double>(rows_) + 1.0) * (level - kSlack));
  const auto k = static_cast<std::int64_t>(std::clamp(rank, 1.0, static_cast<double>(rows_)));
  // The least j with ceil(j n / m) >= k; k itself where all scores are kept.
  const std::int64_t j = (k - 1) * std::ssize(scores_) / rows_ + 1;
  return scores_[static_cast<std::size_t>(j - 1)];
}

Calibration::Basis Calibration::basis(double level) const {
  if (knows(level)) return Basis::calibrated;
  return half_width(level) > Calibration().half_width(level) ? Basis::widened : Basis::own;
}

}  // namespace ick
