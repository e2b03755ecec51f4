#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ick {

// How well probabilities of classes fit what was seen.
struct ClassScores {
  std::int64_t rows = 0;
  double accuracy = 0.0;  // share of rows whose most probable class is theirs
  double log_loss = 0.0;  // mean of -log p(class seen)
  double brier = 0.0;     // mean of sum_c (p_c - [c seen])^2, from 0 to 2
  // Expected calibration error: sum over ten bins of the largest probability of (rows in it / rows) |accuracy - mean
  // probability| (Guo et al. 2017).
  double calibration_error = 0.0;
  // By level, "0.8", "0.9", "0.95", "0.99": share of rows whose class is in their set of classes, and its mean size.
  std::map<std::string, double> coverage, set_size;
  std::vector<std::vector<std::int64_t>> confusion;  // [seen][most probable]: rows
};

// `probability` (n, C) row by row, each row summing to one; `seen` from 0 to C - 1. A set holds the classes whose
// 1 - p is at most threshold(level), and always the most probable one; without a threshold there are no sets.
// UsageError when lengths differ, there are no rows, or a number is not a probability.
ClassScores score_classes(std::span<const std::int64_t> seen, std::span<const double> probability, std::int64_t classes,
                          const std::map<std::string, double>& thresholds = {});

}  // namespace ick
