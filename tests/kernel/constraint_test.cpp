#include "ick/kernel/constraint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/kernel/table.h"
#include "support/message.h"

namespace ick {
namespace {

// Every constraint the table declares, and the intervals a formula may ask for.
std::vector<Constraint> all_constraints() {
  std::vector<Constraint> all = {Constraint::interval(-3.0, 5.5), Constraint::interval(0.0, 2.0),
                                 Constraint::interval(0.02, 70.0), Constraint::interval(-9.0, -4.0)};
  for (const KernelRow& row : kernel_table()) {
    for (const ParameterDeclaration& each : row.parameters) all.push_back(each.constraint);
  }
  return all;
}

TEST(Constraint, UnconstrainUndoesConstrain) {
  for (const Constraint& constraint : all_constraints()) {
    for (const double raw : {-6.3, -2.1, -0.4, 0.0, 0.7, 1.9, 5.8}) {
      const double value = constrain(constraint, raw);
      EXPECT_TRUE(admits(constraint, value)) << describe(constraint) << " " << raw;
      EXPECT_NEAR(unconstrain(constraint, value), raw, 1e-12 * (1.0 + std::exp(std::abs(raw))))
          << describe(constraint) << " " << raw;
    }
  }
}

TEST(Constraint, SlopeAgreesWithDifferences) {
  constexpr double h = 1e-3;
  for (const Constraint& constraint : all_constraints()) {
    for (const double raw : {-4.2, -0.3, 0.0, 1.1, 3.7}) {
      const auto at = [&](double steps) { return constrain(constraint, raw + steps * h); };
      const double difference = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
      EXPECT_NEAR(constrain_slope(constraint, raw) / difference, 1.0, 1e-9) << describe(constraint) << " " << raw;
    }
  }
}

TEST(Constraint, KnownValues) {
  EXPECT_DOUBLE_EQ(constrain(Constraint::positive(), std::log(3.25)), 3.25);
  EXPECT_DOUBLE_EQ(constrain(Constraint::interval(-3.0, 5.0), 0.0), 1.0);            // the middle
  EXPECT_DOUBLE_EQ(constrain(Constraint::interval(-3.0, 5.0), std::log(3.0)), 3.0);  // three quarters of the way
  EXPECT_DOUBLE_EQ(constrain(Constraint::interval(0.01, 100.0), 0.0), 1.0);          // the middle of four decades
  EXPECT_DOUBLE_EQ(constrain(Constraint::interval(0.01, 100.0), std::log(3.0)), 10.0);
}

TEST(Constraint, StaysInsideFarOut) {
  for (const Constraint& constraint : {Constraint::interval(-3.0, 5.5), Constraint::interval(0.02, 70.0)}) {
    for (const double raw : {-1e4, -745.0, 745.0, 1e4}) {
      const double value = constrain(constraint, raw), slope = constrain_slope(constraint, raw);
      EXPECT_GE(value, constraint.low * (1.0 - 1e-15 * std::copysign(1.0, constraint.low)));
      EXPECT_LE(value, constraint.high * (1.0 + 1e-15));
      EXPECT_TRUE(slope >= 0.0 && slope < 1e-300) << slope;
    }
  }
}

TEST(Constraint, Admits) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_TRUE(admits(Constraint::real(), -7.5));
  EXPECT_TRUE(admits(Constraint::positive(), 1e-300));
  EXPECT_TRUE(admits(Constraint::interval(-1.0, 2.0), 1.999));
  for (const double bad : {nan, infinity, -infinity}) {
    for (const Constraint& each : all_constraints()) EXPECT_FALSE(admits(each, bad)) << describe(each) << " " << bad;
  }
  EXPECT_FALSE(admits(Constraint::positive(), 0.0));
  EXPECT_FALSE(admits(Constraint::positive(), -0.5));
  for (const double edge : {-1.0, 2.0, 2.5}) EXPECT_FALSE(admits(Constraint::interval(-1.0, 2.0), edge)) << edge;
}

TEST(Constraint, Words) {
  EXPECT_EQ(describe(Constraint::real()), "a number");
  EXPECT_EQ(describe(Constraint::positive()), "a positive number");
  EXPECT_EQ(describe(Constraint::interval(0.5, 8.0)), "a number between 0.5 and 8");
}

TEST(Constraint, IntervalsMustEnclose) {
  const auto error_of = [](double low, double high) {
    return message_of<UsageError>([&] { Constraint::interval(low, high); });
  };
  EXPECT_EQ(error_of(5.0, 1.5), "bounds 5 and 1.5 do not enclose anything; give a low and a higher high");
  EXPECT_EQ(error_of(2.0, 2.0), "bounds 2 and 2 do not enclose anything; give a low and a higher high");
  EXPECT_NE(error_of(std::nan(""), 2.0), "");
  EXPECT_NE(error_of(1.0, std::numeric_limits<double>::infinity()), "");
}

}  // namespace
}  // namespace ick
