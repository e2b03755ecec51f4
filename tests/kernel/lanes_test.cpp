#include "kernel/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ick/base/seed.h"
#include "kernel/dual.h"

// Compiled with the flags of fused.cpp (tests/CMakeLists.txt): what is tested is what runs.
namespace ick {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnit = std::numeric_limits<double>::epsilon();
constexpr long double kTwoPi = 6.283185307179586476925286766559L;

double first(Lanes lanes) { return lanes.v[0]; }

// `count` numbers of either sign, even in the logarithm between 2^low and 2^high
std::vector<double> scattered(int count, double low, double high, bool both_signs) {
  Random random(17);
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) {
    const double size = std::exp2(low + (high - low) * random.uniform());
    numbers.push_back(both_signs && i % 2 == 1 ? -size : size);
  }
  return numbers;
}

// Largest |f - exact| in units of max(|exact|, floor) epsilon; each lane holds another number. "A few units in the last
// place" is 4.
double worst(Lanes (*f)(Lanes), long double (*exact)(long double), const std::vector<double>& at, double floor = 0.0) {
  double error = 0.0;
  constexpr std::size_t kWidth = Lanes::kWidth;
  for (std::size_t i = 0; i + kWidth <= at.size(); i += kWidth) {
    double result[kWidth];
    f(Lanes::load(&at[i])).store(result);
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      const long double right = exact(at[i + lane]);
      const long double miss = std::abs(result[lane] - right) / std::max(std::abs(right), (long double)floor) / kUnit;
      error = std::max(error, std::isfinite(miss) ? static_cast<double>(miss) : HUGE_VAL);
    }
  }
  return error;
}

long double exact_exp(long double a) { return std::exp(a); }
long double exact_log(long double a) { return std::log(a); }
long double exact_log1p(long double a) { return std::log1p(a); }
// Folded to a quarter turn: the argument is exact, and pi's rounding does not matter where sin is zero.
long double exact_sin(long double a) {
  const long double turn = a - std::nearbyint(a);
  return std::sin(kTwoPi * (std::abs(turn) > 0.25L ? std::copysign(0.5L, turn) - turn : turn));
}
long double exact_cos(long double a) { return std::cos(kTwoPi * (a - std::nearbyint(a))); }

TEST(Lanes, LoadStoreTotalAndArithmetic) {
  double numbers[Lanes::kWidth], out[Lanes::kWidth], total = 0.0;
  for (int i = 0; i < Lanes::kWidth; ++i) total += numbers[i] = 1.5 - 2.25 * i * i;
  const Lanes a = Lanes::load(numbers), b = 0.5;
  (a * b + square(a) - b).store(out);
  for (int i = 0; i < Lanes::kWidth; ++i) EXPECT_EQ(out[i], numbers[i] * 0.5 + numbers[i] * numbers[i] - 0.5);
  EXPECT_EQ(a.total(), total);
  (-a).store(out);
  EXPECT_EQ(out[1], 0.75);
  equal(a, Lanes(-7.5)).store(out);
  for (int i = 0; i < Lanes::kWidth; ++i) EXPECT_EQ(out[i], i == 2 ? 1.0 : 0.0);
}

TEST(Lanes, Exp) {
  std::vector<double> at = scattered(40000, -60.0, std::log2(707.0), true);
  for (int i = -1416; i <= 1416; ++i) at.push_back(0.5 * i);
  EXPECT_LE(worst(exp, exact_exp, at), 4.0);
  EXPECT_EQ(first(exp(0.0)), 1.0);
  EXPECT_EQ(first(exp(-0.0)), 1.0);
  EXPECT_EQ(first(exp(1e-320)), 1.0);
  EXPECT_EQ(first(exp(-kInfinity)), 0.0);
  EXPECT_EQ(first(exp(-1e300)), 0.0);
  EXPECT_EQ(first(exp(-708.001)), 0.0);
  EXPECT_NEAR(first(exp(-708.0)) / std::exp(-708.0), 1.0, 4.0 * kUnit);
  EXPECT_NEAR(first(exp(709.0)) / std::exp(709.0), 1.0, 4.0 * kUnit);
  EXPECT_TRUE(std::isnan(first(exp(kNan))));
}

