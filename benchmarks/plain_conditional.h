#pragma once

#include <cstdint>
#include <vector>

// The rival of the fused conditionals: one row after the other, a kernel matrix by scalar loops, Eigen's Cholesky
// factor of it, solves.
namespace ick {

struct PlainRows {
  const double* x = nullptr;  // (n, D)
  const double* y = nullptr;  // (n)
  double noise = 0.0;         // s^2
  int columns = 0;            // D
};

// Matern-3/2, theta = variance and D lengthscales. Row i given the rows neighbours (m): c to weights (m); the variance
// that is left, of the function.
double plain_conditional(const PlainRows& rows, const double* theta, const double* own, const std::int64_t* neighbours,
                         int m, double* weights);

// -log p of observed row i given its neighbours, with its derivatives in theta added to d_theta (D + 1), and in s^2.
double plain_cost(const PlainRows& rows, const double* theta, std::int64_t i, const std::int64_t* neighbours, int m,
                  double* d_theta, double& d_noise);

}  // namespace ick
