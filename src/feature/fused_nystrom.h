#pragma once

#include <cstdint>
#include <vector>

#include "kernel/fused.h"

// z = L^-1 k(Z, x), K(Z, Z) + jitter = L L^T, and its derivative, for one member, in float64 on one thread. Rows are
// taken in blocks that stay in the cache: kernel values, triangular solve and output touch memory once.
namespace ick {

// Jitter ladder, relative to the mean diagonal: 1e-8, 1e-7, ..., 1e-2.
inline constexpr int kJitterSteps = 7;
double jitter_of_step(int step);

// The mean diagonal counts as at least this, so that a kernel that is zero everywhere still factorises.
inline constexpr double kSmallestDiagonal = 1e-100;

// Rows in a block: with 64 points 126 KiB, within a second-level cache. Whole tiles of 12, and no power of two, or the
// lines of a block would all compete for the same few places of the first-level cache.
inline constexpr int kBlock = 252;

class FusedNystrom {
 public:
  // points: inducing points as the factors see them; theta: natural parameters. Both must outlive this.
  FusedNystrom(FusedProduct& product, const double* theta, const FusedPoints& points);

  // Factorises K(Z, Z); returns the step of the ladder it took, or -1 when the matrix is not finite or no step is
  // enough.
  int factorise();

  // One block of rows -> z (p, width).
  void features(const FusedRows& rows, double* z);

  // The way back, block by block. z = features(rows); g (p, width), zero in the padding, comes in as d/dz and is used
  // up. Adds to d_theta and, unless null, d_z (p, inputs).
  void backward(const FusedRows& rows, const double* z, double* g, double* d_theta, double* d_z);
  // After the last block: the part that goes through K(Z, Z). Then a new way back may begin.
  void backward_factor(double* d_theta, double* d_z);

 private:
  FusedProduct& product_;
  const double* theta_;
  FusedPoints points_;
  std::vector<double> lines_;       // (inputs, p in whole lanes): the points as rows
  std::vector<double> factor_;      // L
  std::vector<double> reciprocal_;  // 1 / L_ii
  std::vector<double> d_factor_;    // dL, lower triangle, summed over blocks
  int step_ = 0;
};

}  // namespace ick
