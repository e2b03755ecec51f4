#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "neighbour/metric.h"

// Nearest rows, by nanoflann's trees of few coordinates and hnswlib's graphs of many. Safe to ask from several threads;
// the answers do not depend on how many there are.
namespace ick {

class NeighbourIndex {
 public:
  // Of the first `count` rows of `points`, which must outlive it.
  NeighbourIndex(const Coordinates& points, std::int64_t count);
  ~NeighbourIndex();
  NeighbourIndex(NeighbourIndex&&) noexcept;
  NeighbourIndex& operator=(NeighbourIndex&&) = delete;

  std::int64_t size() const { return count_; }

  // Up to `count` rows nearest to `at` among rows 0 .. before - 1, nearest first; equal distances in the order of their
  // numbers.
  std::vector<std::int64_t> nearest(const double* at, std::int64_t count, std::int64_t before) const;
  std::vector<std::int64_t> nearest(const double* at, std::int64_t count) const { return nearest(at, count, count_); }

 private:
  struct Tree;
  struct Graph;
  std::int64_t count_;
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<Graph> graph_;  // where a tree would look at nearly all rows
};

// Nearest rows among those before a row, rows being in an order of no meaning (shuffled): Vecchia's neighbours.
class OrderedIndex {
 public:
  explicit OrderedIndex(const Coordinates& points, std::int64_t count);

  // Of rows 0 .. before - 1.
  std::vector<std::int64_t> nearest(const double* at, std::int64_t before, std::int64_t count) const;

 private:
  std::vector<NeighbourIndex> halves_;  // of the first n, n/2, n/4, ... rows
};

}  // namespace ick
