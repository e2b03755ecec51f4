#include "ick/dataset/trees.h"

#include <algorithm>
#include <numeric>

#include "ick/base/seed.h"

namespace ick {

std::int64_t RandomTree::leaf(std::span<const float> row) const {
  std::int64_t node = 0;
  const std::int64_t inner = std::ssize(column);
  while (node < inner) node = 2 * node + (static_cast<double>(row[column[node]]) <= threshold[node] ? 1 : 2);
  return node - inner;
}

RandomTree grow_tree(std::span<const float> values, std::int64_t width, int depth, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t inner = (std::int64_t{1} << depth) - 1;
  RandomTree tree;
  std::vector<std::vector<std::int64_t>> rows(2 * inner + 1);
  rows[0].resize(values.size() / static_cast<std::size_t>(width));
  std::iota(rows[0].begin(), rows[0].end(), 0);
  for (std::int64_t node = 0; node < inner; ++node) {
    const std::int64_t column = random.below(width);
    const auto value = [&](std::int64_t row) { return static_cast<double>(values[row * width + column]); };
    double low = 0.0, high = 0.0;  // a node without rows splits anywhere
    for (std::size_t i = 0; i < rows[node].size(); ++i) {
      const double each = value(rows[node][i]);
      low = i == 0 ? each : std::min(low, each);
      high = i == 0 ? each : std::max(high, each);
    }
    const double threshold = low + random.uniform() * (high - low);
    tree.column.push_back(column);
    tree.threshold.push_back(threshold);
    for (const std::int64_t row : rows[node]) rows[2 * node + (value(row) <= threshold ? 1 : 2)].push_back(row);
    rows[node] = {};
  }
  return tree;
}

}  // namespace ick
