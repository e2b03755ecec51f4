#include "neighbour/index.h"

#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <cmath>
#include <nanoflann.hpp>
#include <numeric>

#include "ick/base/seed.h"

namespace ick {

namespace {

// A tree of many coordinates looks at most of its leaves: above this, and of enough rows to be worth it, a graph. Its
// answers are nearly the nearest ones, which is all that is asked for.
constexpr int kMostTreeCoordinates = 12;
constexpr std::int64_t kFewRows = 50'000;
constexpr std::size_t kLooks = 200;       // candidates a graph keeps while it looks
constexpr std::int64_t kLeastRows = 256;  // below, halves of an order are not halved further

// The last row first: a tree looks among points at one place from its end, and those before a row are asked for.
struct Points {
  const double* at;
  int size;
  std::int64_t count;

  std::size_t row(std::size_t i) const { return static_cast<std::size_t>(count) - 1 - i; }
  std::size_t kdtree_get_point_count() const { return static_cast<std::size_t>(count); }
  double kdtree_get_pt(std::size_t i, std::size_t d) const { return at[row(i) * static_cast<std::size_t>(size) + d]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

// As many nearest points of those from `first` on, and no look at others that are just as near: of thousands of rows at
// one place a few are found at once, where nanoflann's own set would visit them all.
struct Nearest : nanoflann::KNNResultSet<double, std::uint32_t> {
  Nearest(std::size_t most, std::size_t first_point) : KNNResultSet(most), first(first_point) {}
  bool addPoint(double distance, std::uint32_t point) {
    return point < first || KNNResultSet::addPoint(distance, point);
  }
  double worstDist() const {
    const double worst = KNNResultSet::worstDist();
    return full() ? std::nextafter(worst, -1.0) : worst;
  }
  std::size_t first;
};

}  // namespace

struct NeighbourIndex::Tree {
  using Search =
      nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<double, Points>, Points, -1, std::uint32_t>;
  Points points;
  Search search;

  Tree(const Coordinates& all, std::int64_t count)
      : points{all.at.data(), all.size, count},
        search(all.size, points, nanoflann::KDTreeSingleIndexAdaptorParams(16)) {
    search.buildIndex();
  }
};

struct NeighbourIndex::Graph {
  hnswlib::L2Space space;
  hnswlib::HierarchicalNSW<float> search;
  int size;

