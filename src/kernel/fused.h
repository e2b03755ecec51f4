#pragma once

#include <cstddef>
#include <vector>

#include "ick/kernel/declaration.h"

// The fast path: kernel values and derivatives in one pass over memory, in float64, four at a time, on one thread.
// Torch-free; addresses in, addresses out.
namespace ick {

// One kernel of a product, as the fast path needs it.
struct FusedFactor {
  int kernel = 0;  // place in KernelList
  Structure structure;
  int first_parameter = 0;  // in theta
  int first_input = 0;      // among the inputs of points and rows
};

// Inducing points, (points, inputs).
struct FusedPoints {
  const double* z = nullptr;
  int points = 0;  // p
  int inputs = 0;

  // Points of one kernel whose first input moves with a parameter: dz_i0 / dtheta[follows] = velocity[i].
  int follows = -1;
  const double* velocity = nullptr;  // (p)
};

// A block of rows, one line for each input: (inputs, width). The width is whole lanes; padding repeats a row.
struct FusedRows {
  const double* x = nullptr;
  int width = 0;
};

inline constexpr int kLaneWidth = 4;
constexpr int whole_lanes(int count) { return (count + kLaneWidth - 1) / kLaneWidth * kLaneWidth; }

// A product of kernels between points and rows.
class FusedProduct {
 public:
  explicit FusedProduct(std::vector<FusedFactor> factors);

  const std::vector<FusedFactor>& factors() const { return factors_; }

  // k (p, width) = k(z_i, x_j)
  void values(const double* theta, const FusedPoints& points, const FusedRows& rows, double* k) const;

  // Adds the gradient of sum_ij g_ij k(z_i, x_j) to d_theta and, when not null, to d_z (p, inputs).
  // g (p, width) must be zero in the padding.
  void gradient(const double* theta, const FusedPoints& points, const FusedRows& rows, const double* g, double* d_theta,
                double* d_z) const;

 private:
  std::vector<FusedFactor> factors_;
};

}  // namespace ick
