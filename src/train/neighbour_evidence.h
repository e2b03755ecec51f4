#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "neighbour/search.h"

namespace ick {

// The marginal likelihood of a Gaussian process from rows of the whole table, whatever their number (Vecchia 1988):
//   -log p(y) = sum_i -log p(y_i | y_N(i)),   N(i) the m most telling of the rows before i, in a random order
// A sum over rows can be estimated from some of them: as many conditionals as are drawn, with neighbours from all rows.
//
// Where rows share inputs of a factor (a place that has a series, a day that all places have), the nearest rows are those
// of the same place, and say nothing about other places. Conditionals given any rows are as true: in equal parts rows are
// conditioned on all rows, and for each such factor on rows that differ from them in it. Where new places are to be
// predicted, all are conditioned on rows at other places: what lasts at a place and is nowhere in the formula would
// otherwise be taken for its correlation in space.
class NeighbourEvidence {
 public:
  // x (n, D), y (n) or (n, M) for the mean over M columns, in float64. `weights`, `error` (n) or undefined: row i has
  // the noise (s^2 + error_i) / weights_i. `kernel` has one member and fuses. `apart`: columns of the places, where these
  // are to be new.
  NeighbourEvidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y,
                    const at::Tensor& weights, const at::Tensor& error, std::uint64_t seed,
                    const std::vector<std::int64_t>& apart = {});

  // Draws `count` rows (all, when there are fewer), each with its `most` neighbours at the kernel's present parameters.
  void draw(std::int64_t count, int most, std::uint64_t seed);

  // The mean cost of the rows drawn for the kernel's present parameters and log s^2 (), differentiable in both. The same
  // for any number of workers.
  at::Tensor operator()(const at::Tensor& log_noise) const;

 private:
  NeighbourKernel kernel_;
  at::Tensor x_;                // (n, D), shuffled
  std::vector<double> inputs_;  // (n, inputs)
  std::vector<double> y_;       // (n, M)
  int columns_;
  std::vector<double> slope_, known_;              // (n): the noise of a row is s^2 slope + known
  std::vector<std::int64_t> groups_;               // (count, most + 1): neighbours, the row itself last
  std::vector<int> sizes_;                         // (count) of neighbours
  std::vector<std::vector<std::int64_t>> shared_;  // for each such factor, (n): equal numbers for equal inputs
  bool all_differ_ = false;                        // no conditional is given rows with equal inputs
  int most_ = 0;
};

}  // namespace ick
