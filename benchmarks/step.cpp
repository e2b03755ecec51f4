#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fit/choices.h"
#include "ick/base/memory.h"
#include "ick/base/parallel.h"
#include "random_table.h"
#include "timing.h"
#include "train/trainer.h"

// One training step (Adam, squared error, a network times a periodic Nystrom map whose parameters are learned) against
// the same step in PyTorch, rivals/step.py.
namespace {

struct Work {
  const char* name;  // as the rival knows it
  std::int64_t members, batch;
  int columns;  // that the network reads; none: images of 3 x 64 x 64
  const char* network;
  int points;  // p
};

constexpr Work kWorks[] = {
    {"small", 1, 50, 13, "mlp(., layers=[128, 32, 32], activation=relu)", 16},
    {"wide", 1, 1024, 6, "mlp(., layers=[128, 32, 32], activation=relu)", 64},
    {"members", 10, 512, 6, "mlp(., layers=[50, 50], activation=relu)", 16},
    {"cnn", 1, 32, 0, "cnn(image)", 16},
};

// Microseconds of its fastest way or, by the key "apart", of members one after the other, the better of one and two
// threads; none without Debian's python3-torch.
std::optional<double> rival_us(const std::string& work, const std::string& key = "us") {
  const char* const stated = std::getenv("ICK_PYTHON");
  const std::string python = stated != nullptr ? stated : "/usr/bin/python3";
  std::optional<double> best;
  for (const std::string threads : {"1", "2"}) {
    const std::string command = "OMP_NUM_THREADS=" + threads + " OPENBLAS_NUM_THREADS=" + threads + " " + python +
                                " " ICK_RIVALS "/step.py " + work + " 2>/dev/null";
    std::FILE* output = ::popen(command.c_str(), "r");
    if (output == nullptr) continue;
    std::string text;
    for (int byte; (byte = std::fgetc(output)) != EOF;) text += static_cast<char>(byte);
    ::pclose(output);
    const std::string name = "\"" + key + "\": ";
    const std::size_t at = text.find(name);
    if (at == std::string::npos) continue;
    const double us = std::strtod(text.c_str() + at + name.size(), nullptr);
    best = std::min(us, best.value_or(us));
  }
  return best;
}

struct Task {
  ick::ModelSpec spec;
  ick::Encoder encoder;
  ick::Dataset rows;

  explicit Task(const Work& work) {
    ick::Table table = ick::random_table(4 * work.batch, work.columns, {"t", "y"});
    const std::string kernel = "periodic(t, period=1, points=" + std::to_string(work.points) + ")";
    const std::string formula = std::string("y ~ ") + work.network + " * " + kernel;
    const std::vector<bool> all(table.rows, true);
    if (work.columns > 0) {
      spec = ick::make_spec(ick::parse_formula(formula), table.names());
      encoder = ick::fit_encoder(table, ick::encoder_plan(spec, {}), all);
      rows = ick::encode(table, encoder, true);
      return;
    }
    // Pixels at hand as tensors: no files, no decoding.
    encoder = ick::fit_encoder(
        table, ick::encoder_plan(ick::make_spec(ick::parse_formula("y ~ " + kernel), table.names()), {}), all);
    rows = ick::encode(table, encoder, true);
    const ick::ImageShape shape{3, 64, 64};
    encoder.networks.emplace_back().image.emplace().shape = shape;
    rows.networks = {at::randn({table.rows, shape.numbers()})};
    std::vector<std::string> names = table.names();
    names.emplace_back("image");
    spec = ick::make_spec(ick::parse_formula(formula), names);
  }
};

void step(benchmark::State& state) {
  const Work& work = kWorks[state.range(0)];
  const int threads = static_cast<int>(state.range(1));
  at::set_num_threads(threads);
  ick::set_workers(threads);
  ick::keep_large_buffers();  // as the program does
  const Task task(work);
  ick::Model model(task.spec, task.encoder, task.rows, {work.members, 1, false, 0, {}});
  ick::FitOptions options;
  options.optimiser = ick::Optimiser::adam;
  options.kernels = ick::KernelTraining::learned;
  options.weight_decay = 0.0;
  options.batch = work.batch, options.epochs = 1, options.learning_rate = 1e-3;
  const ick::FitHooks hooks;
  ick::Trainer trainer(model, ick::likelihood_objective(model, options), options, task.rows, nullptr, 1.0, hooks,
                       "bench");
  const ick::Batch batch = trainer.batch_of(at::arange(work.batch, at::kLong));

  std::optional<double> rival = rival_us(work.name);
  const double first = ick::seconds_of([&] {
    for (int i = 0; i < 3; ++i) trainer.step(batch);
  });
  const int steps = std::max(1, static_cast<int>(0.3 * 3.0 / first));
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const double seconds = ick::seconds_of([&] {
                             for (int i = 0; i < steps; ++i) trainer.step(batch);
                           }) /
                           steps;
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
  }
  state.SetLabel(work.name);
  state.counters["best_us"] = 1e6 * best;
  if (!rival) {
    state.SetLabel(std::string(work.name) + ": python3-torch is not installed: no comparison");
    return;
  }
  rival = std::min(*rival, rival_us(work.name).value_or(*rival));
  state.counters["rival_us"] = *rival;
  state.counters["ratio"] = *rival / (1e6 * best);
  if (work.members > 1) state.counters["ratio_apart"] = *rival_us(work.name, "apart") / (1e6 * best);
}

BENCHMARK(step)
    ->ArgNames({"work", "threads"})
    ->ArgsProduct({{0, 1, 2, 3}, {1, 2}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(10);

}  // namespace
