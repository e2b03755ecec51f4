#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ick/base/error.h"
#include "ick/fit/fit.h"
#include "support/table_case.h"

// Models of kernels on tables at the edge of what there is: sane results or a sentence, whatever the engine.
namespace ick {
namespace {

struct KernelEdges : testing::TestWithParam<const char*> {
  FitOptions options() const {
    FitOptions asked;
    asked.posterior = GetParam();
    return asked;
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, KernelEdges, testing::Values("ensemble", "neighbours"), [](const auto& each) {
  return std::string(each.param) == "ensemble" ? "chosen" : "neighbours";
});

using Row = std::function<double(std::int64_t)>;

std::vector<double> numbers(std::int64_t rows, const Row& value) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows; ++i) all.push_back(value(i));
  return all;
}

Table table_xy(std::int64_t rows, const Row& x, const Row& y) {
  return table_of({column_of("x", numbers(rows, x)), column_of("y", numbers(rows, y))});
}

// Means lie in the range of the targets, or a tenth beyond; sds are positive and no wider than twice the range; of many
// rows, 90% intervals hold 80% or more.
void expect_sane(const Fit& fit, const Table& table) {
  const Prediction p = fit.model.predict(table);
  const Numbers& y = table.column("y").values;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!std::isnan(y[i])) low = std::min(low, y[i]), high = std::max(high, y[i]);
  }
  const double range = high - low;
  std::int64_t inside = 0, known = 0, outside = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(y[i]) || std::isnan(table.column("x").values[i])) continue;
    ASSERT_TRUE(std::isfinite(p.mean[i])) << "row " << i;
    ASSERT_TRUE(p.sd[i] > 0.0 && p.sd[i] <= 2.0 * range) << "row " << i << ": " << p.sd[i];
    ++known;
    inside += y[i] >= p.lower[i] && y[i] <= p.upper[i];
    outside += p.mean[i] < low - 0.1 * range || p.mean[i] > high + 0.1 * range;
  }
  EXPECT_EQ(outside, 0);
  if (known >= 100) {
    EXPECT_GE(static_cast<double>(inside) / static_cast<double>(known), 0.8);
  }
}

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST_P(KernelEdges, EveryPlaceTwice) {
  Random random(1);
  const auto place = [](std::int64_t i) { return static_cast<double>(i / 2); };
  for (const double noise : {0.0, 1e-3, 0.3}) {
    const Table table =
        table_xy(300, place, [&](std::int64_t i) { return std::sin(0.1 * place(i)) + noise * random.normal(); });
    expect_sane(fit_model(table, "y ~ matern32(x)", options()), table);
  }
}

TEST_P(KernelEdges, OneTwoAndAFewRows) {
  const auto x = [](std::int64_t i) { return static_cast<double>(i); };
  const auto y = [](std::int64_t i) { return std::sin(1.3 * static_cast<double>(i)); };
  EXPECT_NE(refusal([&] { fit_model(table_xy(1, x, y), "y ~ matern32(x)", options()); }).find("at least 2 rows"),
            std::string::npos);
  for (const std::int64_t rows : {2, 3, 12, 25}) {  // fewer than a row has neighbours
    SCOPED_TRACE(rows);
    const Table table = table_xy(rows, x, y);
    expect_sane(fit_model(table, "y ~ matern32(x)", options()), table);
  }
  const Table same = table_xy(
      2, [](std::int64_t) { return 1.0; }, y);
  const Fit fit = fit_model(same, "y ~ matern32(x)", options());
  expect_sane(fit, same);
  EXPECT_NEAR(fit.model.predict(same).mean[0], 0.5 * std::sin(1.3), 0.1);
}

// The mean of the place is known as well as so many rows make it.
TEST_P(KernelEdges, TenThousandRowsAtOnePlace) {
  Random random(2);
  constexpr std::int64_t kThere = 10'000, kElsewhere = 300;
  const auto x = [](std::int64_t i) { return i < kThere ? 2.0 : 0.01 * static_cast<double>(i - kThere); };
  const Table alone = table_xy(kThere, x, [&](std::int64_t) { return 5.0 + random.normal(); });
  const Fit of_place = fit_model(alone, "y ~ matern32(x)", options());
  EXPECT_NEAR(of_place.model.predict(alone).mean[0], 5.0, 0.05);
  EXPECT_NEAR(of_place.model.predict(alone).sd[0], 1.0, 0.05);
  const Table both =
      table_xy(kThere + kElsewhere, x, [&](std::int64_t i) { return std::sin(3.0 * x(i)) + 0.2 * random.normal(); });
  FitOptions asked = options();
  asked.validation = parse_split("random=20%");
  const Fit fit = fit_model(both, "y ~ matern32(x)", asked);
  expect_sane(fit, both);
  EXPECT_LT(fit.report.validation->rmse, 0.22);
}

