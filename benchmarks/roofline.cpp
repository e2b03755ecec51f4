#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "machine_limits.h"
#include "net/fused_mlp.h"
#include "train/fused_update.h"
#include "train/gather.h"

// What the hot kernels of a training step reach, against what one core of this machine can do: arithmetic against
// torch's sgemm of 768 x 768, memory against a copy-and-add of arrays larger than any cache.
namespace {

struct Limit {
  double value;
  const char* of;
};

Limit sgemm() {
  static const double value = ick::gemm_limit(at::kFloat);
  return {value, "sgemm"};
}
// Bytes a second of a <- b + 3 c, reads and writes.
Limit stream() {
  static const double value = [] {
    constexpr std::int64_t kCount = 16 << 20;
    const at::Tensor b = at::ones({kCount}), c = at::ones({kCount}), a = at::zeros({kCount});
    return ick::best_rate(12.0 * kCount, [&] { at::add_out(const_cast<at::Tensor&>(a), b, c, 3.0); });
  }();
  return {value, "stream"};
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed = 1) {
  ick::Random random(seed);
  std::vector<float> all(count);
  for (float& each : all) each = static_cast<float>(random.normal());
  return all;
}

ick::FloatColumns columns(int count) {
  const std::vector<float> all = numbers(static_cast<std::size_t>(count) * ick::kRowsApart);
  return {all.begin(), all.end()};
}

// `amount` is what one iteration does: operations or bytes.
void report(benchmark::State& state, double amount, Limit limit) {
  using benchmark::Counter;
  state.counters["G/s"] = Counter(1e-9 * amount, Counter::kIsIterationInvariantRate);
  state.counters["share"] = Counter(amount / limit.value, Counter::kIsIterationInvariantRate);
  state.counters["limit_G/s"] = 1e-9 * limit.value;
  state.SetLabel(std::string("of ") + limit.of);
}

// h W of one layer on a chunk of 256 rows.
void product(benchmark::State& state) {
  const auto in = static_cast<int>(state.range(0)), out = static_cast<int>(state.range(1));
  const int rows = ick::kChunkRows;
  const std::vector<float> w = numbers(in * out);
  const ick::FloatColumns h = columns(in);
  ick::FloatColumns to = ick::float_columns(out);
  for (auto _ : state) ick::fused_product(out, in, w.data(), 1, out, h.data(), rows, to.data());
  report(state, 2.0 * rows * in * out, sgemm());
}
BENCHMARK(product)
    ->ArgNames({"in", "out"})
    ->Args({13, 128})
    ->Args({128, 32})
    ->Args({32, 32})
    ->Args({50, 50})
    ->Args({32, 64});

// A whole network, forward and backward, on one chunk.
void network(benchmark::State& state, const std::vector<int>& widths, const char* activation) {
  const int rows = static_cast<int>(state.range(0));
  std::vector<std::vector<float>> values, gradients;
  std::vector<ick::FusedLayer> layers;
  std::vector<ick::FusedLayerGradient> to;
  double weights = 0.0;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const int in = widths[l], out = widths[l + 1];
    for (const int count : {in * out, out}) {
      values.push_back(numbers(count, values.size()));
      for (float& each : values.back()) each /= std::sqrt(static_cast<float>(in));
      gradients.emplace_back(count);
    }
    weights += (l > 0 ? 3.0 : 2.0) * in * out;  // the inputs of the first layer have no derivative
  }
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    layers.push_back({values[2 * l].data(), values[2 * l + 1].data(), widths[l], widths[l + 1]});
    to.push_back({gradients[2 * l].data(), gradients[2 * l + 1].data()});
  }
  ick::FusedMlp mlp(layers, activation, true);
  const ick::FloatColumns x = columns(widths[0]);
  for (auto _ : state) {
    mlp.load(layers);
    std::copy_n(mlp.forward(x.data(), rows), mlp.outputs() * ick::kRowsApart, mlp.d_outputs());
    mlp.backward(to);
  }
  report(state, 2.0 * weights * rows, sgemm());
}
BENCHMARK_CAPTURE(network, 13_128_32_32_16_relu, {13, 128, 32, 32, 16}, "relu")->Arg(50);
BENCHMARK_CAPTURE(network, 6_128_32_32_64_relu, {6, 128, 32, 32, 64}, "relu")->Arg(256);
BENCHMARK_CAPTURE(network, 6_50_50_16_relu, {6, 50, 50, 16}, "relu")->Arg(256);
BENCHMARK_CAPTURE(network, 6_50_50_16_gelu, {6, 50, 50, 16}, "gelu")->Arg(256);

// Reads gradient, value and both moments, writes three of them.
void adam(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const std::vector<float> gradient = numbers(count);
  std::vector<float> value = numbers(count), first(count), second(count);
  ick::AdamSettings settings;
  for (auto _ : state) {
    ++settings.step;
    ick::fused_adam(settings, count, gradient.data(), value.data(), first.data(), second.data());
  }
  report(state, 28.0 * static_cast<double>(count), stream());
}
BENCHMARK(adam)->ArgName("weights")->Arg(7'500)->Arg(2'000'000);

// Rows of a batch out of a table in memory, in random order.
void gather(benchmark::State& state) {
  constexpr std::int64_t kRows = 1'000'000, kColumns = 6;
  const std::int64_t batch = state.range(0);
  const at::Tensor rows = at::randn({kRows, kColumns}), index = at::randint(kRows, {batch}, at::kLong);
  for (auto _ : state) benchmark::DoNotOptimize(ick::gather_rows(rows, index, 0));
  report(state, 2.0 * 4.0 * static_cast<double>(kColumns * batch), stream());
}
BENCHMARK(gather)->ArgName("batch")->Arg(512);

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
