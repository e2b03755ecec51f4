#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "ick/kernel/kernel.h"

namespace ick {

// The covariance of a Gaussian process with its parameters, by the fast path, on all workers:
//   k(x, x') = share sum_t prod_f k_tf(x, x')
// It can be kept and read again without the formula that it came from. Points and rows are as the factors of all
// products see them, side by side: (n, inputs) in float64.
class ProcessKernel {
 public:
  // At the kernel's present parameters; its formulas are the library's own (fuses()).
  ProcessKernel(const Kernel& kernel, double share);
  // What text() and theta() kept; DataError when they make no sense.
  ProcessKernel(const std::string& text, std::vector<double> theta);

  std::string text() const;                                    // JSON: products, factors, columns, share
  const std::vector<double>& theta() const { return theta_; }  // natural parameters (P)
  void set_theta(std::vector<double> theta) { theta_ = std::move(theta); }
  std::int64_t columns() const { return columns_; }  // of x that it reads, at least
  std::int64_t width() const { return inputs_; }     // inputs

  at::Tensor inputs(const at::Tensor& x) const;  // (n, inputs) of x (n, D)
  // k(points, rows): (p, n) in float64 or float32
  at::Tensor values(const at::Tensor& points, const at::Tensor& rows, at::ScalarType type) const;
  at::Tensor diagonal(const at::Tensor& rows) const;  // k(x_i, x_i): (n)

  // Derivatives of sum_ij g_ij k(z_i, x_j), g (p, n), in the natural parameters (P) and in the points.
  struct Slopes {
    std::vector<double> theta;
    at::Tensor points;  // (p, inputs)
  };
  Slopes gradient(const at::Tensor& points, const at::Tensor& rows, const at::Tensor& g) const;
  // Of sum_i g_i k(x_i, x_i), g (n): in the parameters alone.
  std::vector<double> diagonal_gradient(const at::Tensor& rows, const at::Tensor& g) const;

 private:
  void prepare();

  std::vector<std::vector<Factor>> terms_;
  double share_;
  std::vector<double> theta_;
  std::int64_t columns_ = 0, inputs_ = 0;
};

}  // namespace ick
