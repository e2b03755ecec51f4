#include "neighbour/index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ick/base/parallel.h"
#include "support/train_case.h"

namespace ick {
namespace {

// Rows of `size` coordinates that spread differently, as inputs over lengthscales do.
Coordinates coordinates(std::int64_t count, int size, std::uint64_t seed) {
  Coordinates points;
  points.size = size;
  points.at = normal_numbers(count * size, seed);
  for (std::size_t i = 0; i < points.at.size(); ++i) points.at[i] /= 1.0 + 0.2 * static_cast<double>(i % size);
  return points;
}

// All distances, sorted: equal ones in the order of their numbers.
std::vector<std::int64_t> by_definition(const Coordinates& points, const double* at, std::int64_t before,
                                        std::int64_t count) {
  std::vector<std::pair<double, std::int64_t>> all;
  for (std::int64_t i = 0; i < before; ++i) {
    double sum = 0.0;
    for (int d = 0; d < points.size; ++d) {
      const double apart = points.at[i * points.size + d] - at[d];
      sum += apart * apart;
    }
    all.emplace_back(sum, i);
  }
  std::partial_sort(all.begin(), all.begin() + count, all.end());
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(all[static_cast<std::size_t>(i)].second);
  return rows;
}

// Share of the true nearest rows among those found, over all queries; each query has found as many as it asked for.
double recall(const std::vector<std::vector<std::int64_t>>& found,
              const std::vector<std::vector<std::int64_t>>& truth) {
  double hits = 0.0, all = 0.0;
  for (std::size_t q = 0; q < found.size(); ++q) {
    EXPECT_EQ(found[q].size(), truth[q].size());
    for (const std::int64_t row : truth[q]) hits += std::count(found[q].begin(), found[q].end(), row) > 0 ? 1.0 : 0.0;
    all += static_cast<double>(truth[q].size());
  }
  return hits / all;
}

using Answers = std::vector<std::vector<std::int64_t>>;

// Above 12 coordinates and 50,000 rows the index is a graph, whose answers are nearly the nearest ones.
TEST(NeighbourIndex, OfManyCoordinatesFindsNearlyTheNearest) {
  constexpr std::int64_t kRows = 51'000, kQueries = 300, kCount = 30;
  constexpr int kSize = 14;
  const Coordinates points = coordinates(kRows, kSize, 1), queries = coordinates(kQueries, kSize, 2);
  const OrderedIndex index(points, kRows);
  const auto at = [&](std::int64_t q) { return queries.at.data() + q * kSize; };
  for (const std::int64_t before : {kRows, std::int64_t{40'000}}) {  // all rows, and some of them
    Answers truth;
    for (std::int64_t q = 0; q < kQueries; ++q) truth.push_back(by_definition(points, at(q), before, kCount));
    const int workers_before = workers();
    std::vector<Answers> answers;
    for (const int count : {1, 2}) {  // the same whoever asks
      set_workers(count);
      Answers& found = answers.emplace_back(kQueries);
      parallel(kQueries,
               [&](int q, int) { found[static_cast<std::size_t>(q)] = index.nearest(at(q), before, kCount); });
    }
    set_workers(workers_before);
    EXPECT_EQ(answers[0], answers[1]);
    EXPECT_GT(recall(answers[0], truth), 0.95);
    for (std::size_t q = 0; q < answers[0].size(); ++q) {
      EXPECT_LT(*std::max_element(answers[0][q].begin(), answers[0][q].end()), before);
      EXPECT_EQ(std::count(truth[q].begin(), truth[q].begin() + 5, answers[0][q][0]), 1) << q;  // nearest first
    }
  }
}

TEST(NeighbourIndex, OfFewCoordinatesFindsTheNearest) {
  constexpr std::int64_t kRows = 3000;
  for (const int size : {1, 3, 12, 14}) {
    const Coordinates points = coordinates(kRows, size, 1), queries = coordinates(20, size, 2);
    const NeighbourIndex index(points, kRows);
    for (std::int64_t q = 0; q < 20; ++q) {
      const double* const at = queries.at.data() + q * size;
      EXPECT_EQ(index.nearest(at, 25), by_definition(points, at, kRows, 25)) << size;
    }
  }
}

}  // namespace
}  // namespace ick
