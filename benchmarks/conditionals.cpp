// Rows given 30 neighbours, one thread: the fused conditionals, four rows at once, against a plain loop with Eigen, row
// by row, in turns within one run. `ratio` is what counts; times depend on the machine.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <time.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "ick/formula/formula.h"
#include "ick/kernel/spec.h"
#include "neighbour/search.h"
#include "plain_conditional.h"
#include "timing.h"

namespace {

using namespace ick;

constexpr int kNeighbours = 30;
constexpr std::int64_t kRows = 20'000, kTargets = 400;

// Rows of a table, and some of them with their nearest others.
struct Task {
  at::Tensor x, y;
  std::vector<std::string> names;
  std::unique_ptr<NeighbourKernel> kernel;
  std::vector<double> inputs, theta, noise;
  std::vector<std::int64_t> groups;  // (targets, neighbours + 1), the row itself last
  std::vector<int> sizes;
  NeighbourRows rows;
  PlainRows plain;

  explicit Task(int columns) {
    Random random(3);
    x = at::empty({kRows, columns}, at::kDouble), y = at::empty({kRows}, at::kDouble);
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<double>()[i] = random.uniform();
    for (std::int64_t i = 0; i < kRows; ++i) y.data_ptr<double>()[i] = random.normal();
    std::string lengthscales, list;
    for (int d = 0; d < columns; ++d) {
      names.push_back("x" + std::to_string(d));
      list += names.back() + ", ";
      lengthscales += (d > 0 ? ", " : "") + std::to_string(0.2 + 0.05 * d);
    }
    const std::string formula = "matern32(" + list + "variance=1.3, lengthscale=[" + lengthscales + "])";
    kernel = std::make_unique<NeighbourKernel>(
        Kernel(make_kernel_sum(parse_expression(formula)), summarise(x, names, std::vector<int>(columns, 0))), 1.0);
    inputs = kernel->inputs_of(x), theta = kernel->theta();
    noise.assign(kRows, 0.1);
    rows = {inputs.data(), nullptr, noise.data(), kernel->inputs, 0};
    plain = {inputs.data(), y.data_ptr<double>(), 0.1, columns};
    const at::Tensor some = x.narrow(0, 0, kTargets);
    const NeighbourSearch search(*kernel, x, false);
    const NeighbourSearch::Found found =
        search(some, kNeighbours, {}, [](std::int64_t q, std::int64_t row) { return row != q; });
    for (std::int64_t i = 0; i < kTargets; ++i) {
      for (int j = 0; j < kNeighbours; ++j) groups.push_back(found.rows[i * kNeighbours + j]);
      groups.push_back(i);
      sizes.push_back(kNeighbours);
    }
  }

  void fused_values(std::vector<double>& c, std::vector<double>& variance) const {
    std::vector<Conditional> targets;
    for (std::int64_t i = 0; i < kTargets; ++i) {
      targets.push_back(
          {inputs.data() + i * kernel->inputs, nullptr, groups.data() + i * (kNeighbours + 1), kNeighbours});
    }
    kernel->conditionals(theta.data(), rows, targets.data(), kTargets, kNeighbours, c.data(), variance.data());
  }
  void plain_values(std::vector<double>& c, std::vector<double>& variance) const {
    for (std::int64_t i = 0; i < kTargets; ++i) {
      variance[i] = plain_conditional(plain, theta.data(), inputs.data() + i * kernel->inputs,
                                      groups.data() + i * (kNeighbours + 1), kNeighbours, c.data() + i * kNeighbours);
    }
  }
  double fused_costs(std::vector<double>& slope) const {
    const std::vector<double> ones(kRows, 1.0);
    const FusedConditionals::Sum sum = kernel->conditionals.cost(
        theta.data(), rows, ones.data(), plain.y, 1, groups.data(), sizes.data(), kTargets, kNeighbours, slope.data());
    slope.back() += sum.d_noise;
    return sum.cost;
  }
  double plain_costs(std::vector<double>& slope) const {
    double cost = 0.0;
    for (std::int64_t i = 0; i < kTargets; ++i) {
      cost += plain_cost(plain, theta.data(), i, groups.data() + i * (kNeighbours + 1), kNeighbours, slope.data(),
                         slope.back());
    }
    return cost;
  }
};

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-11 * (1.0 + std::abs(b[i])))) throw std::runtime_error("the two differ");
  }
}

// Of this thread, whatever else the machine is doing.
template <class Work>
double processor_seconds(const Work& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

template <class Fused, class Plain>
void race(benchmark::State& state, const Fused& fused, const Plain& plain) {
  std::vector<double> fused_times, plain_times;
  for (auto _ : state) {
    plain_times.push_back(processor_seconds(plain));
    fused_times.push_back(processor_seconds(fused));
    state.SetIterationTime(fused_times.back());
  }
  state.counters["fused_us"] = 1e6 * median(fused_times) / kTargets;
  state.counters["plain_us"] = 1e6 * median(plain_times) / kTargets;
  state.counters["ratio"] = median(plain_times) / median(fused_times);
}

void values(benchmark::State& state) {
  const Task task(static_cast<int>(state.range(0)));
  std::vector<double> c(kTargets * kNeighbours), variance(kTargets), plain_c = c, plain_variance = variance;
  task.fused_values(c, variance), task.plain_values(plain_c, plain_variance);
  check_close(c, plain_c), check_close(variance, plain_variance);
  race(
      state, [&] { task.fused_values(c, variance); }, [&] { task.plain_values(plain_c, plain_variance); });
}

void derivatives(benchmark::State& state) {
  const Task task(static_cast<int>(state.range(0)));
  std::vector<double> slope(task.theta.size() + 1), plain_slope = slope;
  check_close({task.fused_costs(slope)}, {task.plain_costs(plain_slope)});
  check_close(slope, plain_slope);
  race(
      state, [&] { task.fused_costs(slope); }, [&] { task.plain_costs(plain_slope); });
}

BENCHMARK(values)->ArgName("columns")->Arg(2)->Arg(8)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(30);
BENCHMARK(derivatives)
    ->ArgName("columns")
    ->Arg(2)
    ->Arg(8)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(30);

}  // namespace
