#include "inference/crossfit.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ick/base/seed.h"
#include "ick/fit/fit.h"
#include "inference/engines.h"

namespace ick {
namespace {

constexpr std::int64_t kPlaneRows = 200;

// A function of `a` on a plane, over 200 days, in twenty groups.
Table plane() {
  Random random(5);
  Table table;
  table.rows = kPlaneRows;
  for (const char* const name : {"a", "east", "north", "day", "site", "y"}) {
    Column& column = table.columns.emplace_back();
    column.info.name = name;
    std::vector<double> values;
    for (std::int64_t i = 0; i < kPlaneRows; ++i) {
      const std::string of = name;
      const double number = random.normal();
      values.push_back(of == "day"    ? static_cast<double>(i)
                       : of == "site" ? static_cast<double>(i % 20)
                       : of == "y"    ? std::sin(table.columns[0].values[i]) + 0.1 * number
                                      : number);
    }
    column.values = values;
  }
  return table;
}

// What is left out of a trained network by this split, and the targets of the rows trained on.
struct Trial {
  Retrained found;
  at::Tensor y;
};

Trial trial(const Table& table, const std::string& split) {
  FitOptions options;
  options.layers = {8};
  options.epochs = 3, options.members = 2;
  options.validation = parse_split(split);
  const FitPlan plan = plan_fit(table, parse_formula("y ~ mlp(a)"), options);
  const FitHooks hooks;
  std::vector<bool> all(kPlaneRows, true);
  Stage stage(table, plan, all, "refit", hooks);
  StageOutcome before;
  before.best_epoch = before.epochs = 3;
  descend_and_polish(stage, {nullptr, nullptr, &before});
  const std::optional<Retrained> found = leave_out_and_train(stage, *ensemble_posterior(stage.shared_model()));
  return {found.value(), stage.training().targets()};
}

// Two rows of one part change places: networks that have not seen the part predict its rows as before, others do not.
class LeftOutAndTrained : public testing::TestWithParam<const char*> {};

TEST_P(LeftOutAndTrained, NothingIsKnownOfThePart) {
  Table table = plane();
  const Trial one = trial(table, GetParam());
  const std::vector<LeftOut>& folds = one.found.parts.folds;
  ASSERT_EQ(one.found.found.size(), folds.size());
  ASSERT_GE(folds.size(), 2U);
  EXPECT_EQ(one.found.at_random, std::string(GetParam()).starts_with("random"));
  // the latest future comes first, and has the second in its past
  const std::size_t part = 1;
  const std::vector<std::int64_t>& rows = folds[part].rows;
  const std::int64_t first = rows.front();
  const auto other = std::find_if(rows.begin(), rows.end(), [&](std::int64_t row) {
    return std::abs((one.y[row] - one.y[first]).item<double>()) > 0.5;
  });
  ASSERT_NE(other, rows.end());
  std::vector<double> values(table.columns.back().values.begin(), table.columns.back().values.end());
  std::swap(values[static_cast<std::size_t>(first)], values[static_cast<std::size_t>(*other)]);
  table.columns.back().values = values;
  const Trial two = trial(table, GetParam());
  double elsewhere = 0.0;
  for (std::size_t f = 0; f < folds.size(); ++f) {
    EXPECT_EQ(two.found.parts.folds[f].rows, folds[f].rows);
    const at::Tensor change = (one.found.found[f].mean - two.found.found[f].mean).abs();
    if (f == part) {
      EXPECT_LT(change.max().item<double>(), 1e-5);
    } else {
      elsewhere = std::max(elsewhere, change.max().item<double>());
    }
    EXPECT_GT(one.found.found[f].variance.min().item<double>(), 0.0);  // two members differ
  }
  EXPECT_GT(elsewhere, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Splits, LeftOutAndTrained,
                         testing::Values("random=20%", "block(east, north)=20%", "group(site)=20%", "last(day)=20%"));

// Rows left out of the trainings have all their rows in one part each; those drawn at random are a fifth of all.
TEST(LeftOutAndTrained, FifthsAtRandom) {
  const Retrained found = trial(plane(), "random=20%").found;
  std::vector<std::int64_t> sizes(5);
  for (const std::int64_t cell : found.parts.cell_of) ++sizes.at(static_cast<std::size_t>(cell));
  EXPECT_EQ(sizes, std::vector<std::int64_t>(5, kPlaneRows / 5));
}

// The future that is predicted comes after all rows that were trained on.
TEST(LeftOutAndTrained, FuturesFollowTheirPast) {
  const Retrained found = trial(plane(), "last(day)=20%").found;
  ASSERT_EQ(found.parts.folds.size(), 5U);
  for (const LeftOut& fold : found.parts.folds) {
    const std::int64_t first = *std::min_element(fold.rows.begin(), fold.rows.end());
    for (std::int64_t row = 0; row < kPlaneRows; ++row) {
      const std::int64_t cell = found.parts.cell_of[static_cast<std::size_t>(row)];
      const bool out = std::find(fold.cells.begin(), fold.cells.end(), cell) != fold.cells.end();
      EXPECT_EQ(out, row >= first) << row;
    }
  }
}

}  // namespace
}  // namespace ick
