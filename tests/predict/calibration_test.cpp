#include "ick/predict/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {
namespace {

using Deviates = std::vector<double>;

// |residual| / sd where the model is wrong in every way: Student's t with 3 degrees, stretched to the right, centred
// wrongly, with an sd that is sometimes half of what it should be.
double wrong_score(Random& random) {
  const double t = random.normal() / std::sqrt(random.chi_squared(3) / 3.0);
  return std::abs((t > 0.0 ? 2.0 * t : t) - 0.3) / (random.below(3) == 0 ? 0.5 : 1.0);
}

Deviates wrong_scores(std::size_t count, Random& random) {
  Deviates scores(count);
  for (double& score : scores) score = wrong_score(random);
  return scores;
}

// The definition: the smallest score that at least (n + 1) level scores do not exceed. The level is in hundredths.
double by_definition(const Deviates& scores, std::int64_t hundredths) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double candidate : scores) {
    const auto below = std::count_if(scores.begin(), scores.end(), [&](double score) { return score <= candidate; });
    if (100 * below >= (std::ssize(scores) + 1) * hundredths) smallest = std::min(smallest, candidate);
  }
  return smallest;
}

TEST(Calibration, IsTheDefinition) {
  Random random(3);
  int known = 0, unknown = 0;
  for (const std::size_t n : {1, 2, 3, 9, 10, 18, 19, 20, 50, 98, 99, 100, 137}) {
    Deviates scores = wrong_scores(n, random);
    if (n > 10) scores[4] = scores[7] = scores[9];  // ties
    const Calibration calibration(scores);
    EXPECT_EQ(calibration.rows(), std::ssize(scores));
    for (std::int64_t hundredths = 1; hundredths < 100; ++hundredths) {
      const double level = static_cast<double>(hundredths) / 100.0, expected = by_definition(scores, hundredths);
      ASSERT_EQ(calibration.knows(level), std::isfinite(expected)) << n << " rows, " << level;
      const double gaussian = normal_quantile(0.5 + 0.5 * level),
                   most = *std::max_element(scores.begin(), scores.end());
      EXPECT_EQ(calibration.half_width(level), std::isfinite(expected) ? expected : std::max(gaussian, most))
          << n << " rows, " << level;
      ++(std::isfinite(expected) ? known : unknown);
    }
  }
  EXPECT_GT(known, 900);
  EXPECT_GT(unknown, 100);
}

TEST(Calibration, RowsNeeded) {
  EXPECT_EQ(Calibration::rows_needed(0.5), 1);
  EXPECT_EQ(Calibration::rows_needed(0.8), 4);
  EXPECT_EQ(Calibration::rows_needed(0.9), 9);
  EXPECT_EQ(Calibration::rows_needed(0.95), 19);
  EXPECT_EQ(Calibration::rows_needed(0.99), 99);
  EXPECT_EQ(Calibration::rows_needed(0.999), 999);
  EXPECT_EQ(Calibration::rows_needed(0.99999), 99999);
  EXPECT_EQ(Calibration::rows_needed(0.51), 2);
  EXPECT_EQ(Calibration::rows_needed(0.91), 11);  // 11 / 12 = 0.9167, 10 / 11 = 0.9091
  EXPECT_EQ(Calibration::rows_needed(1e-300), 1);
  // n / (n + 1) is exactly what n rows can promise, however it is rounded.
  for (std::int64_t n = 1; n < 100000; n += n / 7 + 1) {
    EXPECT_EQ(Calibration::rows_needed(static_cast<double>(n) / static_cast<double>(n + 1)), n);
  }
}

