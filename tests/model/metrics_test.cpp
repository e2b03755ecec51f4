#include "ick/model/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "support/likelihoods.h"
#include "support/message.h"

namespace ick {
namespace {

using Numbers = std::vector<double>;

Numbers numbers_in(const std::string& text) {
  std::istringstream in(text);
  Numbers numbers;
  for (double each; in >> each;) numbers.push_back(each);
  return numbers;
}

TEST(Metrics, Golden) {
  std::ifstream file(ICK_TESTS_DIR "/golden/metrics.csv");
  std::string line;
  std::getline(file, line);
  std::map<std::string, int> cases;  // by distribution
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 34u);
    const auto number = [&](std::size_t i) { return std::stod(cells.at(i)); };
    const Numbers y = numbers_in(cells[2]), centre = numbers_in(cells[3]), width = numbers_in(cells[4]);
    ++cases[cells[1]];
    const Scores found =
        (cells[1] == "normal" ? normal_scores : log_normal_scores)(y, centre, width, number(5), number(6), {});
    const std::vector<std::pair<const char*, double>> values = {
        {"rmse", found.rmse}, {"mae", found.mae},   {"r2", found.r2},    {"spearman", found.spearman},
        {"nlpd", found.nlpd}, {"msll", found.msll}, {"crps", found.crps}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = number(7 + i);
      EXPECT_NEAR(values[i].second, expected, 1e-11 * std::max(1.0, std::abs(expected)))
          << cells[0] << ": " << values[i].first;
    }
    EXPECT_NEAR(found.crps / number(13), 1.0, 1e-10) << cells[0];
    std::size_t column = 14;
    for (const char* level : {"0.5", "0.8", "0.9", "0.95", "0.99"}) {
      EXPECT_DOUBLE_EQ(found.coverage.at(level), number(column)) << cells[0] << ": " << level;
      EXPECT_NEAR(found.width.at(level) / number(column + 5), 1.0, 1e-12) << cells[0] << ": " << level;
      ++column;
    }
    EXPECT_EQ(found.coverage.size(), 5u);
    EXPECT_EQ(found.width.size(), 5u);
    ASSERT_EQ(found.pit.size(), 10u);
    for (std::size_t bin = 0; bin < 10; ++bin) {
      EXPECT_DOUBLE_EQ(found.pit[bin], number(24 + bin)) << cells[0] << ": pit " << bin;
    }
    EXPECT_EQ(found.rows, std::ssize(y));
  }
  EXPECT_EQ(cases, (std::map<std::string, int>{{"log_normal", 2}, {"normal", 5}}));
}

