#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <functional>

// What this machine can do at best, measured once per run on one thread: the denominators of the fractions that
// benchmarks print.
namespace ick {

inline double best_rate(double amount, const std::function<void()>& work) {
  double best = 0.0;
  for (int i = 0; i < 30; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::max(best, amount / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

// FLOP/s of torch's matrix product
inline double gemm_limit(at::ScalarType type) {
  const at::Tensor a = at::randn({768, 768}, type), b = at::randn({768, 768}, type);
  at::Tensor c = at::empty_like(a);
  return best_rate(2.0 * 768 * 768 * 768, [&] { at::mm_out(c, a, b); });
}

// Exponentials of float64 a second, from the first-level cache.
double exp_limit();

}  // namespace ick
