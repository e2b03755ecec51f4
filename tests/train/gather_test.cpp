#include "train/gather.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace ick {
namespace {

TEST(GatherRows, OfOneRowWhoseStrideMeansNothing) {
  const at::Tensor one = at::arange(6, at::kFloat).as_strided({1, 3}, {6, 1}, 2);
  ASSERT_TRUE(one.is_contiguous());
  const at::Tensor index = at::zeros({2}, at::kLong);
  EXPECT_TRUE(at::equal(gather_rows(one, index, 0), one.index_select(0, index)));
}

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

}  // namespace
}  // namespace ick