// (n + 1) level may be a whole number that rounding lifts above itself, as 25 * 0.28 does; scores are their ranks.
TEST(Calibration, WholeRanksAreNotRoundedUp) {
  int whole = 0;
  for (std::int64_t n = 1; n < 2000; ++n) {
    Deviates scores(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<double>(i + 1);
    const Calibration calibration(scores);
    for (std::int64_t thousandths = 1; thousandths < 1000; ++thousandths) {
      const std::int64_t product = (n + 1) * thousandths;
      if (product % 1000 != 0 || product / 1000 > n) continue;
      ASSERT_EQ(calibration.half_width(static_cast<double>(thousandths) / 1000.0), static_cast<double>(product / 1000))
          << n << " rows, " << thousandths;
      ++whole;
    }
  }
  EXPECT_GT(whole, 1000);
}

// A further row falls below the k-th of n scores with probability k / (n + 1), k = ceil((n + 1) level), whatever the
// distribution: between level and level + 1 / (n + 1). 2000 calibrations, each tried on 50 further rows; 4 standard
// errors.
TEST(Calibration, KeepsItsPromise) {
  Random random(17);
  constexpr int kRepetitions = 2000, kFurther = 50;
  for (const std::size_t n : {19, 99}) {
    for (const double level : {0.5, 0.83, 0.9, 0.95}) {
      double sum = 0.0, squares = 0.0, gaussian = 0.0;
      for (int repetition = 0; repetition < kRepetitions; ++repetition) {
        const double half_width = Calibration(wrong_scores(n, random)).half_width(level);
        double inside = 0.0;
        for (int row = 0; row < kFurther; ++row) {
          const double score = wrong_score(random);
          inside += score <= half_width ? 1.0 / kFurther : 0.0;
          gaussian += score <= Calibration().half_width(level) ? 1.0 / kFurther / kRepetitions : 0.0;
        }
        sum += inside;
        squares += inside * inside;
      }
      const double mean = sum / kRepetitions, error = std::sqrt((squares / kRepetitions - mean * mean) / kRepetitions);
      const auto rows = static_cast<double>(n);
      EXPECT_LT(error, 0.005);
      EXPECT_GE(mean, level - 4.0 * error) << n << " rows, " << level;
      EXPECT_LE(mean, level + 1.0 / (rows + 1.0) + 4.0 * error) << n << " rows, " << level;
      EXPECT_LT(gaussian, level - 0.15);  // what the promise would be worth without
    }
  }
}

TEST(Calibration, ThinningNeverNarrowsAndCostsLittle) {
  Random random(23);
  for (const std::size_t n : {2000, 2001, 3999, 4000, 7919, 30011}) {
    Deviates all = wrong_scores(n, random);
    const Calibration thinned(all);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(thinned.rows(), std::ssize(all));
    ASSERT_EQ(thinned.scores().size(), Calibration::kMostScores);
    EXPECT_EQ(thinned.scores().back(), all.back());
    int equal = 0;
    for (std::int64_t thousandths = 1; thousandths < 1000; ++thousandths) {
      const std::int64_t k = ((std::ssize(all) + 1) * thousandths + 999) / 1000;  // counted in whole numbers
      const double found = thinned.half_width(static_cast<double>(thousandths) / 1000.0);
      ASSERT_GE(found, all[static_cast<std::size_t>(k - 1)]) << n << " rows, " << thousandths;
      // At most a step of the thinned ones, n / 2000 rows: 0.05% of coverage.
      const std::size_t step = (n + 1999) / 2000, highest = static_cast<std::size_t>(k - 1) + step - 1;
      ASSERT_LE(found, all[std::min(highest, n - 1)]) << n << " rows, " << thousandths;
      equal += found == all[static_cast<std::size_t>(k - 1)];
    }
    if (n == 2000) {
      EXPECT_EQ(equal, 999);
    }
  }
}

// The Gaussian quantile or the largest score, whichever is larger.
TEST(Calibration, TooFewRowsAreGaussianAtLeast) {
  EXPECT_NEAR(Calibration().half_width(0.95), 1.9599639845400545, 1e-14);
  EXPECT_EQ(Calibration(Deviates{}).rows(), 0);
  EXPECT_NEAR(Calibration(Deviates{}).half_width(0.5), 0.6744897501960817, 1e-14);
  const Calibration three({7.0, 5.0, 6.0});
  EXPECT_TRUE(three.knows(0.75));
  EXPECT_EQ(three.half_width(0.75), 7.0);
  EXPECT_EQ(three.half_width(0.5), 6.0);
  EXPECT_EQ(three.half_width(0.25), 5.0);
  EXPECT_EQ(three.half_width(1e-300), 5.0);
  EXPECT_FALSE(three.knows(0.76));
  EXPECT_EQ(three.half_width(0.9), 7.0);
  const Calibration small({0.7, 0.5, 1.6});
  EXPECT_EQ(small.half_width(0.75), 1.6);
  EXPECT_EQ(small.half_width(0.76), 1.6);  // the Gaussian has 1.17
  EXPECT_NEAR(small.half_width(0.9), 1.6448536269514722, 1e-14);
}

TEST(Calibration, ComesBackAsKept) {
  Random random(29);
  for (const std::size_t n : {0, 1, 12, 2000, 5000}) {
    const Calibration first(wrong_scores(n, random)), second(first.scores(), first.rows());
    EXPECT_EQ(second.rows(), std::int64_t(n));
    EXPECT_EQ(second.scores(), first.scores());
    for (const double level : {0.1, 0.5, 0.9, 0.95, 0.99, 0.9999}) {
      EXPECT_EQ(second.half_width(level), first.half_width(level)) << n << " rows, " << level;
    }
  }
}

template <class... Arguments>
std::string refusal(Arguments... arguments) {
  try {
    Calibration calibration(arguments...);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Calibration, Refuses) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal(Deviates{1.0, nan}),
            "calibration: score 2 is nan (expected |y - mean| / sd, a number from 0 upwards)");
  EXPECT_EQ(refusal(Deviates{-0.5, 1.0}),
            "calibration: score 1 is -0.5 (expected |y - mean| / sd, a number from 0 upwards)");
  EXPECT_EQ(refusal(Deviates{1.0, nan}, 2),
            "calibration: score 2 is nan (expected |y - mean| / sd, a number from 0 upwards)");
  EXPECT_EQ(refusal(Deviates{2.0, 1.0}, 2), "calibration: the scores are not sorted (expected the smallest first)");
  for (const std::int64_t rows : {-1, 0, 1}) {
    EXPECT_EQ(refusal(Deviates{1.0, 2.0}, rows),
              "calibration: there are 2 scores of " + std::to_string(rows) +
                  " rows (expected at most one of each row, and none only of no rows)");
  }
  EXPECT_EQ(refusal(Deviates{}, 5),
            "calibration: there are 0 scores of 5 rows (expected at most one of each row, and none only of no rows)");
  for (const double level : {0.0, 1.0, -0.2, 90.0, nan}) {
    EXPECT_THROW(Calibration().half_width(level), UsageError) << level;
    EXPECT_THROW(Calibration({1.0, 2.0, 3.0}).half_width(level), UsageError) << level;
    EXPECT_THROW(Calibration::rows_needed(level), UsageError) << level;
  }
  // A row without bound is a row: it takes its place at the end.
  EXPECT_EQ(Calibration({1.0, infinity, 2.0}).half_width(0.5), 2.0);
}

