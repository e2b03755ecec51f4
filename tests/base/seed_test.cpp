#include "ick/base/seed.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ick/base/error.h"

namespace ick {
namespace {

TEST(Random, BitsAreThoseOfSplitmix64) {
  // The reference sequences of S. Vigna's splitmix64.c.
  Random random(1234567);
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(random.bits(), expected);
  }
  Random from_zero(0);
  for (const std::uint64_t expected : {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu}) {
    EXPECT_EQ(from_zero.bits(), expected);
  }
}

TEST(Random, UniformIsTheMidpointOfACell) {
  Random random(42);  // bits 13679457532755275413, 2949826092126892291, 5139283748462763858
  for (const double expected : {0.7415648787718233, 0.15991039287692022, 0.27860113025513866}) {
    EXPECT_EQ(random.uniform(), expected);
  }
}

TEST(Random, UniformReachesNeitherEnd) {
  // The seeds whose first bits are all zeros and all ones, from splitmix64 run backwards.
  EXPECT_EQ(Random(0x61c8864680b583eb).uniform(), 0x1p-53);
  EXPECT_EQ(Random(0x31628af67b2131ab).uniform(), 1.0 - 0x1p-53);
}

// Tolerances below are five standard errors of the estimate.
TEST(Random, NormalHasTheMomentsOfTheNormalDistribution) {
  constexpr int kDraws = 200'000;
  Random random(11);
  std::array<double, 5> sums{};  // of the powers 0 to 4
  for (int i = 0; i < kDraws; ++i) {
    double power = 1.0;
    const double draw = random.normal();
    for (double& sum : sums) {
      sum += power;
      power *= draw;
    }
  }
  const double error = 5.0 / std::sqrt(kDraws);
  EXPECT_NEAR(sums[1] / kDraws, 0.0, error);
  EXPECT_NEAR(sums[2] / kDraws, 1.0, error * std::sqrt(2.0));
  EXPECT_NEAR(sums[3] / kDraws, 0.0, error * std::sqrt(15.0));
  EXPECT_NEAR(sums[4] / kDraws, 3.0, error * std::sqrt(96.0));
}

TEST(Random, ChiSquaredHasItsMeanAndVariance) {
  constexpr int kDraws = 50'000;
  for (const int degrees : {1, 5}) {
    Random random(12);
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < kDraws; ++i) {
      const double draw = random.chi_squared(degrees);
      ASSERT_GE(draw, 0.0);
      sum += draw - degrees;
      squares += (draw - degrees) * (draw - degrees);
    }
    // Mean k, variance 2 k, fourth central moment 12 k (k + 4).
    const double error = 5.0 / std::sqrt(kDraws);
    EXPECT_NEAR(sum / kDraws, 0.0, error * std::sqrt(2.0 * degrees));
    const double spread = 12.0 * degrees * (degrees + 4) - 4.0 * degrees * degrees;
    EXPECT_NEAR(squares / kDraws, 2.0 * degrees, error * std::sqrt(spread));
  }
  EXPECT_EQ(Random(1).chi_squared(0), 0.0);
  EXPECT_THROW(Random(1).chi_squared(-1), UsageError);
}

TEST(Random, BelowDrawsEveryNumberEquallyOften) {
  constexpr int kDraws = 70'000;
  Random random(13);
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) ++counts.at(static_cast<std::size_t>(random.below(7)));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 5.0 * std::sqrt(kDraws * (1.0 / 7) * (6.0 / 7)));
}

TEST(Random, BelowIsUnbiasedForLargeCounts) {
  // A plain remainder would put 3/4 of the draws below 2^62, where 2/3 belong.
  constexpr std::int64_t kCount = 3 * (std::int64_t{1} << 61);
  constexpr int kDraws = 20'000;
  Random random(14);
  int lower = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t draw = random.below(kCount);
    ASSERT_GE(draw, 0);
    ASSERT_LT(draw, kCount);
    lower += draw < (std::int64_t{1} << 62);
  }
  EXPECT_NEAR(lower, kDraws * 2.0 / 3, 5.0 * std::sqrt(kDraws * 2.0 / 9));
}

TEST(Random, BelowOneIsZeroAndBelowNothingIsAnError) {
  Random random(15);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0);
  EXPECT_THROW(random.below(0), UsageError);
  EXPECT_THROW(random.below(-3), UsageError);
}

TEST(SeedFor, HashesThePathIntoTheSeed) {
  // FNV-1a and splitmix64 written in Python.
  EXPECT_EQ(seed_for(0, ""), 0x5b21f68ffa77f14c);
  EXPECT_EQ(seed_for(7, "term1.date.periodic.period"), 0x1d88626a79b535b2);
  EXPECT_EQ(seed_for(8, "term1.date.periodic.period"), 0xa908fecd9a02c2a5);
  EXPECT_EQ(seed_for(7, "term1.date.periodic.perioe"), 0xf5c6763580ee231e);
  EXPECT_EQ(seed_for(0xffffffffffffffff, "größe"), 0x4aad230f4b003c60);
}

TEST(NormalQuantile, AgreesWithFiftyDigitArithmetic) {
  struct Row {
    double u, x;
  };
  // mpmath, 50 digits: the root of log(erfc(-x / sqrt(2)) / 2) = log(u), u the double nearest to what is written.
  const Row rows[] = {
      {2.3e-308, -37.518497245012296732},
      {1e-300, -37.047096299361199237},
      {1e-100, -21.273453560965324294},
      {1e-16, -8.2220822161304356152},
      {1e-9, -5.9978070150076868614},
      {0.001, -3.0902323061678135354},
      {0.02, -2.0537489106318230443},
      {0.025, -1.9599639845400542118},
      {0.1, -1.2815515655446004353},
      {0.2499, -0.67480447011060998732},
      {0.25, -0.6744897501960817432},
      {0.3, -0.52440051270804081597},
      {0.499, -0.0025066308995717662317},
      {0.4999999999, -2.5066284820303539022e-10},
      {0.5000000001, 2.5066284820303539022e-10},
      {0.6, 0.25334710313579974132},
      {0.75, 0.6744897501960817432},
      {0.7501, 0.67480447011060998732},
      {0.9, 1.2815515655446005935},
      {0.975, 1.9599639845400538556},
      {0.99999, 4.2648907939238407699},
      {1.0 - 1e-16, 8.2095361516013868556},
  };
  for (const Row& row : rows) EXPECT_NEAR(normal_quantile(row.u), row.x, 1e-15 * std::abs(row.x)) << row.u;
  EXPECT_EQ(normal_quantile(0.5), 0.0);
}

TEST(NormalQuantile, IsCloseBelowTheNormalNumbers) {
  EXPECT_NEAR(normal_quantile(1e-310), -37.663060331949523732, 1e-7);
  EXPECT_NEAR(normal_quantile(5e-324), -38.467405617144346251, 1e-7);
}

TEST(NormalQuantile, IsAntisymmetricAndIncreasing) {
  double previous = -std::numeric_limits<double>::infinity();
  for (int i = 1; i < 4096; ++i) {  // i / 4096 and its complement are exact
    const double x = normal_quantile(i / 4096.0);
    EXPECT_EQ(normal_quantile((4096 - i) / 4096.0), -x);
    EXPECT_GT(x, previous);
    previous = x;
  }
}

TEST(NormalQuantile, RefusesWhatIsNoProbability) {
  for (const double u : {0.0, 1.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(normal_quantile(u), UsageError) << u;
  }
}

}  // namespace
}  // namespace ick
