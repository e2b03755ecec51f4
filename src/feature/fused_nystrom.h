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

// Rows in a block: with 64 points 132 KiB, within a second-level cache. Whole tiles of 12, and no power of two, or the
// lines of a block would all compete for the same few places of the first-level cache.
inline constexpr int kNystromRows = 264;

class FusedNystrom {
 public:
  // points: inducing points as the factors see them; theta: natural parameters. Both must outlive this.
  FusedNystrom(const FusedProduct& product, const double* theta, const FusedPoints& points);

  // Factorises K(Z, Z); returns the step of the ladder it took, or -1 when the matrix is not finite or no step is
  // enough.
  int factorise();

  // One block of rows -> z (p, width). Blocks may be worked on by several threads at once, on the way back, too.
  void features(const FusedRows& rows, double* z) const;

  // What the way back adds up: over the rows of a block, then over blocks.
  struct Sums {
    std::vector<double> theta;   // d/dtheta
    std::vector<double> points;  // d/dz (p, inputs); empty when not wanted
    std::vector<double> factor;  // d/dL (p, p), lower triangle
    void operator+=(const Sums& other);
  };
  Sums nothing(std::size_t parameters, bool with_points) const;

  // z = features(rows); g (p, width), zero in the padding, comes in as d/dz and is used up.
  void backward(const FusedRows& rows, const double* z, double* g, Sums& sums) const;
  // After all blocks: the part that goes through K(Z, Z).
  void backward_factor(Sums& sums) const;

 private:
  const FusedProduct& product_;
  const double* theta_;
  FusedPoints points_;
  std::vector<double> lines_;       // (inputs, p in whole lanes): the points as rows
  std::vector<double> factor_;      // L
  std::vector<double> reciprocal_;  // 1 / L_ii
  int step_ = 0;
};

}  // namespace ick
