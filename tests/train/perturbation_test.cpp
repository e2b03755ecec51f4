#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/train_case.h"
#include "train/trainer.h"

namespace ick {
namespace {

constexpr std::int64_t kRows = 20;

// What members see of the rows, from the first step's gradient. A model of as many weights as rows, f = w z / 1 + bias,
// has in its weights the gradient z'g with g_i = 2 c_i (f_i - y_i) / n, c how often a row counts.
struct Seen {
  at::Tensor slopes;  // g n / 2: (E, n)
  at::Tensor f;       // (E, n)
  at::Tensor y;       // (n), unperturbed
};

Seen seen(Perturbation perturbation, std::int64_t members, std::uint64_t seed, double noise, double unit) {
  std::vector<double> t, y = normal_numbers(kRows, 3);
  for (std::int64_t i = 0; i < kRows; ++i) t.push_back(static_cast<double>(i));
  const TrainCase on(
      make_table({{"t", t}, {"y", y}}),
      "y ~ matern12(t, lengthscale=fixed(0.7), variance=fixed(1), points=20, placement=pivoted_cholesky)");
  const auto model = on.model(members);
  FitOptions options;
  options.optimiser = Optimiser::sgd;
  options.epochs = 1, options.batch = kRows, options.patience = 1, options.learning_rate = 1e-3;
  options.seed = seed;
  options.perturbation = perturbation;
  options.noise = noise;
  const Batch batch = batch_of(on.rows, 0, kRows);
  const at::Tensor f = (*model)(batch).detach().to(at::kDouble);
  const at::Tensor z = model->features_at(on.rows.x)[0].detach().to(at::kDouble);  // (E, n, p)
  EXPECT_EQ(z.size(2), kRows);
  const FitHooks hooks;
  Trainer trainer(*model, likelihood_objective(*model, options), options, on.rows, nullptr, unit, hooks, "train");
  trainer.run();
  const at::Tensor gradient = parameter_of(*model, "term1.weight").grad().to(at::kDouble);
  const at::Tensor g = at::linalg_solve(z.transpose(1, 2), gradient.unsqueeze(2)).squeeze(2);
  return {g * static_cast<double>(kRows) / 2.0, f, on.rows.y};
}

TEST(Perturbation, NoneIsNone) {
  const Seen found = seen(Perturbation::none, 3, 1, 0.0, 1.0);
  EXPECT_LT((found.slopes - (found.f - found.y)).abs().max().item<double>(), 1e-4);
}

// Rows drawn with replacement: counts that sum to n, each binomial with mean one and variance 1 - 1 / n.
TEST(Perturbation, BootstrapCountsRows) {
  constexpr std::int64_t kMembers = 400;
  const Seen found = seen(Perturbation::bootstrap, kMembers, 1, 0.0, 1.0);
  const at::Tensor counts = found.slopes / (found.f - found.y);
  const at::Tensor usable = (found.f - found.y).abs() > 0.05;  // elsewhere the quotient is rounding
  const at::Tensor whole = at::where(usable, counts.round(), at::zeros_like(counts));
  EXPECT_LT(((counts - whole) * usable).abs().max().item<double>(), 0.05);
  EXPECT_GE(whole.min().item<double>(), 0.0);
  std::int64_t complete = 0;
  for (std::int64_t e = 0; e < kMembers; ++e) {
    if (!usable[e].all().item<bool>()) continue;
    ++complete;
    EXPECT_EQ(whole[e].sum().item<double>(), static_cast<double>(kRows)) << e;
  }
  EXPECT_GT(complete, 100);
  const at::Tensor drawn = counts.masked_select(usable).round();
  const auto count = static_cast<double>(drawn.numel());
  EXPECT_NEAR(drawn.mean().item<double>(), 1.0, 5.0 / std::sqrt(count));
  // the fourth central moment of a Poisson variable of mean one is 4: its variance has a standard error sqrt(3 / count)
  EXPECT_NEAR(drawn.var().item<double>(), 1.0 - 1.0 / static_cast<double>(kRows), 5.0 * std::sqrt(3.0 / count));
}

// Targets plus noise of the sd stated, in the target's units, drawn once for each member and row.
TEST(Perturbation, NoiseMovesTargets) {
  constexpr std::int64_t kMembers = 400;
  const double noise = 0.6, unit = 2.5;
  const Seen found = seen(Perturbation::noise, kMembers, 1, noise, unit);
  const at::Tensor added = (found.f - found.slopes - found.y) * (unit / noise);  // N(0, 1): (E, n)
  const auto count = static_cast<double>(added.numel());
  EXPECT_NEAR(added.mean().item<double>(), 0.0, 5.0 / std::sqrt(count));
  EXPECT_NEAR(added.square().mean().item<double>(), 1.0, 5.0 * std::sqrt(2.0 / count));
  const double neighbours = (added[0] * added[1]).mean().item<double>();
  EXPECT_NEAR(neighbours, 0.0, 5.0 / std::sqrt(static_cast<double>(kRows)));
}

TEST(Perturbation, IsAMembersOwnWhateverTheirNumber) {
  for (const Perturbation each : {Perturbation::bootstrap, Perturbation::noise}) {
    const Seen few = seen(each, 2, 1, 0.5, 1.0), many = seen(each, 9, 1, 0.5, 1.0), other = seen(each, 2, 2, 0.5, 1.0);
    EXPECT_TRUE(at::allclose(few.slopes, many.slopes.narrow(0, 0, 2), 1e-4, 1e-4));
    EXPECT_FALSE(at::allclose(many.slopes[0], many.slopes[1], 1e-2, 1e-2));
    EXPECT_TRUE(few.f.equal(other.f));
    EXPECT_FALSE(at::allclose(few.slopes, other.slopes, 1e-2, 1e-2));
  }
}

}  // namespace
}  // namespace ick
