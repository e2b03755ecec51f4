#include "table/groups.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ick/base/seed.h"

namespace ick {
namespace {

// Against a map from keys to rows; every third row is not in question.
TEST(Groups, AreThoseOfAMap) {
  Random random(8);
  constexpr std::size_t kRows = 500;
  std::vector<std::vector<double>> columns(3, std::vector<double>(kRows));
  for (std::vector<double>& column : columns) {
    for (double& value : column) value = static_cast<double>(random.below(6)) - 2.5;
  }
  const auto rows = [&](const auto& use) {
    for (std::size_t row = 0; row < kRows; ++row) {
      if (row % 3 != 0) use(row);
    }
  };
  std::map<std::vector<double>, std::set<std::size_t>> expected;
  rows([&](std::size_t row) { expected[{columns[0][row], columns[1][row], columns[2][row]}].insert(row); });

  detail::Groups groups(kRows);
  EXPECT_EQ(groups.count(), 1u);
  for (const std::vector<double>& column : columns) {
    groups.divide(rows, [&](std::size_t row) { return column[row]; });
  }
  ASSERT_EQ(groups.count(), expected.size());
  const std::vector<std::size_t> sizes = groups.sizes(rows);
  std::size_t group = 0;
  for (const auto& [keys, members] : expected) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(groups.key(group, c), keys[c]);
    EXPECT_EQ(sizes[group], members.size());
    for (const std::size_t row : members) EXPECT_EQ(groups.of(row), group);
    ++group;
  }
}

TEST(Groups, OfNoRows) {
  detail::Groups groups(0);
  groups.divide([](const auto&) {}, [](std::size_t) { return 1.0; });
  groups.divide([](const auto&) {}, [](std::size_t) { return 2.0; });
  EXPECT_EQ(groups.count(), 0u);
}

TEST(Grid, StepsFromTheLeastToTheGreatest) {
  const std::vector<double> values = {3.0, -1.0, 7.0, 6.99};
  const auto rows = [&](const auto& use) {
    for (std::size_t row = 0; row < values.size(); ++row) use(row);
  };
  const detail::Grid grid(4.0, rows, [&](std::size_t row) { return values[row]; });
  EXPECT_EQ(grid.step(-1.0), 0.0);
  EXPECT_EQ(grid.step(0.99), 0.0);
  EXPECT_EQ(grid.step(1.0), 1.0);
  EXPECT_EQ(grid.step(3.0), 2.0);
  EXPECT_EQ(grid.step(7.0), 3.0);  // the greatest belongs to the last
}

}  // namespace
}  // namespace ick