TEST(Lanes, Log) {
  EXPECT_LE(worst(log, exact_log, scattered(40000, -1021.0, 1023.0, false)), 4.0);
  std::vector<double> near_one;
  for (const double each : scattered(4000, -50.0, -1.0, true)) near_one.push_back(1.0 + each);
  EXPECT_LE(worst(log, exact_log, near_one), 4.0);
  EXPECT_EQ(first(log(1.0)), 0.0);
  EXPECT_EQ(first(log(kInfinity)), kInfinity);
  EXPECT_TRUE(std::isnan(first(log(kNan))));
  EXPECT_NEAR(first(log(std::numeric_limits<double>::max())), 709.782712893384, 1e-12);
  EXPECT_NEAR(first(log(std::numeric_limits<double>::min())), -708.3964185322641, 1e-12);
}

TEST(Lanes, Log1p) {
  EXPECT_LE(worst(log1p, exact_log1p, scattered(40000, -1060.0, 1023.0, false)), 4.0);
  EXPECT_LE(worst(log1p, exact_log1p, scattered(40000, -4.0, 4.0, false)), 4.0);
  EXPECT_EQ(first(log1p(0.0)), 0.0);
  EXPECT_EQ(first(log1p(5e-324)), 5e-324);
  EXPECT_EQ(first(log1p(1e-320)), 1e-320);
  EXPECT_EQ(first(log1p(kInfinity)), kInfinity);
  EXPECT_TRUE(std::isnan(first(log1p(kNan))));
}

// Near whole and half turns sin keeps its relative accuracy; cos is as exact as 1.
TEST(Lanes, SinAndCosOfTurns) {
  const std::vector<double> near = scattered(40000, -40.0, 3.0, true), far = scattered(40000, 3.0, 51.0, true);
  EXPECT_LE(worst(sin_turns, exact_sin, near, 1e-300), 4.0);
  EXPECT_LE(worst(sin_turns, exact_sin, far, 1e-300), 4.0);
  EXPECT_LE(worst(cos_turns, exact_cos, near, 1.0), 4.0);
  EXPECT_LE(worst(cos_turns, exact_cos, far, 1.0), 4.0);
}

TEST(Lanes, SinAndCosAtEdges) {
  for (const double whole : {0.0, 1.0, -3.0, 4096.0, 0x1p50, 0x1p51, -0x1p51, 0x1.8p51, 0x1p52, 0x1p60, -1e300}) {
    EXPECT_EQ(first(sin_turns(whole)), 0.0) << whole;
    EXPECT_EQ(first(cos_turns(whole)), 1.0) << whole;
  }
  for (const double half : {0.5, -2.5, 1e6 + 0.5, 0x1p50 + 0.5, -0x1p51 + 0.5}) {
    EXPECT_NEAR(first(sin_turns(half)), 0.0, kUnit) << half;
    EXPECT_EQ(first(cos_turns(half)), -1.0) << half;
  }
  EXPECT_EQ(first(sin_turns(0.25)), 1.0);
  EXPECT_EQ(first(sin_turns(-0.25)), -1.0);
  EXPECT_EQ(first(sin_turns(1e-310)), 1e-310 * 6.283185307179586);
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_TRUE(std::isnan(first(sin_turns(bad))));
    EXPECT_TRUE(std::isnan(first(cos_turns(bad))));
  }
}

TEST(Lanes, RootAndInverse) {
  for (const double a : scattered(4000, -1070.0, 1020.0, false)) {
    EXPECT_EQ(first(root(a)), std::sqrt(a));
    EXPECT_EQ(first(inverse(-a)), 1.0 / -a);
  }
  EXPECT_EQ(first(root(0.0)), 0.0);
  EXPECT_EQ(first(root(kInfinity)), kInfinity);
  EXPECT_TRUE(std::isnan(first(root(-1.0))));
  EXPECT_EQ(first(inverse(0.0)), kInfinity);
  EXPECT_EQ(first(inverse(kInfinity)), 0.0);
}

