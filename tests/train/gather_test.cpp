#include "train/gather.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/parallel.h"
#include "ick/train/fit.h"
#include "support/train_case.h"

namespace ick {
namespace {

// More rows than are fetched ahead, in no order, some of them twice.
TEST(GatherRows, AreThoseOfIndexSelect) {
  constexpr std::int64_t kRows = 101;
  const at::Tensor index = (at::arange(67, at::kLong) * 37 + 5).remainder(kRows);
  const auto table = [](at::IntArrayRef sizes, at::ScalarType type) {
    return (at::arange(at::empty(sizes).numel(), at::kDouble) * 0.7).sin().view(sizes).to(type);
  };
  const auto expect_same = [&](const at::Tensor& from, std::int64_t dimension, const at::Tensor& of) {
    EXPECT_TRUE(at::equal(gather_rows(from, of, dimension), from.index_select(dimension, of))) << from.sizes();
  };
  for (const at::Tensor& of :
       {index, index.narrow(0, 3, 1), index.narrow(0, 0, 0), index.view({-1}).slice(0, 0, 60, 2)}) {
    expect_same(table({kRows}, at::kDouble), 0, of);
    expect_same(table({kRows, 7}, at::kFloat), 0, of);
    expect_same(table({kRows, 0}, at::kDouble), 0, of);
    expect_same(table({1, kRows, 16}, at::kFloat), 1, of);
    expect_same(table({3, kRows, 5}, at::kFloat), 1, of);
    expect_same(table({4, kRows}, at::kFloat), 1, of);
    expect_same(table({7, kRows}, at::kFloat).t(), 0, of);  // not contiguous
  }
}

// The same rows of a dataset that holds them, whatever the number of workers.
TEST(EncodeRows, AreThoseThatAreHeld) {
  const Table table = generic_table(400);
  const FitPlan plan = plan_fit(table, parse_formula("y ~ mlp(a, b) * rbf(t, points=5) + mlp(c)"), {});
  const std::vector<bool> all(table.rows, true);
  const Dataset held = open_rows(table, plan.encoder, all), open = open_rows(table, plan.encoder, all, nullptr, 0.0);
  ASSERT_TRUE(held.held() && !open.held());
  const at::Tensor index = (at::arange(331, at::kLong) * 37 + 5).remainder(400);
  for (const int count : {1, 3, 16}) {
    set_workers(count);
    const Dataset made = encode_rows(open, index);
    EXPECT_TRUE(at::equal(made.x, held.x.index_select(0, index)));
    EXPECT_TRUE(at::equal(made.y, held.y.index_select(0, index)));
    ASSERT_EQ(made.networks.size(), 2u);
    for (std::size_t a = 0; a < 2; ++a) {
      EXPECT_TRUE(at::equal(made.networks[a], held.networks[a].index_select(0, index)));
    }
    ASSERT_EQ(made.size(), 331);
    EXPECT_EQ(made.rows[330], held.rows[static_cast<std::size_t>(index[330].item<std::int64_t>())]);
  }
  set_workers(1);
}

}  // namespace
}  // namespace ick
