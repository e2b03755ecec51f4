#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

#include "baseline/sparse_training.h"
#include "ick/base/memory.h"
#include "ick/base/parallel.h"
#include "ick/base/seed.h"
#include "ick/formula/expression.h"
#include "ick/train/threads.h"
#include "timing.h"

// An epoch of the sparse variational process, 512 inducing points and batches of 1,024, against the same in PyTorch,
// rivals/svgp.py, in turns.
namespace {

constexpr std::int64_t kRows = 6 * ick::SparseTraining::kBatch, kColumns = 18;

// Seconds of an epoch by its precision, the better of one thread and two; empty without Debian's python3-torch.
std::map<std::string, double> rival_seconds() {
  const char* const stated = std::getenv("ICK_PYTHON");
  const std::string python = stated != nullptr ? stated : "/usr/bin/python3";
  std::map<std::string, double> best;
  for (const std::string threads : {"1", "2"}) {
    const std::string command = "OMP_NUM_THREADS=" + threads + " OPENBLAS_NUM_THREADS=" + threads + " " + python +
                                " " ICK_RIVALS "/svgp.py epoch " + std::to_string(kRows) + " " +
                                std::to_string(kColumns) + " 2>/dev/null";
    std::FILE* output = ::popen(command.c_str(), "r");
    if (output == nullptr) continue;
    std::string text;
    for (int byte; (byte = std::fgetc(output)) != EOF;) text += static_cast<char>(byte);
    ::pclose(output);
    for (const std::string precision : {"mixed", "double", "float"}) {
      const std::string name = "\"" + precision + "\": ";
      const std::size_t at = text.find(name);
      if (at == std::string::npos) continue;
      const double seconds = std::strtod(text.c_str() + at + name.size(), nullptr);
      const auto [known, added] = best.try_emplace(precision, seconds);
      known->second = std::min(known->second, seconds);
    }
  }
  return best;
}

at::Tensor normals(at::IntArrayRef sizes) {
  ick::Random random(7);
  at::Tensor all = at::empty(sizes, at::kDouble);
  for (std::int64_t i = 0; i < all.numel(); ++i) all.data_ptr<double>()[i] = random.normal();
  return all;
}

void epoch(benchmark::State& state) {
  ick::use_torch_threads(1);
  ick::set_workers(static_cast<int>(state.range(0)));
  ick::keep_large_buffers();  // as the program does
  std::vector<ick::InputSummary> inputs(kColumns);
  std::string columns;
  for (std::size_t d = 0; d < inputs.size(); ++d) {
    inputs[d].name = "x" + std::to_string(d), inputs[d].low = -2.0, inputs[d].high = 2.0;
    columns += (d > 0 ? ", " : "") + inputs[d].name;
  }
  const ick::Kernel kernel(ick::make_kernel_sum(ick::parse_expression("matern32(" + columns + ")")), inputs);
  const ick::ProcessKernel process(kernel, 1.0);
  const at::Tensor x = normals({kRows, kColumns}), ones = at::ones({kRows}, at::kDouble);
  ick::SparseTraining training(kernel.parameters(), process, x.narrow(0, 0, ick::SparseTraining::kPoints).contiguous(),
                               std::log(0.1), {x, normals({kRows}), {ones, at::zeros_like(ones)}}, {});
  const auto run = [&] {
    for (std::int64_t first = 0; first < kRows; first += ick::SparseTraining::kBatch) {
      training.batch(at::arange(first, first + ick::SparseTraining::kBatch, at::kLong));
    }
  };
  run();
  double best = std::numeric_limits<double>::infinity();
  std::map<std::string, double> rival;
  for (auto _ : state) {
    double own = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) own = std::min(own, ick::seconds_of(run));
    state.SetIterationTime(own);
    best = std::min(best, own);
    for (const auto& [precision, seconds] : rival_seconds()) {
      const auto [known, added] = rival.try_emplace(precision, seconds);
      known->second = std::min(known->second, seconds);
    }
  }
  state.counters["best_ms"] = 1e3 * best;
  if (rival.empty()) state.SetLabel("python3-torch is not installed: no comparison");
  for (const auto& [precision, seconds] : rival) {
    state.counters["rival_" + precision + "_ms"] = 1e3 * seconds;
    state.counters["ratio_" + precision] = seconds / best;
  }
}

BENCHMARK(epoch)->ArgName("threads")->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(2);

}  // namespace
