#include "suggest/screen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ick/base/seed.h"
#include "support/table_case.h"

namespace ick::detail {
namespace {

Ingredients lines() {
  Ingredients from;
  from.target = "y";
  from.all = {{Role::numbers, "linear(a)", "", "", 1},
              {Role::season, "periodic(t, period=10)", "", "", 1},
              {Role::group, "categorical(g)", "", "", 1},
              {Role::numbers, "mlp(a)", "", "", 2},
              {Role::image, "cnn(g)", "", "", 3}};
  return from;
}

struct ScreenCase {
  std::vector<double> a, t, g, y;
  Table table;
  std::vector<Fold> folds;

  explicit ScreenCase(std::size_t n) {
    Random random(seed_for(5, "screen"));
    for (std::size_t i = 0; i < n; ++i) {
      a.push_back(random.normal()), t.push_back(static_cast<double>(i) / 3.0);
      g.push_back(static_cast<double>(random.below(3)));
      y.push_back(2.0 * a[i] * std::cos(2.0 * std::numbers::pi * t[i] / 10.0) + 0.1 * random.normal());
    }
    table = table_of({column_of("a", a), column_of("t", t), column_of("g", g, ColumnType::category, {"u", "v", "w"})});
    folds.resize(4);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < 4; ++k) {
        (i % 4 == k ? folds[k].test : folds[k].training).push_back(static_cast<std::int64_t>(i));
      }
    }
  }
};

double sum_of(const std::vector<double>& losses) {
  double sum = 0.0;
  for (const double each : losses) sum += each;
  return sum / static_cast<double>(losses.size());
}

TEST(SuggestBasis, SquaresAddUpToOneOnAverage) {
  const ScreenCase data(120);
  const Ingredients from = lines();
  for (std::size_t i = 0; i < 4; ++i) {
    double squares = 0.0;
    for (const std::vector<double>& column : basis_of(from.all[i], data.table, 1)) {
      for (const double value : column) squares += value * value;
    }
    EXPECT_NEAR(squares / 120.0, 1.0, 1e-9) << from.all[i].text;
  }
  EXPECT_TRUE(basis_of(from.all[4], data.table, 1).empty());
}

// One function: w = x'y / (x'x + c), the intercept aside, in each fold.
TEST(SuggestScreen, IsRidgeRegression) {
  ScreenCase data(80);
  for (std::size_t i = 0; i < 80; ++i) data.y[i] = data.a[i] + 0.5 * data.t[i] / 27.0;
  const Ingredients from = lines();
  const Screen screen(from, data.table, {data.y}, data.folds, 1);
  const auto standardised = [](std::vector<double> v) {
    double mean = 0.0, squares = 0.0;
    for (const double x : v) mean += x / 80.0;
    for (double& x : v) x -= mean, squares += x * x / 80.0;
    for (double& x : v) x /= std::sqrt(squares);
    return v;
  };
  const std::vector<double> x = standardised(data.a), y = standardised(data.y);
  double best = HUGE_VAL;
  for (const double c : {0.1, 1.0, 10.0}) {
    double sum = 0.0;
    for (const Fold& fold : data.folds) {
      double xx = c, x1 = 0.0, xy = 0.0, y1 = 0.0, n = c;  // of (x, 10)
      for (const std::int64_t row : fold.training) {
        const auto i = static_cast<std::size_t>(row);
        xx += x[i] * x[i], x1 += 10.0 * x[i], xy += x[i] * y[i], y1 += 10.0 * y[i], n += 100.0;
      }
      const double w = (xy * n - x1 * y1) / (xx * n - x1 * x1), b = (y1 - x1 * w) / n;
      double squares = 0.0;
      for (const std::int64_t row : fold.test) {
        const auto i = static_cast<std::size_t>(row);
        squares += std::pow(y[i] - w * x[i] - 10.0 * b, 2);
      }
      sum += std::sqrt(squares / static_cast<double>(fold.test.size()));
    }
    best = std::min(best, sum / 4.0);
  }
  EXPECT_NEAR(sum_of(screen.losses({{0}})), best, 1e-9);
}

TEST(SuggestScreen, SeesAProductThatNeitherFactorShows) {
  const ScreenCase data(240);
  const Ingredients from = lines();
  const Screen screen(from, data.table, {data.y}, data.folds, 1);
  EXPECT_GT(sum_of(screen.losses({{0}})), 0.95);
  EXPECT_GT(sum_of(screen.losses({{1}})), 0.95);
  EXPECT_GT(sum_of(screen.losses({{2}})), 0.95);
  EXPECT_LT(sum_of(screen.losses({{0, 1}})), 0.15);
  EXPECT_LT(sum_of(screen.losses({{1, 3}})), 0.35);
  EXPECT_FALSE(screen.can({{0}, {4}}));
}

}  // namespace
}  // namespace ick::detail
