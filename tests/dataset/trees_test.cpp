#include "ick/dataset/trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ick/base/seed.h"
#include "ick/dataset/encoder.h"
#include "support/table_case.h"

namespace ick {
namespace {

std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.normal()));
  return values;
}

TEST(RandomTree, LeavesAreThoseOfAWalkFromTheRoot) {
  const std::vector<float> values = numbers(60 * 3, 2);
  const RandomTree tree = grow_tree(values, 3, 3, 9);
  ASSERT_EQ(tree.leaves(), 8);
  ASSERT_EQ(tree.threshold.size(), 7u);
  for (std::size_t r = 0; r < 60; ++r) {
    const std::span<const float> row(values.data() + 3 * r, 3);
    std::int64_t place = 0;  // bits of the turns taken: right is one
    std::size_t node = 0;
    for (int depth = 0; depth < 3; ++depth) {
      const bool right = static_cast<double>(row[tree.column[node]]) > tree.threshold[node];
      place = 2 * place + right;
      node = 2 * node + (right ? 2 : 1);
    }
    EXPECT_EQ(tree.leaf(row), place);
  }
}

TEST(RandomTree, SplitsLieWithinTheRowsThatReachThem) {
  const std::vector<float> values = numbers(500, 3);
  double lowest = 1e9, highest = -1e9;
  std::set<double> roots;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomTree tree = grow_tree(values, 1, 2, seed);
    roots.insert(tree.threshold[0]);
    lowest = std::min(lowest, tree.threshold[0]), highest = std::max(highest, tree.threshold[0]);
    EXPECT_LE(tree.threshold[1], tree.threshold[0]);  // the left child holds what is below
    EXPECT_GE(tree.threshold[2], tree.threshold[0]);
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_EQ(roots.size(), 200u);
  EXPECT_GE(lowest, *low);
  EXPECT_LE(highest, *high);
  // evenly drawn: 200 draws come within a twentieth of both ends
  EXPECT_LT(lowest, *low + 0.05 * (*high - *low));
  EXPECT_GT(highest, *high - 0.05 * (*high - *low));
}

TEST(Trees, ColumnsBecomeOneNumberForEachLeaf) {
  const Table table = mixed_table(80, 4);
  EncoderPlan plan;
  plan.target = "y";
  plan.networks = {{{"b"}, {{{"a", "b"}, {}, 5, 2}}}};
  plan.seed = 11;
  const Encoder encoder = fit_encoder(table, plan, std::vector<bool>(80, true));
  ASSERT_EQ(encoder.networks[0].width(), 1 + 5 * 4);
  const Dataset rows = encode(table, encoder, true);
  const at::Tensor leaves = rows.networks[0].narrow(1, 1, 20).view({80, 5, 4});
  EXPECT_TRUE(leaves.sum(2).eq(1.0).all().item<bool>());  // one leaf of each tree
  EXPECT_TRUE(leaves.eq(0.0).logical_or(leaves.eq(1.0)).all().item<bool>());
  EXPECT_GT(leaves.sum(0).gt(0.0).sum().item<std::int64_t>(), 12);  // most leaves are reached

  plan.seed = 12;
  const Dataset others = encode(table, fit_encoder(table, plan, std::vector<bool>(80, true)), true);
  EXPECT_FALSE(at::equal(rows.networks[0], others.networks[0]));
}

}  // namespace
}  // namespace ick
