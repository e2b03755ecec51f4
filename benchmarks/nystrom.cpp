// One training step's worth of a Nystrom map, forward and backward, one thread: the fused path against the same map
// composed of torch operations, in turns within one run. `ratio` is what counts; times depend on the machine.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "ick/feature/feature_map.h"
#include "machine_limits.h"
#include "timing.h"

namespace {

using ick::median;
using ick::seconds_of;

// The rival: the periodic Nystrom map as one would write it in PyTorch, kernel and Cholesky factor in float64.
struct Composed {
  at::Tensor variance = at::zeros({1}, at::kDouble).requires_grad_(true);  // logarithms
  at::Tensor lengthscale = at::zeros({1}, at::kDouble).requires_grad_(true);
  at::Tensor period;
  at::Tensor z;  // (p, 1)

  at::Tensor kernel(const at::Tensor& a, const at::Tensor& b) const {
    const at::Tensor wave = (std::numbers::pi * (a - b.t()) / period.exp()).sin();
    return variance.exp() * (-2.0 * wave * wave / (2.0 * lengthscale).exp()).exp();
  }
  at::Tensor operator()(const at::Tensor& x) const {
    const at::Tensor factor = at::linalg_cholesky(kernel(z, z) + 1e-8 * at::eye(z.size(0), at::kDouble));
    return at::linalg_solve_triangular(factor, kernel(z, x), /*upper=*/false).t().to(at::kFloat);
  }
};

void periodic_step(benchmark::State& state) {
  at::set_num_threads(1);
  at::manual_seed(1);
  const std::int64_t batch = state.range(0), p = state.range(1);
  const double period = 0.7;
  const at::Tensor x = at::rand({batch, 1}, at::kDouble);
  const ick::Kernel kernel(ick::make_kernel_sum(ick::parse_expression("periodic(t, period=0.7, lengthscale=1)")),
                           ick::summarise(x, {"t"}));
  ick::MapOptions options;
  options.features = p;
  const auto fused = make_feature_map(kernel, x, options);
  options.path = ick::Path::reference;
  const auto reference = make_feature_map(kernel, x, options);
  Composed composed;
  composed.period = at::full({1}, std::log(period), at::kDouble).requires_grad_(true);
  composed.z = (at::arange(p, at::kDouble) * (period / static_cast<double>(p))).unsqueeze(1);
  const at::Tensor upstream = at::randn({batch, p});

  // Twenty in a row, as training does: neither pays for the other's use of the cache.
  constexpr int kRow = 20;
  const auto step_of = [&](const auto& map, const at::Tensor& gradient) {
    for (int i = 0; i < kRow; ++i) torch::autograd::backward({map(x)}, {gradient});
  };
  const auto run_composed = [&] { step_of(composed, upstream); };
  const auto run_fused = [&] { step_of(*fused, upstream.unsqueeze(0)); };
  const auto run_reference = [&] { step_of(*reference, upstream.unsqueeze(0)); };
  run_composed(), run_fused(), run_reference();

  std::vector<double> composed_times, fused_times, reference_times;
  for (auto _ : state) {
    composed_times.push_back(seconds_of(run_composed) / kRow);
    reference_times.push_back(seconds_of(run_reference) / kRow);
    fused_times.push_back(seconds_of(run_fused) / kRow);
    state.SetIterationTime(fused_times.back());
  }
  const double time = median(fused_times);
  // Two triangular solves and one triangular update; value and derivative of each kernel entry.
  const double flops = 3.0 * static_cast<double>(batch * p * p) + 2.0 / 3.0 * std::pow(p, 3) * 4.0;
  const double exponentials = 2.0 * static_cast<double>((batch + p) * p);
  state.counters["fused_us"] = 1e6 * time;
  state.counters["composed_us"] = 1e6 * median(composed_times);
  state.counters["ratio"] = median(composed_times) / time;
  state.counters["reference_ratio"] = median(reference_times) / time;
  static const double sgemm = ick::gemm_limit(at::kFloat), dgemm = ick::gemm_limit(at::kDouble), exp = ick::exp_limit();
  state.counters["of_sgemm"] = flops / time / sgemm;
  state.counters["of_dgemm"] = flops / time / dgemm;
  state.counters["of_exp"] = exponentials / time / exp;
}

BENCHMARK(periodic_step)
    ->ArgNames({"batch", "p"})
    ->Args({50, 16})
    ->Args({1024, 64})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(40);

}  // namespace
