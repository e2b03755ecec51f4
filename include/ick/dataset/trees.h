#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ick {

// A binary tree of full depth whose splits know nothing of the target: at each node a number drawn at random, at a
// value drawn evenly between its least and its largest among the rows that come there (Geurts, Ernst and Wehenkel
// 2006, totally randomised). Node i has the children 2 i + 1 and 2 i + 2.
struct RandomTree {
  std::vector<std::int64_t> column;
  std::vector<double> threshold;

  std::int64_t leaves() const { return static_cast<std::int64_t>(column.size()) + 1; }
  std::int64_t leaf(std::span<const float> row) const;  // from 0
};

// `values` (n, width), row by row. depth >= 1.
RandomTree grow_tree(std::span<const float> values, std::int64_t width, int depth, std::uint64_t seed);

}  // namespace ick
