#include "predict/chance.h"

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "likelihood/special.h"

namespace ick {

namespace {

double log_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

}  // namespace

double chance_of_rows(std::int64_t inside, std::int64_t rows, double level, const Calibration& calibration) {
  if (inside >= rows) return 1.0;
  const auto m = static_cast<double>(rows);
  if (!calibration.knows(level) || calibration.blocks() > 0) {
    return lower_beta(m - static_cast<double>(inside), static_cast<double>(inside) + 1.0, 1.0 - level);
  }
  const auto n = static_cast<double>(calibration.rows());
  const double a = std::min(n, std::ceil((n + 1.0) * level - 1e-9)), b = n + 1.0 - a;
  double sum = 0.0;
  for (std::int64_t i = 0; i <= inside; ++i) {  // sum_i C(m, i) B(i + a, m - i + b) / B(a, b)
    const auto x = static_cast<double>(i);
    sum += std::exp(log_beta(x + a, m - x + b) - log_beta(a, b) - log_beta(x + 1.0, m - x + 1.0) - std::log(m + 1.0));
  }
  return std::min(1.0, sum);
}

double chance_of_blocks(std::span<const double> shares, double level) {
  const auto count = static_cast<double>(shares.size());
  if (shares.size() < 2) throw UsageError("at least two blocks are needed to compare their coverage");
  double mean = 0.0, squares = 0.0;
  for (const double share : shares) mean += share / count;
  for (const double share : shares) squares += (share - mean) * (share - mean);
  const double error = std::sqrt(squares / (count - 1.0) / count), above = mean - level;
  if (error == 0.0) return above < 0.0 ? 0.0 : 1.0;
  const double t = above / error,
               tail = 0.5 * lower_beta(0.5 * (count - 1.0), 0.5, (count - 1.0) / (count - 1.0 + t * t));
  return t < 0.0 ? tail : 1.0 - tail;
}

}  // namespace ick
