#pragma once

#include <cstdint>

namespace ick {

// What a term of one member adds to a chunk of rows, in one pass over what networks and kernels gave:
//   sum += share sum_k f_k z_k
//   missed += share^2 max(0, k(x, x) - |z|^2) mean_k f_k^2     what z leaves out of the kernels' variance
struct FusedSums {
  const float* f = nullptr;          // (p, rows), as in net/float_rows.h
  const double* z = nullptr;         // z_k of row r at z[k * z_column + r]
  const double* variance = nullptr;  // k(x, x) of row r at variance[r * variance_step]
  std::int64_t z_column = 0, variance_step = 1;
  int features = 0;  // p
  double share = 1.0;

  void add(int rows, float* sum, double* missed) const;
};

}  // namespace ick
