#include "train/row_order.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace ick {
namespace {

std::vector<std::int64_t> numbers_of(const at::Tensor& rows) {
  return {rows.data_ptr<std::int64_t>(), rows.data_ptr<std::int64_t>() + rows.numel()};
}

struct Sizes {
  std::int64_t rows, batch, mixed;
};

struct Orders : testing::TestWithParam<Sizes> {};

TEST_P(Orders, TakeEveryRowOnceWhateverTheNumberOfProcesses) {
  const auto [rows, batch, mixed] = GetParam();
  for (const int processes : {1, 2, 3, 8}) {
    RowOrder order(rows, batch, 7, {}, mixed);
    ASSERT_EQ(order.steps(), (rows + batch - 1) / batch);
    std::vector<int> taken(static_cast<std::size_t>(rows));
    RowOrder alone(rows, batch, 7, {}, mixed);
    for (std::int64_t step = 0; step < order.steps(); ++step) {
      std::vector<std::int64_t> all;
      for (int rank = 0; rank < processes; ++rank) {
        for (const std::int64_t row : numbers_of(order.rows(step, rank, processes))) all.push_back(row);
      }
      ASSERT_EQ(static_cast<std::int64_t>(all.size()), order.count(step));
      EXPECT_LE(order.count(step), batch + RowOrder::kParts);
      EXPECT_GT(order.count(step), 0);
      EXPECT_EQ(all, numbers_of(alone.rows(step)));
      for (const std::int64_t row : all) ++taken[static_cast<std::size_t>(row)];
    }
    EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](int times) { return times == 1; }));
  }
}

TEST_P(Orders, DependOnTheSeedAndStepsCanBeTakenUp) {
  const auto [rows, batch, mixed] = GetParam();
  RowOrder one(rows, batch, 7, {}, mixed), other(rows, batch, 8, {}, mixed), later(rows, batch, 7, {}, mixed);
  const std::int64_t last = one.steps() - 1;
  EXPECT_NE(numbers_of(one.rows(last)), numbers_of(other.rows(last)));
  EXPECT_EQ(numbers_of(one.rows(last)), numbers_of(later.rows(last)));
  EXPECT_EQ(numbers_of(one.rows(0)), numbers_of(later.rows(0)));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Orders,
                         testing::Values(Sizes{100, 32, 1000}, Sizes{100'003, 512, 1000}, Sizes{5'000, 50, 1000},
                                         Sizes{9'999, 10'000, 1000}, Sizes{5'000, 3, 1000},
                                         Sizes{1'200'007, 4'096, 1000}));

// A step of many rows is spread over all of the table, and one process of eight stays within an eighth of it.
TEST(RowOrder, SpreadsStepsAndKeepsProcessesApart) {
  constexpr std::int64_t kRows = 400'000;
  RowOrder order(kRows, 512, 3, {}, 1000);
  double mean = 0.0;
  for (std::int64_t step = 0; step < order.steps(); step += 100) {
    const at::Tensor rows = order.rows(step).to(at::kDouble) / kRows;
    mean = rows.mean().item<double>();
    EXPECT_NEAR(mean, 0.5, 0.03);
    const at::Tensor fifth = order.rows(step, 5, 8).to(at::kDouble) / kRows;
    EXPECT_GE(fifth.min().item<double>(), 5.0 / 8.0 - 0.13);
    EXPECT_LE(fifth.max().item<double>(), 6.0 / 8.0 + 0.13);
  }
  // Neighbours of a batch are no neighbours of the table.
  const std::vector<std::int64_t> rows = numbers_of(order.rows(10, 0, 8));
  std::int64_t close = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) close += std::abs(rows[i] - rows[i - 1]) < 10;
  EXPECT_LT(close, 5);
}

// With many rows, those of a step were asked for before the first step that shares their window.
TEST(RowOrder, AsksForRowsBeforeItTakesThem) {
  constexpr std::int64_t kRows = 1'200'007;
  std::vector<int> asked(kRows);
  RowOrder order(kRows, 4096, 3, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) ++asked.at(static_cast<std::size_t>(i));
  });
  std::int64_t early = 0;
  for (std::int64_t step = 0; step < order.steps(); ++step) {
    const std::vector<int> before = asked;
    for (const std::int64_t row : numbers_of(order.rows(step))) {
      ASSERT_EQ(asked[static_cast<std::size_t>(row)], 1);
      early += before[static_cast<std::size_t>(row)];
    }
  }
  EXPECT_GT(early,
            kRows - 4096 * 8);  // all but those of the first step, and of steps that enter a window they take from
}

}  // namespace
}  // namespace ick