// Three rows by hand: residuals 1, -2, 2; y around its mean 2: -1, -1, 2.
TEST(Metrics, ByHand) {
  const Numbers y = {1, 1, 4}, mean = {0, 3, 2}, sd = {1, 1, 4};
  const Scores found = normal_scores(y, mean, sd, 1.0, 2.0);
  EXPECT_EQ(found.rows, 3);
  EXPECT_DOUBLE_EQ(found.rmse, std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(found.mae, 5.0 / 3.0);
  EXPECT_DOUBLE_EQ(found.r2, 1.0 - 9.0 / 6.0);
  // Ranks 1.5, 1.5, 3 and 1, 3, 2: covariance -0.5 * -1 + -0.5 * 1 + 1 * 0 = 0.
  EXPECT_NEAR(found.spearman, 0.0, 1e-15);
  const double half_log = 0.5 * std::log(2.0 * std::numbers::pi);
  EXPECT_DOUBLE_EQ(found.nlpd, half_log + (0.5 + 2.0 + 0.125 + std::log(4.0)) / 3.0);
  EXPECT_NEAR(found.msll, (0.5 + 2.0 + 0.125 + std::log(4.0)) / 3.0 - (9.0 / 8.0 + 3.0 * std::log(2.0)) / 3.0, 1e-14);
  // |z| = 1, 2, 0.5; the half widths are 0.674, 1.282, 1.645, 1.960 and 2.576. The mean sd is 2.
  EXPECT_DOUBLE_EQ(found.coverage.at("0.5"), 1.0 / 3.0);
  for (const char* level : {"0.8", "0.9", "0.95"}) EXPECT_DOUBLE_EQ(found.coverage.at(level), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(found.coverage.at("0.99"), 1.0);
  EXPECT_NEAR(found.width.at("0.95"), 4.0 * 1.9599639845400545, 1e-14);
  EXPECT_NEAR(found.width.at("0.99"), 4.0 * 2.5758293035489004, 1e-14);
  // z = 1, -2, 0.5: Phi is 0.841, 0.023, 0.691.
  const double third = 1.0 / 3.0;
  EXPECT_EQ(found.pit, (Numbers{third, 0, 0, 0, 0, 0, third, 0, third, 0}));
}

// Phi is 1 and 0, to the last bit, where z is large; 0.5 opens the sixth bin.
TEST(Metrics, TransformAtTheEnds) {
  const Scores found = normal_scores({{50.0, -50.0, 0.0, 9.0}}, Numbers(4, 0.0), Numbers(4, 1.0), 0.0, 1.0);
  EXPECT_EQ(found.pit, (Numbers{0.25, 0, 0, 0, 0, 0.25, 0, 0, 0, 0.5}));
}

// Where y follows the predictive distribution each bin holds a tenth: 40000 rows, four standard errors of sqrt(0.09 /
// 40000). Predictions half as wide put P(|z| > 0.5 * 1.2816) into the outer two.
TEST(Metrics, TransformIsUniformUnderTheLaw) {
  Random random(11);
  Numbers y, mean, sd, half;
  for (int i = 0; i < 40000; ++i) {
    mean.push_back(3.0 * random.normal());
    sd.push_back(0.1 + random.uniform());
    half.push_back(0.5 * sd.back());
    y.push_back(mean.back() + sd.back() * random.normal());
  }
  for (const double share : normal_scores(y, mean, sd, 0.0, 1.0).pit) EXPECT_NEAR(share, 0.1, 0.006);
  const Numbers narrow = normal_scores(y, mean, half, 0.0, 1.0).pit;
  EXPECT_NEAR(narrow.front() + narrow.back(), std::erfc(0.5 * 1.2815515655446004 / std::numbers::sqrt2), 0.01);
}

// Half widths that somebody else gives, here 2 level: the residuals 1, 2 and 0.5 are inside from 0.5, 1 and 0.25.
TEST(Metrics, IntervalsAreTheCallers) {
  const Numbers y = {1, 1, 4}, mean = {0, 3, 2}, sd = {1, 1, 4};
  const auto twice = [](double level) { return 2.0 * level; };
  const Scores found = normal_scores(y, mean, sd, 1.0, 2.0, twice), gaussian = normal_scores(y, mean, sd, 1.0, 2.0);
  for (const auto& [name, share] : found.coverage) EXPECT_DOUBLE_EQ(share, 2.0 / 3.0) << name;  // an end is inside
  for (const auto& [name, width] : found.width) EXPECT_DOUBLE_EQ(width, 8.0 * std::stod(name)) << name;
  EXPECT_EQ(found.pit, gaussian.pit);
  EXPECT_EQ(found.nlpd, gaussian.nlpd);
  EXPECT_EQ(found.crps, gaussian.crps);
  EXPECT_EQ(found.msll, gaussian.msll);

  // Log-normal predictions, by their ends in the target's units.
  const Numbers log_y = {0.3, -1.1, 2.0, 0.9}, location = {0.1, 0.4, 1.1, 0.9}, scale = {0.4, 0.8, 0.7, 1e-9};
  const Scores logs = log_normal_scores(log_y, location, scale, 0.0, 1.0, twice);
  for (const auto& [name, share] : logs.coverage) {
    double inside = 0.0, width = 0.0;
    for (std::size_t i = 0; i < log_y.size(); ++i) {
      const double step = 2.0 * std::stod(name) * scale[i];
      const double low = std::exp(location[i] - step), high = std::exp(location[i] + step);
      inside += low <= std::exp(log_y[i]) && std::exp(log_y[i]) <= high ? 0.25 : 0.0;
      width += 0.25 * (high - low);
    }
    EXPECT_DOUBLE_EQ(share, inside) << name;
    EXPECT_NEAR(logs.width.at(name) / width, 1.0, 1e-14) << name;
  }
  EXPECT_EQ(logs.coverage.at("0.5"), 0.5);
  EXPECT_EQ(logs.coverage.at("0.99"), 1.0);
}

// At its mean the score of N(m, s^2) is s (sqrt 2 - 1) / sqrt pi; far away it is the distance less s / sqrt pi.
TEST(Metrics, RankedProbabilityAtTheEnds) {
  const double root_pi = std::sqrt(std::numbers::pi);
  const auto of = [](double y, double mean, double sd) {
    return normal_scores({{y}}, {{mean}}, {{sd}}, 0.0, 1.0).crps;
  };
  EXPECT_NEAR(of(3.0, 3.0, 0.7), 0.7 * (std::numbers::sqrt2 - 1.0) / root_pi, 1e-15);
  EXPECT_NEAR(of(-1e6, 2.0, 0.7), 1e6 + 2.0 - 0.7 / root_pi, 1e-9);
  EXPECT_NEAR(of(1e6, 2.0, 0.7), 1e6 - 2.0 - 0.7 / root_pi, 1e-9);
}

TEST(Metrics, WithoutMeaning) {
  const Scores one = normal_scores({{2.0}}, {{1.5}}, {{0.5}}, 0.0, 1.0);
  EXPECT_TRUE(std::isnan(one.r2));
  EXPECT_TRUE(std::isnan(one.spearman));
  EXPECT_DOUBLE_EQ(one.rmse, 0.5);

  // The mean of equal numbers need not be that number: 0.1 + 0.1 + 0.1 is not 0.3.
  const Scores constant = normal_scores(Numbers(3, 0.1), {{0.3, 0.2, 0.4}}, {{1.0, 2.0, 3.0}}, 0.1, 0.0);
  EXPECT_TRUE(std::isnan(constant.r2));
  EXPECT_TRUE(std::isnan(constant.spearman));
  EXPECT_TRUE(std::isnan(constant.msll));
  EXPECT_TRUE(std::isfinite(constant.nlpd));

  EXPECT_TRUE(std::isnan(spearman({}, {})));
  EXPECT_TRUE(std::isnan(spearman({{1.0, std::nan(""), 2.0}}, {{1.0, 2.0, 3.0}})));
}

// A row of weight two counts as two rows.
TEST(Metrics, WeightsAreRepetitions) {
  const Numbers y = {1, 1, 4}, mean = {0, 3, 2}, sd = {1, 1, 4}, weights = {1, 3, 2};
  Numbers all_y, all_mean, all_sd;
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (int copy = 0; copy < weights[i]; ++copy) {
      all_y.push_back(y[i]), all_mean.push_back(mean[i]), all_sd.push_back(sd[i]);
    }
  }
  const Scores weighted = score(predictive("gaussian"), y, mean, sd, {1.0, 2.0}, {}, weights);
  const Scores repeated = normal_scores(all_y, all_mean, all_sd, 1.0, 2.0);
  EXPECT_NEAR(weighted.rmse, repeated.rmse, 1e-14);
  EXPECT_NEAR(weighted.mae, repeated.mae, 1e-14);
  EXPECT_NEAR(weighted.r2, repeated.r2, 1e-14);
  EXPECT_NEAR(weighted.nlpd, repeated.nlpd, 1e-14);
  EXPECT_NEAR(weighted.crps, repeated.crps, 1e-14);
  EXPECT_NEAR(weighted.coverage.at("0.8"), repeated.coverage.at("0.8"), 1e-14);
  EXPECT_NEAR(weighted.width.at("0.8"), repeated.width.at("0.8"), 1e-13);
  for (std::size_t bin = 0; bin < 10; ++bin) EXPECT_NEAR(weighted.pit[bin], repeated.pit[bin], 1e-14);
}

TEST(Metrics, SpearmanSeesOrderOnly) {
  const Numbers a = {0.3, -1.2, 5.0, 2.2, 2.1}, b = {3.0, 1.0, 5.0, 2.0, 4.0};
  Numbers cubes;
  for (const double value : a) cubes.push_back(value * value * value);
  EXPECT_DOUBLE_EQ(spearman(a, cubes), 1.0);
  // Without ties: 1 - 6 sum d^2 / (n (n^2 - 1)); ranks of a are 2 1 5 4 3, so d = -1 0 0 2 -1.
  EXPECT_DOUBLE_EQ(spearman(a, b), 1.0 - 6.0 * 6.0 / 120.0);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(spearman({{1.0, infinity, -infinity, 0.0}}, {{3.0, 4.0, 1.0, 2.0}}), 1.0);
}

std::string refusal(const Numbers& y, const Numbers& mean, const Numbers& sd) {
  return message_of<UsageError>([&] { normal_scores(y, mean, sd, 0.0, 1.0); });
}

TEST(Metrics, Refuses) {
  const double nan = std::nan("");
  EXPECT_EQ(refusal({}, {}, {}), "scores: there are no rows (expected at least one)");
  EXPECT_EQ(refusal({1, 2}, {1}, {1, 1}), "scores: 1 values of the location for 2 targets (expected as many)");
  EXPECT_EQ(refusal({1, 2}, {1, 2}, {1, 1, 1}), "scores: 3 values of the scale for 2 targets (expected as many)");
  EXPECT_EQ(refusal({1, 2}, {1, 2}, {1, 0}), "scores: row 2: the scale is 0 (expected a positive finite number)");
  EXPECT_EQ(refusal({1, 2}, {1, 2}, {-1, 1}), "scores: row 1: the scale is -1 (expected a positive finite number)");
  EXPECT_EQ(refusal({1, nan}, {1, 2}, {1, 1}), "scores: row 2: the target is nan (expected a finite number)");
  EXPECT_EQ(refusal({1, 2}, {nan, 2}, {1, 1}), "scores: row 1: the location is nan (expected a finite number)");
  EXPECT_THROW(spearman({{1.0}}, {{1.0, 2.0}}), UsageError);
}

}  // namespace
}  // namespace ick
