#pragma once

#include <cstdint>
#include <vector>

namespace ick {

// The cluster, from 0, of each point: Lloyd's algorithm from starts that are drawn far apart (k-means++, Arthur and
// Vassilvitskii 2007), the best of ten. `points` (n, d) row by row; at least `clusters` of them differ. Clusters are in
// the order of their centres' first coordinate.
std::vector<std::int64_t> kmeans(const std::vector<double>& points, std::size_t d, std::int64_t clusters,
                                 std::uint64_t seed);

}  // namespace ick