TEST_P(KernelEdges, AConstantTarget) {
  const Table table = table_xy(
      100, [](std::int64_t i) { return static_cast<double>(i); }, [](std::int64_t) { return 3.0; });
  EXPECT_NE(refusal([&] { fit_model(table, "y ~ matern32(x)", options()); }).find("nothing to learn"),
            std::string::npos);
}

TEST_P(KernelEdges, ALevelWithOneRow) {
  Random random(3);
  std::vector<double> x, level, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(i), level.push_back(i == 100 ? 2.0 : i % 2);
    y.push_back(std::sin(0.1 * i) + (i % 2) + 0.1 * random.normal());
  }
  const Table table =
      table_of({column_of("x", x), column_of("site", level, ColumnType::category, {"a", "b", "c"}), column_of("y", y)});
  for (const char* formula : {"y ~ matern32(x) + categorical(site)", "y ~ matern32(x) * categorical(site)"}) {
    SCOPED_TRACE(formula);
    expect_sane(fit_model(table, formula, options()), table);
  }
}

// What is learned does not depend on where the target's zero is.
TEST_P(KernelEdges, ATargetFarFromZero) {
  const auto table = [](double offset) {
    Random random(4);
    return table_xy(
        300, [](std::int64_t i) { return static_cast<double>(i); },
        [&, offset](std::int64_t i) {
          return offset + std::sin(0.1 * static_cast<double>(i)) + 0.1 * random.normal();
        });
  };
  const Table near = table(0.0), far = table(1e9);
  const Fit of_near = fit_model(near, "y ~ matern32(x)", options()),
            of_far = fit_model(far, "y ~ matern32(x)", options());
  expect_sane(of_far, far);
  const Prediction a = of_near.model.predict(near), b = of_far.model.predict(far);
  for (std::size_t i = 0; i < a.mean.size(); i += 17) {
    EXPECT_NEAR(b.mean[i] - 1e9, a.mean[i], 0.01);
    EXPECT_NEAR(b.sd[i], a.sd[i], 0.01);
  }
}

// Nor on the unit of an input, nor on where its zero is.
TEST_P(KernelEdges, InputsOfAnySize) {
  const auto table = [](double unit, double offset) {
    Random random(5);
    return table_xy(
        300, [=](std::int64_t i) { return offset + unit * static_cast<double>(i); },
        [&](std::int64_t i) { return std::sin(0.1 * static_cast<double>(i)) + 0.1 * random.normal(); });
  };
  const Prediction usual = fit_model(table(1.0, 0.0), "y ~ matern32(x)", options()).model.predict(table(1.0, 0.0));
  for (const auto& [unit, offset] : {std::pair{1e-30, 0.0}, std::pair{1e30, 0.0}, std::pair{1.0, 1e9}}) {
    SCOPED_TRACE(unit);
    const Table scaled = table(unit, offset);
    const Fit fit = fit_model(scaled, "y ~ matern32(x)", options());
    expect_sane(fit, scaled);
    const Prediction p = fit.model.predict(scaled);
    for (std::size_t i = 0; i < p.mean.size(); i += 17) EXPECT_NEAR(p.mean[i], usual.mean[i], 0.05);
  }
  const std::string said = refusal([&] { fit_model(table(1e-300, 0.0), "y ~ matern32(x)", options()); });
  EXPECT_NE(said.find("extremely large or small numbers"), std::string::npos) << said;
}

TEST_P(KernelEdges, GapsThatAreDropped) {
  Random random(6);
  const Table table = table_xy(
      400, [](std::int64_t i) { return i % 7 == 0 ? kGap : static_cast<double>(i); },
      [&](std::int64_t i) {
        return i % 11 == 0 ? kGap : std::sin(0.1 * static_cast<double>(i)) + 0.1 * random.normal();
      });
  EXPECT_NE(refusal([&] { fit_model(table, "y ~ matern32(x)", options()); }).find("gaps=drop"), std::string::npos);
  FitOptions asked = options();
  asked.gaps = Gaps::drop;
  const Fit fit = fit_model(table, "y ~ matern32(x)", asked);
  expect_sane(fit, table);
  EXPECT_TRUE(std::isnan(fit.model.predict(table).mean[7]));  // no place, no prediction
  EXPECT_TRUE(std::isfinite(fit.model.predict(table).mean[11]));
}

}  // namespace
}  // namespace ick
