#include "losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "likelihood/special.h"

namespace ick::detail {
namespace {

double miss(const UnseenRows& rows, std::size_t i) { return rows.target[i] - rows.mean[i]; }

constexpr std::array<LossKind, 5> kLosses = {{
    {"rmse", [](const UnseenRows& rows, std::size_t i) { return miss(rows, i) * miss(rows, i); }, true},
    {"mae", [](const UnseenRows& rows, std::size_t i) { return std::abs(miss(rows, i)); }},
    {"nlpd", [](const UnseenRows& rows, std::size_t i) { return rows.nlpd[i]; }},
    {"crps", [](const UnseenRows& rows, std::size_t i) { return rows.crps[i]; }},
    {"log_loss",
     [](const UnseenRows& rows, std::size_t i) {
       const double p = rows.probability[static_cast<std::size_t>(rows.seen[i])][i];
       return -std::log(std::max(p, std::numeric_limits<double>::min()));
     }},
}};

// P(T >= t) of Student's t distribution.
double student_tail(double t, double degrees) {
  const double half = 0.5 * lower_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
  return t >= 0.0 ? half : 1.0 - half;
}

}  // namespace

const LossKind* find_loss(std::string_view score) {
  const auto found =
      std::find_if(kLosses.begin(), kLosses.end(), [&](const LossKind& kind) { return kind.score == score; });
  return found == kLosses.end() ? nullptr : &*found;
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const LossKind& kind : kLosses) names.emplace_back(kind.score);
  return names;
}

double score_of(const LossKind& kind, const UnseenRows& rows) {
  double sum = 0.0;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) sum += kind.of(rows, i);
  const double mean = sum / static_cast<double>(rows.rows.size());
  return kind.root ? std::sqrt(mean) : mean;
}

PairedTest paired_test(const LossKind& kind, const UnseenRows& worse, const UnseenRows& better,
                       const std::vector<std::int64_t>& block) {
  struct Sum {
    double difference = 0.0, rows = 0.0;
  };
  std::map<std::int64_t, Sum> sums;
  std::map<std::int64_t, std::size_t> place;  // of a row of the table among those of `better`
  for (std::size_t i = 0; i < better.rows.size(); ++i) place[better.rows[i]] = i;
  Sum all;
  for (std::size_t i = 0; i < worse.rows.size(); ++i) {
    const auto found = place.find(worse.rows[i]);
    if (found == place.end()) continue;
    const double difference = kind.of(worse, i) - kind.of(better, found->second);
    Sum& sum = sums[block[static_cast<std::size_t>(worse.rows[i])]];
    sum.difference += difference, sum.rows += 1.0;
    all.difference += difference, all.rows += 1.0;
  }
  PairedTest test;
  test.blocks = std::ssize(sums);
  if (test.blocks < 2) return test;
  const auto c = static_cast<double>(test.blocks);
  test.mean = all.difference / all.rows;
  double squares = 0.0;
  for (const auto& [key, sum] : sums) squares += std::pow(sum.difference - test.mean * sum.rows, 2);
  test.error = std::sqrt(c / (c - 1.0) * squares) / all.rows;
  test.p = test.error > 0.0 ? student_tail(test.mean / test.error, c - 1.0) : test.mean > 0.0 ? 0.0 : 1.0;
  return test;
}

}  // namespace ick::detail
