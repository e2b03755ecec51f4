#pragma once

#include <ATen/ATen.h>

#include <numbers>

// Tensors as the numbers of a kernel formula. The wrapper keeps the formula's functions and ATen's apart.
namespace ick {

struct TensorNumber {
  at::Tensor t;  // broadcasts to (E, n, m)
};

inline TensorNumber operator+(const TensorNumber& a, const TensorNumber& b) { return {a.t + b.t}; }
inline TensorNumber operator-(const TensorNumber& a, const TensorNumber& b) { return {a.t - b.t}; }
inline TensorNumber operator*(const TensorNumber& a, const TensorNumber& b) { return {a.t * b.t}; }
inline TensorNumber operator+(double a, const TensorNumber& b) { return {b.t + a}; }
inline TensorNumber operator*(double a, const TensorNumber& b) { return {b.t * a}; }
inline TensorNumber operator*(const TensorNumber& a, double b) { return {a.t * b}; }
inline TensorNumber operator-(const TensorNumber& a) { return {-a.t}; }

inline TensorNumber square(const TensorNumber& a) { return {a.t * a.t}; }
inline TensorNumber inverse(const TensorNumber& a) { return {a.t.reciprocal()}; }
inline TensorNumber exp(const TensorNumber& a) { return {a.t.exp()}; }
inline TensorNumber log1p(const TensorNumber& a) { return {a.t.log1p()}; }
inline TensorNumber equal(const TensorNumber& a, const TensorNumber& b) { return {(a.t == b.t).to(a.t.dtype())}; }

// clamp_min has gradient zero where it holds, so that the gradient at distance zero is 0, not 0 * infinity. 1e-300 is
// far below any square that counts.
inline TensorNumber root(const TensorNumber& a) { return {a.t.clamp_min(1e-300).sqrt()}; }

inline TensorNumber sin_turns(const TensorNumber& a) {
  return {((a.t - a.t.detach().round()) * (2.0 * std::numbers::pi)).sin()};
}
inline TensorNumber cos_turns(const TensorNumber& a) {
  return {((a.t - a.t.detach().round()) * (2.0 * std::numbers::pi)).cos()};
}

}  // namespace ick
