#pragma once

#include "kernel/fused.h"

// Kernel values among the rows of small groups, kLaneWidth groups at once, one in each lane: what many small
// factorisations need. Torch-free, on one thread.
namespace ick {

// Rows of kLaneWidth groups, (inputs, rows, kLaneWidth). Pairs are those with j <= i: (0,0), (1,0), (1,1), (2,0), ...
struct FusedGroups {
  const double* x = nullptr;
  int rows = 0;

  constexpr int pairs() const { return rows * (rows + 1) / 2; }
};
constexpr int pair_of(int i, int j) { return i * (i + 1) / 2 + j; }  // j <= i

// k (pairs, kLaneWidth)
void group_values(const FusedProduct& product, const double* theta, const FusedGroups& groups, double* k);

// Adds the gradient of sum g k over pairs and lanes to d_theta.  g (pairs, kLaneWidth)
void group_gradient(const FusedProduct& product, const double* theta, const FusedGroups& groups, const double* g,
                    double* d_theta);

}  // namespace ick
