#include "ick/predict/calibration.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "likelihood/special.h"

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

using Weighted = std::vector<std::pair<double, double>>;  // score, share of all; sorted

// The least t at or below which lies `share`.
double quantile(const Weighted& sorted, double share) {
  double sum = 0.0;
  for (const auto& [score, each] : sorted) {
    sum += each;
    if (sum >= share - kSumSlack) return score;
  }
  return sorted.back().first;
}

// The correlation, within blocks, of lying above t: the estimate of a one-way analysis of variance,
//   rho = (MSB - MSW) / (MSB + (n0 - 1) MSW),   n0 = (n - sum n_b^2 / n) / (B - 1)
// none where no row, or every row, lies above.
std::optional<double> correlation_above(const std::vector<std::vector<double>>& blocks, double t) {
  double n = 0.0, squares = 0.0, total = 0.0, count = 0.0;
  for (const std::vector<double>& block : blocks) {
    if (block.empty()) continue;
    const auto size = static_cast<double>(block.size());
    n += size, squares += size * size, count += 1.0;
    total += static_cast<double>(std::count_if(block.begin(), block.end(), [&](double each) { return each > t; }));
  }
  double between = 0.0, within = 0.0;
  for (const std::vector<double>& block : blocks) {
    if (block.empty()) continue;
    const auto size = static_cast<double>(block.size());
    const double share =
        static_cast<double>(std::count_if(block.begin(), block.end(), [&](double each) { return each > t; })) / size;
    between += size * (share - total / n) * (share - total / n);
    within += size * share * (1.0 - share);
  }
  if (total == 0.0 || total == n) return std::nullopt;
  if (n == count) return 0.0;  // blocks of one row each
  between /= count - 1.0, within /= n - count;
  const double size = (n - squares / n) / (count - 1.0);
  return std::clamp((between - within) / (between + (size - 1.0) * within), 0.0, 1.0);
}

// m of calibration.h; rho is the mean over levels that people ask for.
double effective_rows(const std::vector<std::vector<double>>& blocks, const Weighted& sorted, double count) {
  if (count < 2.0) return 1.0;
  double rho = 0.0, known = 0.0;
  for (const double level : {0.5, 0.8, 0.9, 0.95}) {
    const std::optional<double> found = correlation_above(blocks, quantile(sorted, level));
    if (found) rho += *found, known += 1.0;
  }
  if (known > 0.0) rho /= known;
  rho += (1.0 - rho) / count;
  double sum = 0.0;
  for (const std::vector<double>& block : blocks) {
    if (!block.empty()) sum += rho + (1.0 - rho) / static_cast<double>(block.size());
  }
  return count * count / sum;
}

}  // namespace

// The j-th kept of n > m scores is the ceil(j n / m)-th smallest, j = 1 .. m; the largest is always kept.
Calibration::Calibration(std::vector<double> scores)
    : scores_(std::move(scores)), rows_(std::ssize(scores_)), effective_(static_cast<double>(rows_)) {
  check_scores(scores_);
  std::sort(scores_.begin(), scores_.end());
  const std::size_t n = scores_.size(), m = kMostScores;
  if (n <= m) return;
  for (std::size_t j = 1; j <= m; ++j) scores_[j - 1] = scores_[(j * n + m - 1) / m - 1];
  scores_.resize(m);
}

Calibration::Calibration(std::vector<double> sorted, std::int64_t rows, std::int64_t blocks, double effective)
    : scores_(std::move(sorted)), rows_(rows), blocks_(blocks) {
  effective_ = effective > 0.0 ? effective : static_cast<double>(blocks > 0 ? blocks : rows);
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
  Weighted weighted;
  std::int64_t blocks = 0;
  for (const std::vector<double>& block : scores) blocks += block.empty() ? 0 : 1;
  for (const std::vector<double>& block : scores) {
    check_scores(block);
    const double each = 1.0 / (static_cast<double>(blocks) * static_cast<double>(block.size()));
    for (const double score : block) weighted.emplace_back(score, each);
  }
  std::sort(weighted.begin(), weighted.end());
  const double effective = effective_rows(scores, weighted, static_cast<double>(blocks));
  const std::size_t m = std::min(weighted.size(), kMostScores);
  std::vector<double> kept;
  double share = 0.0;
  for (const auto& [score, each] : weighted) {
    share += each;
    while (kept.size() < m && share >= static_cast<double>(kept.size() + 1) / static_cast<double>(m) - kSumSlack) {
      kept.push_back(score);
    }
  }
  return {std::move(kept), std::ssize(weighted), blocks, effective};
}

// The order statistic of m rows, as far as these have one. Of few blocks, and beyond: w / z says how much wider than the
// model's own an interval should be, w the scores' quantile and z the Gaussian one, and counts as m rows; the model's own
// counts as kOwn (credibility, Buehlmann and Gisler 2005):
//   q = z sqrt((kOwn + m (w / z)^2) / (kOwn + m))
double Calibration::of_blocks_half_width(double level) const {
  constexpr double kOwn = 8.0;
  const double m = effective_, z = normal_quantile(0.5 + 0.5 * level);
  const auto n = static_cast<double>(scores_.size());
  const auto score_at = [&](double share) {
    return scores_[static_cast<std::size_t>(std::clamp(std::ceil((share - kSlack) * n), 1.0, n)) - 1];
  };
  double q = 0.0;
  if (blocks_ >= kFewestBlocks) q = score_at(std::min(level * (m + 1.0) / m, m / (m + 1.0)));
  if (!knows(level)) q = std::max(q, std::sqrt((kOwn * z * z + m * std::pow(score_at(level), 2)) / (kOwn + m)));
  return blocks_ < kManyBlocks || !knows(level) ? std::max(q, z) : q;
}

double Calibration::half_width(double level) const {
  if (blocks_ > 0) return of_blocks_half_width(checked(level));
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
