#include "evaluate/kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr int kStarts = 10, kMostMoves = 300;

struct Clustering {
  std::vector<std::int64_t> cluster;                      // of each point
  std::vector<double> centres;                            // (k, d)
  double cost = std::numeric_limits<double>::infinity();  // sum of squared distances to the own centre
};

double squared_distance(const double* a, const double* b, std::size_t d) {
  double sum = 0.0;
  for (std::size_t i = 0; i < d; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// Each centre is a point drawn with a probability that grows with the squared distance to the nearest centre before.
std::vector<double> spread_centres(const std::vector<double>& points, std::size_t d, std::int64_t clusters,
                                   Random& random) {
  const std::size_t n = points.size() / d;
  std::vector<double> centres, nearest(n, std::numeric_limits<double>::infinity());
  auto drawn = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)));
  for (std::int64_t c = 0; c < clusters; ++c) {
    centres.insert(centres.end(), points.begin() + drawn * d, points.begin() + (drawn + 1) * d);
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      nearest[i] = std::min(nearest[i], squared_distance(&points[i * d], &points[drawn * d], d));
      total += nearest[i];
    }
    double left = random.uniform() * total;
    for (drawn = 0; drawn + 1 < n && (left -= nearest[drawn]) > 0.0; ++drawn) {
    }
    while (nearest[drawn] == 0.0 && drawn > 0) --drawn;  // rounding; a point that is a centre already is of no use
  }
  return centres;
}

// To the nearest centre, the first of several; true when one changed.
bool assign(const std::vector<double>& points, std::size_t d, Clustering& to) {
  bool changed = false;
  to.cost = 0.0;
  for (std::size_t i = 0; i < to.cluster.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    std::int64_t best = 0;
    for (std::size_t c = 0; c < to.centres.size() / d; ++c) {
      const double distance = squared_distance(&points[i * d], &to.centres[c * d], d);
      if (distance < least) least = distance, best = static_cast<std::int64_t>(c);
    }
    changed = changed || best != to.cluster[i];
    to.cluster[i] = best, to.cost += least;
  }
  return changed;
}

// To the mean of its points; one that has none stays.
void move_centres(const std::vector<double>& points, std::size_t d, Clustering& to) {
  const std::size_t k = to.centres.size() / d;
  std::vector<double> sums(k * d, 0.0), counts(k, 0.0);
  for (std::size_t i = 0; i < to.cluster.size(); ++i) {
    const auto c = static_cast<std::size_t>(to.cluster[i]);
    counts[c] += 1.0;
    for (std::size_t j = 0; j < d; ++j) sums[c * d + j] += points[i * d + j];
  }
  for (std::size_t c = 0; c < k; ++c) {
    for (std::size_t j = 0; j < d && counts[c] > 0.0; ++j) to.centres[c * d + j] = sums[c * d + j] / counts[c];
  }
}

}  // namespace

std::vector<std::int64_t> kmeans(const std::vector<double>& points, std::size_t d, std::int64_t clusters,
                                 std::uint64_t seed) {
  Clustering best;
  for (int start = 0; start < kStarts; ++start) {
    Random random(seed_for(seed, "kmeans#" + std::to_string(start)));
    Clustering tried;
    tried.cluster.assign(points.size() / d, -1);
    tried.centres = spread_centres(points, d, clusters, random);
    for (int step = 0; step < kMostMoves && assign(points, d, tried); ++step) move_centres(points, d, tried);
    if (tried.cost < best.cost) best = std::move(tried);
  }
  std::vector<std::size_t> order(static_cast<std::size_t>(clusters)), place(order.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return best.centres[a * d] < best.centres[b * d]; });
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (std::int64_t& each : best.cluster) {
    each = static_cast<std::int64_t>(place[static_cast<std::size_t>(each)]);
  }
  return best.cluster;
}

}  // namespace ick
