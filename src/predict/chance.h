#pragma once

#include <cstdint>
#include <span>

#include "ick/predict/calibration.h"

// How likely it is that intervals which hold what they promise cover as few new rows as they did.
namespace ick {

// At most `inside` of `rows` rows that are exchangeable with those of the calibration. Given n scores, the coverage of
// q(level), the k-th smallest, is Beta(k, n + 1 - k) (Vovk 2012), so that the number inside is beta-binomial, whatever
// the distribution of the data. Intervals that are not calibrated promise `level` itself: binomial.
double chance_of_rows(std::int64_t inside, std::int64_t rows, double level, const Calibration& calibration);

// Blocks that are exchangeable, whose rows may depend on each other, with a mean share of rows inside as small as
// theirs: Student's t, one-sided. UsageError for fewer than two.
double chance_of_blocks(std::span<const double> shares, double level);

}  // namespace ick