// Blocks of very different sizes and levels of scores: further blocks are covered as asked, where pooled rows are not.
TEST(Calibration, OfBlocksHoldsForFurtherBlocks) {
  constexpr int kRepetitions = 400, kBlocks = 25;
  Random random(7);
  const auto block = [&] {
    const double scale = std::exp(random.normal());
    Deviates scores(static_cast<std::size_t>(1 + random.below(40)));
    for (double& each : scores) each = scale * std::abs(random.normal());
    return scores;
  };
  double covered = 0.0;
  for (int r = 0; r < kRepetitions; ++r) {
    std::vector<Deviates> blocks;
    for (int b = 0; b < kBlocks; ++b) blocks.push_back(block());
    const double q = Calibration::of_blocks(blocks).half_width(0.9);
    const Deviates further = block();
    for (const double score : further) covered += (score <= q ? 1.0 : 0.0) / static_cast<double>(further.size());
  }
  EXPECT_GT(covered / kRepetitions, 0.88);  // at least 0.9, with an sd of a hundredth
  EXPECT_LT(covered / kRepetitions, 0.97);
}

TEST(Calibration, BlocksCountAlike) {
  std::vector<Deviates> blocks(20, Deviates{1.0});
  blocks[0] = Deviates(1000, 5.0);  // many rows of one place
  const Calibration calibration = Calibration::of_blocks(blocks);
  EXPECT_EQ(calibration.blocks(), 20);
  EXPECT_EQ(calibration.rows(), 1019);
  EXPECT_EQ(calibration.half_width(0.9), 1.0);
  EXPECT_EQ(calibration.half_width(0.95), 5.0);  // 0.95 * 21 / 20 is nearly all of them
  const Calibration again(calibration.scores(), calibration.rows(), calibration.blocks(), calibration.effective());
  EXPECT_EQ(again.half_width(0.9), 1.0);
}

TEST(Calibration, FewBlocksNeverMakeAnIntervalNarrower) {
  const Calibration few = Calibration::of_blocks(std::vector<Deviates>(12, Deviates{0.1, 0.2}));
  EXPECT_TRUE(few.knows(0.9));
  EXPECT_NEAR(few.half_width(0.9), 1.6448536269514722, 1e-12);
  EXPECT_LE(few.half_width(0.9), few.half_width(0.95));
  EXPECT_THROW(Calibration({0.1, 0.2}, 2, 3), UsageError);
}

