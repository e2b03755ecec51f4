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

Calibration::Calibration(std::vector<double> sorted, std::int64_t rows) : scores_(std::move(sorted)), rows_(rows) {
  check_scores(scores_);
  if (!std::is_sorted(scores_.begin(), scores_.end())) {
    throw UsageError("calibration: the scores are not sorted (expected the smallest first)");
  }
  if (std::ssize(scores_) > rows || scores_.empty() != (rows == 0)) {
    throw UsageError("calibration: there are " + std::to_string(scores_.size()) + " scores of " + std::to_string(rows) +
                     " rows (expected at most one of each row, and none only of no rows)");
  }
}

// (n + 1) level <= n
std::int64_t Calibration::rows_needed(double level) {
  const double least = checked(level) - kSlack;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(least / (1.0 - least))));
}

double Calibration::half_width(double level) const {
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

}  // namespace ick
