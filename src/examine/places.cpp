#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ick/base/seed.h"
#include "ick/examine/statistics.h"
#include "ick/kernel/table.h"

namespace ick {

namespace {

// Mean of the squared differences of the pairs of a variogram, bin by bin.
class VariogramBins {
 public:
  VariogramBins(std::int64_t bins, double most)
      : most_(most), distance_(static_cast<std::size_t>(bins), 0.0), square_(distance_), pairs_(distance_.size(), 0) {}

  void add(double distance, double difference) {
    if (!(distance < most_)) return;
    const auto b = static_cast<std::size_t>(distance / most_ * static_cast<double>(pairs_.size()));
    distance_[b] += distance, square_[b] += difference * difference, ++pairs_[b];
  }

  void take(Variogram& to) const {
    for (std::size_t b = 0; b < pairs_.size(); ++b) {
      if (pairs_[b] == 0) continue;
      const auto n = static_cast<double>(pairs_[b]);
      to.distance.push_back(distance_[b] / n), to.semivariance.push_back(0.5 * square_[b] / n);
      to.pairs.push_back(pairs_[b]);
    }
  }

 private:
  double most_;
  std::vector<double> distance_, square_;
  std::vector<std::int64_t> pairs_;
};

double moran_index(const std::vector<double>& v, const std::vector<std::vector<std::size_t>>& near) {
  double together = 0.0, square = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    double sum = 0.0;
    for (const std::size_t j : near[i]) sum += v[j];
    together += v[i] * sum / static_cast<double>(near[i].size());
    square += v[i] * v[i];
  }
  return square > 0.0 ? together / square : 0.0;
}

}  // namespace

double distance_between(const PlacedRows& rows, std::size_t i, std::size_t j) {
  if (!rows.sphere) return std::hypot(rows.north[i] - rows.north[j], rows.east[i] - rows.east[j]);
  double a[3], b[3];
  place_to_point(rows.north[i], rows.east[i], a), place_to_point(rows.north[j], rows.east[j], b);
  const double chord = std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  return 2.0 * kEarthRadius * std::asin(std::min(1.0, 0.5 * chord / kEarthRadius));
}

Variogram variogram_of(const PlacedRows& rows, std::int64_t bins, double most, std::int64_t most_pairs,
                       std::uint64_t seed) {
  Variogram found;
  const auto n = static_cast<std::int64_t>(rows.value.size());
  const double mean = std::accumulate(rows.value.begin(), rows.value.end(), 0.0) / static_cast<double>(n);
  for (const double each : rows.value) found.variance += (each - mean) * (each - mean) / static_cast<double>(n);
  // rows of one group side by side, so that pairs are drawn among them
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::int64_t, std::size_t> number;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const auto [place, is_new] = number.try_emplace(rows.group.empty() ? 0 : rows.group[row], groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(row);
  }
  double all = 0.0;
  for (const auto& group : groups) {
    const auto size = static_cast<double>(group.size());
    all += 0.5 * size * (size - 1.0);
  }
  VariogramBins sums(bins, most);
  const auto add = [&](std::size_t i, std::size_t j) {
    sums.add(distance_between(rows, i, j), rows.value[i] - rows.value[j]);
  };
  if (all <= static_cast<double>(most_pairs)) {
    for (const auto& group : groups) {
      for (std::size_t a = 0; a < group.size(); ++a) {
        for (std::size_t b = a + 1; b < group.size(); ++b) add(group[a], group[b]);
      }
    }
  } else {
    Random random(seed);
    for (const auto& group : groups) {
      const auto size = static_cast<double>(group.size());
      const auto pairs =
          static_cast<std::int64_t>(std::ceil(0.5 * size * (size - 1.0) / all * static_cast<double>(most_pairs)));
      for (std::int64_t k = 0; k < pairs; ++k) {
        const auto a = static_cast<std::size_t>(random.below(std::ssize(group)));
        const auto b = static_cast<std::size_t>(random.below(std::ssize(group)));
        if (a != b) add(group[a], group[b]);
      }
    }
  }
  sums.take(found);
  return found;
}

PlacedRows means_of_places(const PlacedRows& rows) {
  std::map<std::pair<double, double>, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < rows.value.size(); ++i) {
    auto& [sum, count] = sums[{rows.north[i], rows.east[i]}];
    sum += rows.value[i], count += 1.0;
  }
  PlacedRows means;
  means.sphere = rows.sphere;
  for (const auto& [place, sum] : sums) {
    means.north.push_back(place.first), means.east.push_back(place.second);
    means.value.push_back(sum.first / sum.second);
  }
  return means;
}

MoranTest moran_test(const PlacedRows& rows, std::int64_t nearest, std::int64_t deals, std::uint64_t seed) {
  MoranTest found;
  const std::size_t n = rows.value.size();
  found.places = static_cast<std::int64_t>(n);
  if (n < 3) return found;
  found.expected = -1.0 / static_cast<double>(n - 1);
  const std::size_t k = std::min<std::size_t>(static_cast<std::size_t>(nearest), n - 1);
  std::vector<std::vector<std::size_t>> near(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::pair<double, std::size_t>> others;
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) others.emplace_back(distance_between(rows, i, j), j);
    }
    std::nth_element(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(k - 1), others.end());
    for (std::size_t j = 0; j < k; ++j) near[i].push_back(others[j].second);
  }
  const double mean = std::accumulate(rows.value.begin(), rows.value.end(), 0.0) / static_cast<double>(n);
  std::vector<double> v;
  for (const double each : rows.value) v.push_back(each - mean);
  found.index = moran_index(v, near);
  Random random(seed);
  std::int64_t as_large = 1;
  for (std::int64_t deal = 0; deal < deals; ++deal) {
    for (std::size_t i = n - 1; i > 0; --i) {
      std::swap(v[i], v[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
    }
    as_large += moran_index(v, near) >= found.index;
  }
  found.p = static_cast<double>(as_large) / static_cast<double>(deals + 1);
  return found;
}

}  // namespace ick
