#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/optim/sgd.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "fit/choices.h"
#include "ick/base/seed.h"
#include "ick/inference/draw.h"
#include "random_table.h"
#include "timing.h"
#include "train/trainer.h"

// Ensembles: draws of a posterior in closed form against gradient descent member by member, and the step of thirty
// members against that of one.
namespace {

using ick::median;
using ick::seconds_of;

struct Task {
  ick::ModelSpec spec;
  ick::Encoder encoder;
  ick::Dataset rows;

  Task(const ick::Table& table, const std::string& formula)
      : spec(ick::make_spec(ick::parse_formula(formula), table.names())) {
    encoder = ick::fit_encoder(table, ick::encoder_plan(spec, {}), std::vector<bool>(table.rows, true));
    rows = ick::encode(table, encoder, true);
    ick::choose_features(spec, rows.size());
  }
};

// One member as a script would train it, hidden units and kernel features computed once: the last layer (H, p) by
// gradient descent with momentum at its largest stable rate, until the residuals are twice the noise. It has to be plain
// descent: from its prior draw it ends at the nearest weights that explain the targets, which is what makes a member a
// draw of the posterior; Adam does not. Returns the steps it took.
int descend(const at::Tensor& hidden, const at::Tensor& z, const at::Tensor& y, double noise) {
  constexpr int kMost = 20000;
  const double size = 1.0 / std::sqrt(static_cast<double>(hidden.size(1)));
  at::Tensor weight = (size * at::randn({hidden.size(1), z.size(1)})).requires_grad_(true);
  const at::Tensor gram = hidden.matmul(hidden.t()).mul(z.matmul(z.t()));
  const double largest = at::linalg_eigvalsh(gram.to(at::kDouble)).max().item<double>();
  const double rate = static_cast<double>(y.size(0)) / (2.0 * largest);
  torch::optim::SGD optimiser({weight}, torch::optim::SGDOptions(rate).momentum(0.9));
  for (int step = 1; step <= kMost; ++step) {
    optimiser.zero_grad();
    const at::Tensor loss = (hidden.matmul(weight).mul(z).sum(1) - y).square().mean();
    loss.backward();
    optimiser.step();
    if (step % 10 == 0 && loss.item<double>() < 4.0 * noise * noise) return step;
  }
  return kMost;
}

// 300 members of the network of the paper's Figure 4: 20 rows, erf, 512 units, periodic kernel.
void figure4_members(benchmark::State& state) {
  constexpr std::int64_t kMembers = 300;
  constexpr double kNoise = 1e-3;
  at::set_num_threads(2);
  // two clusters of ten rows, the second the first moved on, as the figure has them
  ick::Table table = ick::random_table(20, 2);
  ick::Random random(4);
  std::vector<double> x1(20), x2(20), target(20);
  for (std::size_t i = 0; i < 20; ++i) {
    x1[i] = i < 10 ? -1.8 + 1.2 * random.uniform() : x1[i - 10] + 2.667;
    x2[i] = i < 10 ? -2.0 + 0.8 * random.uniform() : x2[i - 10] + 2.667;
    target[i] = x1[i] * std::sin(x2[i]) + kNoise * random.normal();
  }
  table.columns[0].values = x1;
  table.columns[1].values = x2;
  table.columns[2].values = target;
  const Task task(
      table, "y ~ mlp(x1, layers=512, activation=erf) * periodic(x2, period=6.283185, lengthscale=0.2, points=16)");
  ick::ModelOptions options;
  options.members = kMembers;
  const ick::Scales scales{1.0, kNoise * kNoise};

  options.members = 1;
  const ick::Model one(task.spec, task.encoder, task.rows, options);
  const auto layers = one.last_layers(ick::batch_of(task.rows, 0, 20), ick::LayerPrior::start);
  const at::Tensor hidden = (layers[0].left[0].narrow(1, 0, 512) * std::sqrt(512.0)).detach().contiguous();
  const at::Tensor z = layers[0].right[0].detach().contiguous(), y = task.rows.y.to(at::kFloat);
  options.members = kMembers;

  std::vector<double> descended, drawn;
  double steps = 0.0;
  for (auto _ : state) {
    descended.push_back(seconds_of([&] { steps = descend(hidden, z, y, kNoise); }));
    drawn.push_back(seconds_of([&] {
      ick::Model model(task.spec, task.encoder, task.rows, options);
      ick::draw_last_layers(model, task.rows, scales, 1);
    }));
    state.SetIterationTime(drawn.back());
  }
  state.counters["descent_ms_a_member"] = 1e3 * median(descended);
  state.counters["descent_steps"] = steps;
  state.counters["draws_ms_a_member"] = 1e3 * median(drawn) / static_cast<double>(kMembers);
  state.counters["ratio"] = static_cast<double>(kMembers) * median(descended) / median(drawn);
}

BENCHMARK(figure4_members)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

// A step of gradient descent of the network 13-128-32-32-16 times a periodic kernel with 16 points.
void members_step(benchmark::State& state) {
  at::set_num_threads(2);
  const std::int64_t members = state.range(0), batch = state.range(1);
  const Task task(ick::random_table(4 * batch, 14),
                  "y ~ mlp(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, layers=[128, 32, 32]) * "
                  "periodic(x14, period=2, points=16)");
  ick::FitOptions options;
  options.optimiser = ick::Optimiser::adamw;
  options.kernels = ick::KernelTraining::held;
  options.batch = batch, options.epochs = 1, options.learning_rate = 1e-3;
  const ick::FitHooks hooks;
  struct Side {
    ick::Model model;
    ick::Trainer trainer;
    Side(const Task& task, const ick::FitOptions& options, std::int64_t members, const ick::FitHooks& hooks)
        : model(task.spec, task.encoder, task.rows, {members, 0, {}}),
          trainer(model, ick::likelihood_objective(model, options), options, task.rows, nullptr, 1.0, hooks, "bench") {}
  };
  Side one(task, options, 1, hooks), all(task, options, members, hooks);
  const at::Tensor index = at::arange(batch, at::kLong);
  constexpr int kRow = 20;
  const auto steps = [&](Side& side) {
    for (int i = 0; i < kRow; ++i) side.trainer.step(side.trainer.batch_of(index));
  };
  steps(one), steps(all);
  std::vector<double> one_times, all_times;
  for (auto _ : state) {
    one_times.push_back(seconds_of([&] { steps(one); }) / kRow);
    all_times.push_back(seconds_of([&] { steps(all); }) / kRow);
    state.SetIterationTime(all_times.back());
  }
  state.counters["one_us"] = 1e6 * median(one_times);
  state.counters["all_us"] = 1e6 * median(all_times);
  state.counters["times_one"] = median(all_times) / median(one_times);
}

BENCHMARK(members_step)
    ->ArgNames({"members", "batch"})
    ->Args({30, 50})
    ->Args({30, 256})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20);

}  // namespace
