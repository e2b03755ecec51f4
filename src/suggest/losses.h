#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ick/evaluate/scores.h"

// Scores as means of the losses of rows, so that two models can be compared row by row.
namespace ick::detail {

// What a score is made of: rmse of squares, all others of themselves.
struct LossKind {
  std::string_view score;
  double (*of)(const UnseenRows& rows, std::size_t i);
  bool root = false;  // the score is the root of the mean
};
const LossKind* find_loss(std::string_view score);  // null for a score that is no mean over rows
std::vector<std::string> loss_names();

double score_of(const LossKind& kind, const UnseenRows& rows);  // smaller is better

// A model's losses less those of another on the rows that both predict, which come in blocks: rows of a block resemble
// each other. With D_c the sum of differences of block c, n_c its rows and m = sum D / sum n,
//   error^2 = C / (C - 1) sum_c (D_c - m n_c)^2 / (sum n)^2,   t = m / error with C - 1 degrees of freedom
struct PairedTest {
  double mean = 0.0, error = 0.0;
  double p = 1.0;           // P(T >= t)
  std::int64_t blocks = 0;  // C
};
// `block` of each row of the table.
PairedTest paired_test(const LossKind& kind, const UnseenRows& worse, const UnseenRows& better,
                       const std::vector<std::int64_t>& block);

}  // namespace ick::detail
