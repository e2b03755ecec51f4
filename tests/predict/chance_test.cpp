#include "predict/chance.h"

#include <gtest/gtest.h>

#include <vector>

#include "ick/base/error.h"

// Expected values: sums of fractions (binomial, beta-binomial), Simpson's rule on Student's density.
namespace ick {
namespace {

Calibration of_rows(std::int64_t rows) { return Calibration(std::vector<double>(static_cast<std::size_t>(rows), 1.0)); }

TEST(Chance, OfRowsIsBetaBinomial) {
  EXPECT_NEAR(chance_of_rows(40, 50, 0.9, of_rows(99)), 0.05464382997127534, 1e-10);
  EXPECT_NEAR(chance_of_rows(45, 50, 0.9, of_rows(99)), 0.5358052504887372, 1e-10);
  EXPECT_NEAR(chance_of_rows(150, 200, 0.9, of_rows(30)), 0.01564113767009058, 1e-10);
  EXPECT_NEAR(chance_of_rows(880, 1000, 0.9, of_rows(500)), 0.11759733946310454, 1e-9);
  EXPECT_EQ(chance_of_rows(50, 50, 0.9, of_rows(99)), 1.0);
}

TEST(Chance, OfRowsWithoutCalibrationIsBinomial) {
  EXPECT_NEAR(chance_of_rows(40, 50, 0.9, {}), 0.024537935704591455, 1e-12);
  EXPECT_NEAR(chance_of_rows(11, 12, 0.9, of_rows(3)), 0.717570463519, 1e-12);
  EXPECT_NEAR(chance_of_rows(250, 300, 0.9, {}), 0.0002415786416154118, 1e-12);
}

TEST(Chance, OfBlocksIsStudents) {
  EXPECT_NEAR(chance_of_blocks(std::vector{0.7, 0.9, 0.8, 0.95, 0.6}, 0.9), 0.08047150534851155, 1e-9);
  EXPECT_NEAR(chance_of_blocks(std::vector{0.95, 1.0, 0.9, 0.97, 0.99, 0.85}, 0.9), 0.9370072583716706, 1e-9);
  EXPECT_NEAR(chance_of_blocks(std::vector{0.2, 0.4, 0.1, 0.5, 0.3, 0.35}, 0.9), 7.984977144376293e-05, 1e-9);
  EXPECT_EQ(chance_of_blocks(std::vector{0.0, 0.0, 0.0}, 0.9), 0.0);
  EXPECT_EQ(chance_of_blocks(std::vector{1.0, 1.0, 1.0}, 0.9), 1.0);
  EXPECT_THROW(chance_of_blocks(std::vector{1.0}, 0.9), UsageError);
}

}  // namespace
}  // namespace ick
