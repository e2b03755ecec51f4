#include "suggest/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace ick::detail {
namespace {

// Six ingredients of roles that do not multiply, so that formulas are sets.
Ingredients letters() {
  Ingredients from;
  from.target = "y";
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    from.all.push_back({Role::place, std::string("rbf(") + name + ")", name, "", 1});
  }
  return from;
}

// Of the set {a, c} a loss of 1 in each fold, and more for what is missing or too much; folds differ by a little.
std::vector<double> distance_to_ac(const Structure& structure) {
  const std::set<Term> has(structure.begin(), structure.end());
  const double missing = (has.contains({0}) ? 0.0 : 1.0) + (has.contains({2}) ? 0.0 : 0.5);
  const double much = static_cast<double>(has.size()) - (1.5 - missing > 1.0 ? 2.0 : 1.0);
  std::vector<double> losses;
  for (int k = 0; k < 5; ++k) losses.push_back(1.0 + missing + 0.01 * std::max(0.0, much) + 0.001 * k * missing);
  return losses;
}

TEST(SuggestSearch, FindsASetByItsLosses) {
  const Ingredients from = letters();
  const Folding folding{from, 5, 0.25};
  const std::vector<Trial> trials = search(folding, distance_to_ac, [] { return false; });
  ASSERT_TRUE(trials.front().structure.empty());
  const std::vector<Structure> list = shortlist(trials, folding);
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list[0], (Structure{{0}, {2}}));
  EXPECT_EQ(list[1], (Structure{{2}}));  // with a term less, each in turn
  EXPECT_EQ(list[2], (Structure{{0}}));
  EXPECT_EQ(choose_three(trials, folding).front(),
            static_cast<std::size_t>(std::find_if(trials.begin(), trials.end(),
                                                  [&](const Trial& each) { return each.structure == list[0]; }) -
                                     trials.begin()));
}

TEST(SuggestSearch, EndsWithTheTime) {
  const Ingredients from = letters();
  int scored = 0;
  const auto count = [&](const Structure& structure) {
    ++scored;
    return distance_to_ac(structure);
  };
  const std::vector<Trial> trials = search({from, 5, 0.25}, count, [&] { return scored >= 4; });
  EXPECT_EQ(trials.size(), 4u);
}

TEST(SuggestSearch, WhatCannotBeScoredIsNoCandidate) {
  const Ingredients from = letters();
  const Folding folding{from, 5, 0.25};
  const auto without_a = [](const Structure& structure) {
    const bool has_a = std::find(structure.begin(), structure.end(), Term{0}) != structure.end();
    return has_a ? std::vector<double>() : distance_to_ac(structure);
  };
  const std::vector<Trial> trials = search(folding, without_a, [] { return false; });
  for (const Structure& each : shortlist(trials, folding)) {
    EXPECT_EQ(std::count(each.begin(), each.end(), Term{0}), 0);
  }
}

Trial trial(Structure structure, std::vector<double> losses) { return {std::move(structure), std::move(losses), {}}; }

// Gains 0.2, 0.4, 0.2, 0.4: mean 0.3, s^2 = 0.04 / 3, error^2 = (1/4 + 1/3) s^2.
TEST(SuggestChoice, GainsAreMeansOfPairedDifferences) {
  const Estimate gain = gain_over(trial({}, {1.0, 2.0, 1.0, 2.0}), trial({}, {0.8, 1.6, 0.8, 1.6}), 1.0 / 3.0);
  EXPECT_NEAR(gain.mean, 0.3, 1e-12);
  EXPECT_NEAR(gain.error, std::sqrt((0.25 + 1.0 / 3.0) * 0.04 / 3.0), 1e-12);
}

TEST(SuggestChoice, FirstTheSimplestWithinAStandardErrorThenTheBest) {
  const Ingredients from = letters();
  const Folding folding{from, 4, 1.0 / 3.0};
  const std::vector<Trial> trials = {
      trial({}, {2.0, 2.1, 2.0, 2.1}),           trial({{0}}, {1.02, 0.99, 1.03, 1.00}),
      trial({{0}, {1}}, {1.01, 1.0, 1.0, 1.01}), trial({{0}, {1}, {2}}, {1.00, 1.00, 1.01, 0.99}),
      trial({{3}}, {1.5, 1.5, 1.5, 1.5}),        trial({{4}}, {0.1, 0.1})};
  EXPECT_EQ(choose_three(trials, folding), (std::vector<std::size_t>{1, 3, 2}));
}

TEST(SuggestChoice, NothingWhereTheMeanIsWithinAStandardError) {
  const Ingredients from = letters();
  const std::vector<Trial> trials = {trial({}, {1.0, 1.1, 1.0, 1.1}), trial({{0}}, {0.9, 1.15, 0.95, 1.1})};
  EXPECT_TRUE(choose_three(trials, {from, 4, 1.0 / 3.0}).empty());
}

}  // namespace
}  // namespace ick::detail