// f with two varied numbers, against differences of plain doubles
struct TwoNumbers {
  const char* name;
  Dual<2> (*dual)(const Dual<2>&, const Dual<2>&);
  long double (*plain)(long double, long double);
};

constexpr TwoNumbers kFunctions[] = {
    {"a + b", [](const Dual<2>& a, const Dual<2>& b) { return a + b; },
     [](long double a, long double b) { return a + b; }},
    {"a - b", [](const Dual<2>& a, const Dual<2>& b) { return a - b; },
     [](long double a, long double b) { return a - b; }},
    {"a b", [](const Dual<2>& a, const Dual<2>& b) { return a * b; },
     [](long double a, long double b) { return a * b; }},
    {"numbers",
     [](const Dual<2>& a, const Dual<2>& b) {
       return (Lanes(3.0) + a * Lanes(0.7)) * 1.3 + 0.4 * (Lanes(2.0) * b) - Lanes(0.6) + (0.1 + a) + (-b + Lanes(0.2));
     },
     [](long double a, long double b) { return (3 + a * 0.7) * 1.3 + 0.4 * (2 * b) - 0.6 + (0.1 + a) + (-b + 0.2); }},
    {"square", [](const Dual<2>& a, const Dual<2>& b) { return square(a) * b; },
     [](long double a, long double b) { return a * a * b; }},
    {"inverse", [](const Dual<2>& a, const Dual<2>& b) { return inverse(a) * b; },
     [](long double a, long double b) { return b / a; }},
    {"exp", [](const Dual<2>& a, const Dual<2>& b) { return exp(-a * b); },
     [](long double a, long double b) { return std::exp(-a * b); }},
    {"log1p", [](const Dual<2>& a, const Dual<2>& b) { return log1p(a * b); },
     [](long double a, long double b) { return std::log1p(a * b); }},
    {"root", [](const Dual<2>& a, const Dual<2>& b) { return root(a + b); },
     [](long double a, long double b) { return std::sqrt(a + b); }},
    {"sin", [](const Dual<2>& a, const Dual<2>& b) { return sin_turns(a * b); },
     [](long double a, long double b) { return std::sin(kTwoPi * a * b); }},
    {"cos", [](const Dual<2>& a, const Dual<2>& b) { return cos_turns(a * b); },
     [](long double a, long double b) { return std::cos(kTwoPi * a * b); }}};

TEST(Dual, DerivativesAgreeWithDifferences) {
  double as[Lanes::kWidth], bs[Lanes::kWidth];
  for (int i = 0; i < Lanes::kWidth; ++i) as[i] = 0.31 + 0.37 * i, bs[i] = 1.93 / (1.0 + 0.7 * i);
  for (const TwoNumbers& f : kFunctions) {
    Dual<2> a(Lanes::load(as)), b(Lanes::load(bs));
    a.d[0] = 1.0;
    b.d[1] = 1.0;
    const Dual<2> result = f.dual(a, b);
    for (int i = 0; i < Lanes::kWidth; ++i) {
      constexpr long double h = 1e-4L;
      const auto slope = [&](long double step_a, long double step_b) {
        const auto at = [&](long double k) { return f.plain(as[i] + k * step_a, bs[i] + k * step_b); };
        return static_cast<double>((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h));
      };
      EXPECT_NEAR(result.v.v[i], static_cast<double>(f.plain(as[i], bs[i])), 1e-14) << f.name;
      EXPECT_NEAR(result.d[0].v[i], slope(1, 0), 1e-10) << f.name;
      EXPECT_NEAR(result.d[1].v[i], slope(0, 1), 1e-10) << f.name;
    }
  }
}

TEST(Dual, RootHasSlopeZeroAtZero) {
  Dual<1> a(Lanes(0.0));
  a.d[0] = 1.0;
  const Dual<1> r = root(a);
  EXPECT_EQ(first(r.v), 0.0);
  EXPECT_EQ(first(r.d[0]), 0.0);
}

}  // namespace
}  // namespace ick