// What rows of a block have in common decides what they are worth: everything, nothing, or a part.
TEST(Calibration, BlocksAreWorthWhatTheyDifferBy) {
  constexpr int kBlocks = 40, kRows = 30;
  Random random(3);
  const auto effective = [&](double common) {
    std::vector<Deviates> blocks(kBlocks, Deviates(kRows));
    for (Deviates& block : blocks) {
      const double shared = random.normal();
      for (double& each : block) {
        each = std::abs(std::sqrt(common) * shared + std::sqrt(1.0 - common) * random.normal());
      }
    }
    return Calibration::of_blocks(blocks).effective();
  };
  EXPECT_NEAR(effective(1.0), kBlocks, 1e-9);
  EXPECT_GT(effective(0.0), 10.0 * kBlocks);  // 40 blocks cannot show less correlation than 1 / 40
  EXPECT_LE(effective(0.0), kBlocks * kRows);
  EXPECT_GT(effective(0.5), 1.3 * kBlocks);
  EXPECT_LT(effective(0.5), 10.0 * kBlocks);
  EXPECT_EQ(Calibration::of_blocks({{1.0, 2.0}}).effective(), 1.0);
  // the formula: rho = 1 for blocks that are alike within, whatever their sizes
  EXPECT_NEAR(Calibration::of_blocks({{1, 1}, {2, 2, 2}, {3}, {4, 4}, {5, 5, 5, 5}}).effective(), 5.0, 1e-9);
}

// sqrt((8 z^2 + m w^2) / (8 + m)), w the scores' quantile and z that of the normal distribution, from scipy.stats
TEST(Calibration, TooFewBlocksCountBesideTheModelsOwn) {
  Deviates scores;  // 0.03, 0.06 ... 3: of 100 rows of one block, which is worth one
  for (int i = 1; i <= 100; ++i) scores.push_back(0.03 * i);
  const Calibration one = Calibration::of_blocks({scores});
  EXPECT_FALSE(one.knows(0.9));
  const auto expected = [](double z, double w) { return std::sqrt((8.0 * z * z + w * w) / 9.0); };
  EXPECT_NEAR(one.half_width(0.9), expected(1.6448536269514722, 2.7), 1e-9);
  EXPECT_NEAR(one.half_width(0.95), expected(1.959963984540054, 2.85), 1e-9);
  // rows far beyond the quantile do not count
  Deviates heavy = scores;
  for (int i = 95; i < 100; ++i) heavy[static_cast<std::size_t>(i)] = 50.0;
  EXPECT_EQ(Calibration::of_blocks({heavy}).half_width(0.9), one.half_width(0.9));
  // never narrower for a higher level, where an order statistic is followed by the mean of both
  Random random(11);
  for (const int count : {2, 5, 12, 30}) {
    std::vector<Deviates> blocks(static_cast<std::size_t>(count), Deviates(7));
    for (Deviates& block : blocks) {
      for (double& each : block) each = 2.0 * std::abs(random.normal());
    }
    const Calibration calibration = Calibration::of_blocks(blocks);
    double before = 0.0;
    for (double level = 0.02; level < 0.999; level += 0.002) {
      const double width = calibration.half_width(level);
      EXPECT_GE(width, before) << count << " blocks, level " << level;
      before = width;
    }
  }
}

// 50 blocks calibrate 90%, where they may narrow, and are too few for 99%, where they may not.
TEST(Calibration, ManyBlocksAreFewForAHighLevel) {
  const Calibration fifty = Calibration::of_blocks(std::vector<Deviates>(50, Deviates{0.1, 0.2}));
  EXPECT_EQ(fifty.half_width(0.9), 0.2);
  EXPECT_FALSE(fifty.knows(0.99));
  EXPECT_NEAR(fifty.half_width(0.99), 2.5758293035489004, 1e-12);
}

TEST(Calibration, SaysWhatAnIntervalRestsOn) {
  using Basis = Calibration::Basis;
  EXPECT_EQ(Calibration().basis(0.9), Basis::own);
  EXPECT_EQ(Calibration({1.0, 0.5, 1.6}).basis(0.9), Basis::own);  // the Gaussian has 1.645
  EXPECT_EQ(Calibration({1.0, 0.5, 1.7}).basis(0.9), Basis::widened);
  EXPECT_EQ(Calibration({1.0, 0.5, 1.7}).basis(0.75), Basis::calibrated);
  EXPECT_EQ(Calibration(Deviates(9, 0.1)).basis(0.9), Basis::calibrated);
  EXPECT_EQ(Calibration::of_blocks({{0.1, 0.2, 0.3}}).basis(0.9), Basis::own);
  EXPECT_EQ(Calibration::of_blocks({{0.1, 0.2, 3.0}}).basis(0.9), Basis::widened);
  EXPECT_EQ(Calibration::of_blocks(std::vector<Deviates>(12, Deviates{0.1})).basis(0.9), Basis::calibrated);
}

}  // namespace
}  // namespace ick
