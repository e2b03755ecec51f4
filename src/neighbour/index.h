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

// All rows along Morton's curve through the coordinates that spread most: those next to each other are near.
std::vector<std::int64_t> order_along_curve(const Coordinates& points, std::int64_t count);

// All rows in an order for conditionals on rows before them. Chance says which rows make the first half, the first quarter
// and so on: rows of the half before lie all around a row. What a half adds follows Morton's curve through the
// coordinates, so that rows near each other are near in memory, and a row costs the same however many there are; of
// these, a row has those before it that the curve has passed.
std::vector<std::int64_t> order_in_halves(const Coordinates& points, std::int64_t count, std::uint64_t seed);

// Nearest rows among those before a row, rows being in the order above or one of no meaning: Vecchia's neighbours.
class OrderedIndex {
 public:
  explicit OrderedIndex(const Coordinates& points, std::int64_t count);

  // Of rows 0 .. before - 1.
  std::vector<std::int64_t> nearest(const double* at, std::int64_t before, std::int64_t count) const;

 private:
  std::vector<NeighbourIndex> halves_;  // of the first n, n/2, n/4, ... rows
};

}  // namespace ick