  Graph(const Coordinates& all, std::int64_t count)
      : space(static_cast<std::size_t>(all.size)),
        search(&space, static_cast<std::size_t>(count), 24, 150, 100),
        size(all.size) {
    search.setEf(kLooks);
    std::vector<float> point(static_cast<std::size_t>(all.size));
    for (std::int64_t i = 0; i < count; ++i) {
      std::transform(all.at.data() + i * all.size, all.at.data() + (i + 1) * all.size, point.begin(),
                     [](double each) { return static_cast<float>(each); });
      search.addPoint(point.data(), static_cast<std::size_t>(i));
    }
  }
};

NeighbourIndex::NeighbourIndex(const Coordinates& points, std::int64_t count) : count_(count) {
  if (points.size > kMostTreeCoordinates && count > kFewRows) {
    graph_ = std::make_unique<Graph>(points, count);
  } else if (count > 0 && points.size > 0) {
    tree_ = std::make_unique<Tree>(points, count);
  }
}

NeighbourIndex::~NeighbourIndex() = default;
NeighbourIndex::NeighbourIndex(NeighbourIndex&&) noexcept = default;

std::vector<std::int64_t> NeighbourIndex::nearest(const double* at, std::int64_t count, std::int64_t before) const {
  before = std::min(before, count_);
  count = std::min(count, before);
  std::vector<std::pair<double, std::int64_t>> found;
  if (count <= 0) return {};
  if (graph_ != nullptr) {
    const std::vector<float> point(at, at + graph_->size);
    for (std::int64_t ask = before < count_ ? 2 * count + 8 : count;; ask *= 2) {
      auto queue = graph_->search.searchKnn(point.data(), static_cast<std::size_t>(std::min(ask, count_)));
      for (found.clear(); !queue.empty(); queue.pop()) {
        const auto row = static_cast<std::int64_t>(queue.top().second);
        if (row < before) found.emplace_back(queue.top().first, row);
      }
      if (std::ssize(found) >= count || ask >= count_) break;
    }
  } else if (tree_ != nullptr) {
    std::vector<std::uint32_t> points(static_cast<std::size_t>(count));
    std::vector<double> distances(static_cast<std::size_t>(count));
    Nearest nearest(points.size(), static_cast<std::size_t>(count_ - before));
    nearest.init(points.data(), distances.data());
    tree_->search.findNeighbors(nearest, at, nanoflann::SearchParams());
    for (std::size_t i = 0; i < nearest.size(); ++i) {
      found.emplace_back(distances[i], static_cast<std::int64_t>(tree_->points.row(points[i])));
    }
  } else {  // nothing to be near in
    for (std::int64_t i = 0; i < count; ++i) found.emplace_back(0.0, i);
  }
  std::sort(found.begin(), found.end());
  if (std::ssize(found) > count) found.resize(static_cast<std::size_t>(count));
  std::vector<std::int64_t> rows;
  for (const auto& [distance, row] : found) rows.push_back(row);
  return rows;
}

namespace {

// Places of all rows along Morton's curve, whose bits are in turn those of the coordinates that spread most.
std::vector<std::uint64_t> along_a_curve(const Coordinates& points, std::int64_t count) {
  constexpr std::size_t kMostCoordinates = 3;
  constexpr int kBits = 20;
  const auto size = static_cast<std::size_t>(points.size);
  std::vector<double> low(size, HUGE_VAL), range(size, 0.0);
  for (std::size_t d = 0; d < size; ++d) {
    double high = -HUGE_VAL;
    for (std::size_t i = d; i < static_cast<std::size_t>(count) * size; i += size) {
      low[d] = std::min(low[d], points.at[i]), high = std::max(high, points.at[i]);
    }
    range[d] = high - low[d];
  }
  std::vector<std::size_t> widest(size);
  std::iota(widest.begin(), widest.end(), std::size_t{0});
  std::stable_sort(widest.begin(), widest.end(), [&](std::size_t a, std::size_t b) { return range[a] > range[b]; });
  widest.resize(std::min(size, kMostCoordinates));
  // Cells are as wide in all of them: distances count alike.
  const double cells = std::ldexp(1.0, kBits) - 1.0, scale = range[widest[0]] > 0.0 ? cells / range[widest[0]] : 0.0;
  std::vector<std::uint64_t> places;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t place = 0;
    for (int bit = kBits - 1; bit >= 0; --bit) {
      for (const std::size_t d : widest) {
        const double at = scale * (points.at[static_cast<std::size_t>(i) * size + d] - low[d]);
        place = place << 1 | (static_cast<std::uint64_t>(std::min(std::max(0.0, at), cells)) >> bit & 1);
      }
    }
    places.push_back(place);
  }
  return places;
}

// Sorts the rows in [from, to) by their places.
template <class Iterator>
void sort_by(const std::vector<std::uint64_t>& places, Iterator from, Iterator to) {
  std::sort(from, to, [&](std::int64_t a, std::int64_t b) {
    return std::pair(places[static_cast<std::size_t>(a)], a) < std::pair(places[static_cast<std::size_t>(b)], b);
  });
}

}  // namespace

std::vector<std::int64_t> order_along_curve(const Coordinates& points, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (points.size > 0) sort_by(along_a_curve(points, count), order.begin(), order.end());
  return order;
}

std::vector<std::int64_t> order_in_halves(const Coordinates& points, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> order = shuffled(count, seed);
  if (points.size == 0 || count <= kLeastRows) return order;
  const std::vector<std::uint64_t> places = along_a_curve(points, count);
  for (std::int64_t end = count; end > kLeastRows; end = (end + 1) / 2) {
    sort_by(places, order.begin() + (end + 1) / 2, order.begin() + end);
  }
  return order;
}

OrderedIndex::OrderedIndex(const Coordinates& points, std::int64_t count) {
  for (std::int64_t size = count; size > 0; size = size > kLeastRows ? (size + 1) / 2 : 0) {
    halves_.emplace_back(points, size);
  }
}

std::vector<std::int64_t> OrderedIndex::nearest(const double* at, std::int64_t before, std::int64_t count) const {
  if (halves_.empty()) return {};
  std::size_t half = 0;  // the smallest that has all rows before
  while (half + 1 < halves_.size() && halves_[half + 1].size() >= before) ++half;
  return halves_[half].nearest(at, count, before);
}

}  // namespace ick
