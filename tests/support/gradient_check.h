#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ick {

struct GradientCheck {
  double error = 0.0;    // largest over elements of |autograd - difference| / max(|difference|, 1e-3 largest)
  double largest = 0.0;  // largest |difference|: a check of zeros against zeros shows here
};

// Compares autograd with fourth-order central differences,
//   f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / (12 h) + O(h^4),   h = 3e-4 max(1, |x|),
// whose truncation and rounding errors are both near 1e-12 for functions of size and scale one. An element's error is
// relative to itself, but to no less than a thousandth of the largest element: below that the difference is noise.
// f: float64 tensor of x's shape -> scalar tensor.
template <class F>
GradientCheck check_gradient(F f, const at::Tensor& x) {
  const at::Tensor leaf = x.detach().clone().contiguous().requires_grad_(true);
  const at::Tensor value = f(leaf);
  if (value.requires_grad()) value.backward();
  const at::Tensor gradient = leaf.grad().defined() ? leaf.grad().contiguous() : at::zeros_like(leaf);

  const at::NoGradGuard no_grad;
  const at::Tensor moved = x.detach().clone().contiguous();
  double* place = moved.data_ptr<double>();
  std::vector<double> differences;
  for (std::int64_t i = 0; i < moved.numel(); ++i) {
    const double centre = place[i], h = 3e-4 * std::max(1.0, std::abs(centre));
    const auto at_offset = [&](double steps) {
      place[i] = centre + steps * h;
      const double result = f(moved).template item<double>();
      place[i] = centre;
      return result;
    };
    differences.push_back((8.0 * (at_offset(1.0) - at_offset(-1.0)) - (at_offset(2.0) - at_offset(-2.0))) / (12.0 * h));
  }

  GradientCheck check;
  for (const double each : differences) check.largest = std::max(check.largest, std::abs(each));
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double miss = std::abs(gradient.data_ptr<double>()[i] - differences[i]);
    const double size = std::max(std::abs(differences[i]), 1e-3 * check.largest);
    check.error = std::max(check.error, miss == 0.0 ? 0.0 : size > 0.0 ? miss / size : HUGE_VAL);
    if (std::isnan(miss)) check.error = HUGE_VAL;
  }
  return check;
}

// Compares the gradient that backward() has left at a float64 parameter with differences of value(), which reads the
// parameter. Numbers that are not `free` (all are when it is undefined) stay where they are.
template <class F>
GradientCheck check_parameter(const at::Tensor& parameter, F value, const at::Tensor& free = {}) {
  const at::Tensor place = parameter.detach(), start = place.clone(), gradient = parameter.grad().clone();
  return check_gradient(
      [&](const at::Tensor& at) -> at::Tensor {
        if (at.requires_grad()) return (at * gradient).sum();  // a function with the gradient under test
        place.copy_(free.defined() ? at::where(free, at, start) : at);
        const at::Tensor result = value();
        place.copy_(start);
        return result;
      },
      start);
}

}  // namespace ick
