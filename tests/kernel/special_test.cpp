#include "kernel/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "support/golden_values.h"

namespace ick {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// x^a e^-x / Gamma(a) is formed in logarithms: its relative error is that many units times the largest of the terms.
double gamma_tolerance(double a, double x) {
  return 8.0 * kEpsilon * (2.0 + std::abs(a * std::log(x)) + x + std::abs(std::lgamma(a)));
}

TEST(LowerGamma, AgreesWithScipy) {
  const std::vector<GoldenValue> rows = golden("special", "lower_gamma");
  ASSERT_GE(rows.size(), 50u);
  for (const GoldenValue& row : rows) {
    const double tolerance = gamma_tolerance(row.first, row.second) * row.value + std::numeric_limits<double>::min();
    EXPECT_NEAR(lower_gamma(row.first, row.second), row.value, tolerance) << row.first << " " << row.second;
  }
}

TEST(LowerGamma, Edges) {
  EXPECT_EQ(lower_gamma(1.7, 0.0), 0.0);
  EXPECT_EQ(lower_gamma(1.7, 1e4), 1.0);
  EXPECT_NEAR(lower_gamma(1.0, 0.7), -std::expm1(-0.7), 1e-15);  // exponential
  EXPECT_NEAR(lower_gamma(0.5, 2.25), std::erf(1.5), 1e-15);     // P(1/2, x) = erf(sqrt x)
  EXPECT_NEAR(lower_gamma(1e6, 1e6), 0.5 + 1.0 / (3.0 * std::sqrt(2.0 * M_PI * 1e6)), 1e-8);
}

TEST(UnitGammaQuantile, AgreesWithScipy) {
  const std::vector<GoldenValue> rows = golden("special", "gamma_quantile");
  ASSERT_GE(rows.size(), 50u);
  for (const GoldenValue& row : rows) {
    const double u = row.first, shape = row.second, x = shape * row.value;
    // An error of P passes on divided by dP / dlog x; half a unit of u itself does too.
    const double density = std::exp(shape * std::log(x) - x - std::lgamma(shape));
    const double tolerance = 1e-13 + (gamma_tolerance(shape, x) * u + kEpsilon) / density;
    const double value = unit_gamma_quantile(u, shape);
    EXPECT_NEAR(value, row.value, tolerance * row.value) << "u = " << u << ", shape = " << shape;
  }
}

TEST(UnitGammaQuantile, ExtremesStayFiniteAndInOrder) {
  for (const double shape : {0.01, 0.2, 1.0, 30.0, 1e5}) {
    double last = 0.0;
    for (const double u : {1e-300, 1e-17, 1e-5, 0.5, 0.999, 1.0 - kEpsilon / 2.0}) {
      const double x = unit_gamma_quantile(u, shape);
      EXPECT_TRUE(std::isfinite(x) && x >= last && x > 0.0) << u << " " << shape << " " << x;
      last = x;
    }
  }
}

TEST(UnitGammaSlope, AgreesWithDifferencesOfScipy) {
  const std::vector<GoldenValue> rows = golden("special", "gamma_slope");
  ASSERT_GE(rows.size(), 50u);
  for (const GoldenValue& row : rows) {
    const double slope = unit_gamma_slope(row.first, row.second);
    // the difference of two terms of size x / shape, zero near the median
    const double tolerance = 1e-6 * std::abs(row.value) + 1e-8 * row.first / row.second;
    EXPECT_NEAR(slope, row.value, tolerance) << "x = " << row.first << ", shape = " << row.second;
  }
}

TEST(ScaledBessel, AgreesWithScipy) {
  const std::vector<GoldenValue> rows = golden("special", "bessel");
  ASSERT_GE(rows.size(), 50u);
  for (const GoldenValue& row : rows) {
    const auto order = static_cast<std::size_t>(row.second);
    const std::vector<double> values = scaled_bessel(row.first, 21);
    ASSERT_EQ(values.size(), 21u);
    // Below 1e-24 a weight counts for nothing beside I_0, and is not asked for.
    EXPECT_NEAR(values[order], row.value, 1e-12 * row.value + 1e-24) << "k = " << row.first << ", j = " << order;
  }
}

TEST(ScaledBessel, FewerAreTheSameAndAllSumToOne) {
  for (const double k : {0.02, 1.3, 77.0, 4000.0}) {
    const std::vector<double> many = scaled_bessel(k, 1000), few = scaled_bessel(k, 3);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(few[j], many[j], 1e-13 * many[j]) << k;
    const double total = many[0] + 2.0 * std::accumulate(many.begin() + 1, many.end(), 0.0);
    EXPECT_NEAR(total, 1.0, 1e-12) << k;  // e^-k (I_0 + 2 sum_j I_j) at t = 0
  }
}

// Leading term beyond 1e8: 1 / sqrt(2 pi k) (1 - (4 j^2 - 1) / (8 k) + ...)
TEST(ScaledBessel, HugeAndZeroArguments) {
  const std::vector<double> huge = scaled_bessel(1e10, 4);
  for (std::size_t j = 0; j < 4; ++j) {
    const auto order = static_cast<double>(j);
    EXPECT_NEAR(huge[j] * std::sqrt(2.0 * M_PI * 1e10), 1.0 - (4.0 * order * order - 1.0) / 8e10, 1e-10);
  }
  EXPECT_EQ(scaled_bessel(0.0, 3), (std::vector<double>{1.0, 0.0, 0.0}));
  EXPECT_TRUE(scaled_bessel(2.0, 0).empty());
  EXPECT_NEAR(scaled_bessel(2.0, 1).at(0), 0.30850832255367105, 1e-15);  // scipy.special.ive(0, 2)
}

}  // namespace
}  // namespace ick
