#include "neighbour/index.h"

#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <cmath>
#include <nanoflann.hpp>
#include <numeric>

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
