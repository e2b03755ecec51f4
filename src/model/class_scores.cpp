#include "ick/model/class_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

void check(std::span<const std::int64_t> seen, std::span<const double> probability, std::int64_t classes) {
  if (seen.empty() || classes < 2 || seen.size() * static_cast<std::size_t>(classes) != probability.size()) {
    throw UsageError("scores of classes: found " + std::to_string(probability.size()) + " probabilities of " +
                     std::to_string(classes) + " classes for " + std::to_string(seen.size()) +
                     " rows; expected one of each class for each row, and a row at least");
  }
  for (const std::int64_t each : seen) {
    if (each < 0 || each >= classes) {
      throw UsageError("scores of classes: there is no class " + std::to_string(each) + " among " +
                       std::to_string(classes));
    }
  }
  for (const double each : probability) {
    if (!(each >= 0.0 && each <= 1.0 + 1e-9)) {
      throw UsageError("scores of classes: " + number_text(each) + " is not a probability");
    }
  }
}

}  // namespace

ClassScores score_classes(std::span<const std::int64_t> seen, std::span<const double> probability, std::int64_t classes,
                          const std::map<std::string, double>& thresholds) {
  check(seen, probability, classes);
  struct Bin {
    double rows = 0.0, right = 0.0, confidence = 0.0;
  };
  std::array<Bin, 10> bins{};
  const auto n = static_cast<double>(seen.size());
  ClassScores s;
  s.rows = std::ssize(seen);
  s.confusion.assign(classes, std::vector<std::int64_t>(classes, 0));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::span<const double> p = probability.subspan(i * classes, classes);
    const auto top = std::max_element(p.begin(), p.end()) - p.begin();
    const bool right = top == seen[i];
    ++s.confusion[seen[i]][top];
    s.accuracy += right;
    s.log_loss -= std::log(std::max(p[seen[i]], std::numeric_limits<double>::min()));
    for (std::int64_t c = 0; c < classes; ++c) {
      const double miss = p[c] - (c == seen[i] ? 1.0 : 0.0);
      s.brier += miss * miss;
    }
    Bin& bin = bins[std::min<std::size_t>(9, static_cast<std::size_t>(10.0 * p[top]))];
    bin.rows += 1.0, bin.right += right, bin.confidence += p[top];
    for (const auto& [level, threshold] : thresholds) {
      const auto size = std::count_if(p.begin(), p.end(), [&](double each) { return 1.0 - each <= threshold; });
      s.set_size[level] += static_cast<double>(std::max<std::int64_t>(size, 1));
      s.coverage[level] += right || 1.0 - p[seen[i]] <= threshold;
    }
  }
  for (const Bin& bin : bins) s.calibration_error += std::abs(bin.right - bin.confidence);
  for (double* sum : {&s.accuracy, &s.log_loss, &s.brier, &s.calibration_error}) *sum /= n;
  for (auto* sums : {&s.set_size, &s.coverage}) {
    for (auto& [level, sum] : *sums) sum /= n;
  }
  return s;
}

}  // namespace ick
