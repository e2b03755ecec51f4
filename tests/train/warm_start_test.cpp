#include "train/warm_start.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/feature_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

std::vector<double> even_numbers(std::int64_t count, double low, double high, std::uint64_t seed) {
  Random random(seed_for(seed, "even numbers"));
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(low + (high - low) * random.uniform());
  return numbers;
}

// Columns t (even over `days`) and a (normal), and y drawn from the process with this kernel and noise of a tenth.
Table drawn_table(const std::string& kernel_text, std::int64_t rows, double days, std::uint64_t seed) {
  const std::vector<double> t = even_numbers(rows, 0.0, days, seed), a = normal_numbers(rows, seed + 1);
  const at::Tensor x = at::stack({at::tensor(t, at::kDouble), at::tensor(a, at::kDouble)}, 1);
  const at::Tensor k = kernel_on(kernel_text, x, {"t", "a"}).matrix(x, x)[0].detach();
  const at::Tensor factor = at::linalg_cholesky(k + 0.01 * at::eye(rows, at::kDouble));
  const at::Tensor y = factor.mv(at::tensor(normal_numbers(rows, seed + 2), at::kDouble));
  return make_table({{"t", t}, {"a", a}, {"y", {y.data_ptr<double>(), y.data_ptr<double>() + rows}}});
}

struct Found {
  double value = 0.0;  // of one kernel parameter
  double noise = 0.0;  // sd, in units of y
};

// What a warm start finds, which knows nothing of what the table was drawn from.
Found warm_start_on(const Table& table, const std::string& formula, const std::string& path) {
  TrainCase on(table, formula);
  find_frequencies(on.spec, on.rows, likelihood_named("gaussian"), 1, on.encoder);
  const auto model = on.model(2);
  const double log_noise = warm_start(*model, on.encoder, on.rows, likelihood_named("gaussian"), 1, {});
  const at::Tensor values = model->kernel().parameters().natural(path);
  EXPECT_TRUE(at::equal(values[0], values[1])) << "members must start alike";
  return {values[0].item<double>(), std::exp(0.5 * log_noise) * on.encoder.target_scaling.sd};
}

void expect_period(double period, std::int64_t rows, std::uint64_t seed) {
  SCOPED_TRACE("period " + std::to_string(period) + ", seed " + std::to_string(seed));
  const std::string truth = "periodic(t, lengthscale=1, period=" + std::to_string(period) + ")";
  const Found found =
      warm_start_on(drawn_table(truth, rows, 1096.0, seed), "y ~ periodic(t)", "term1.t.periodic.period");
  EXPECT_NEAR(found.value / period, 1.0, 0.02);
}

TEST(WarmStart, FindsAPeriod) {
  for (const double period : {13.3, 61.0, 365.2425}) expect_period(period, 150, 1);
}

// Two decades of periods, down to twice the median gap between rows, on three years sampled irregularly.
TEST(WarmStartSlow, FindsEveryPeriod) {
  for (const double period : {5.3, 11.0, 29.53, 61.0, 121.0, 182.6, 365.2425, 530.0}) {
    for (const std::uint64_t seed : {10, 20, 30}) expect_period(period, 400, seed);
  }
}

// The season's shape depends on a: what a network of a times a kernel of the season can learn.
void expect_period_of_a_hybrid(double period, std::int64_t rows, std::uint64_t seed) {
  SCOPED_TRACE("period " + std::to_string(period) + ", seed " + std::to_string(seed));
  const std::string truth =
      "periodic(t, lengthscale=1, period=" + std::to_string(period) + ") * rbf(a, lengthscale=1.5)";
  const Found found =
      warm_start_on(drawn_table(truth, rows, 1096.0, seed), "y ~ mlp(a) * periodic(t)", "term1.t.periodic.period");
  EXPECT_NEAR(found.value / period, 1.0, 0.02);
}

TEST(WarmStart, FindsThePeriodBehindANetwork) { expect_period_of_a_hybrid(29.53, 200, 3); }

TEST(WarmStartSlow, FindsEveryPeriodBehindANetwork) {
  for (const double period : {5.3, 12.7, 61.0, 365.2425}) {
    for (const std::uint64_t seed : {40, 50}) expect_period_of_a_hybrid(period, 400, seed);
  }
}

// nats_of_lines() of `y ~ mlp(a) * rbf(t)` on rows drawn from this kernel, and the lengthscale that the warm start finds.
std::pair<double, double> lines_on(const std::string& truth, std::int64_t rows) {
  TrainCase on(drawn_table(truth, rows, 100.0, 80), "y ~ mlp(a) * rbf(t)");
  const auto model = on.model();
  const Likelihood& likelihood = likelihood_named("gaussian");
  warm_start(*model, on.encoder, on.rows, likelihood, 1, {});
  return {nats_of_lines(*model, on.encoder, on.rows, likelihood, 1),
          model->kernel().parameters().natural("term1.t.rbf.lengthscale")[0].item<double>()};
}

// 200 rows are an exact process, 600 are asked given their neighbours.
TEST(WarmStart, KnowsLinesFromOtherSmoothFunctions) {
  for (const std::int64_t rows : {200, 600}) {
    SCOPED_TRACE(rows);
    const auto [line, of_line] = lines_on("polynomial(a, degree=1, offset=1) * rbf(t, lengthscale=3)", rows);
    EXPECT_GT(line, 10.0);
    EXPECT_NEAR(of_line / 3.0, 1.0, 0.3);
    const auto [curve, of_curve] = lines_on("rbf(a, lengthscale=1) * rbf(t, lengthscale=3)", rows);
    EXPECT_LT(curve, -10.0);
    EXPECT_NEAR(of_curve / 3.0, 1.0, 0.3);
  }
}

// The kernel starts with the variance of the target, whatever the stand-in makes of it: networks have one of their own.
TEST(WarmStart, GivesTheKernelTheVarianceThatLinesHad) {
  TrainCase on(drawn_table("polynomial(a, degree=1, offset=1) * rbf(t, lengthscale=3)", 200, 100.0, 80),
               "y ~ mlp(a) * rbf(t)");
  const auto model = on.model();
  warm_start(*model, on.encoder, on.rows, likelihood_named("gaussian"), 1, {});
  const double variance = model->prior_variance(on.rows.x).mean().item<double>();
  EXPECT_GT(variance, 0.7);
  EXPECT_LE(variance, 1.0 + 1e-9);
}

void expect_lengthscale(double lengthscale, std::int64_t rows, std::uint64_t seed) {
  SCOPED_TRACE("lengthscale " + std::to_string(lengthscale) + ", seed " + std::to_string(seed));
  const std::string truth = "rbf(t, lengthscale=" + std::to_string(lengthscale) + ")";
  const Found found = warm_start_on(drawn_table(truth, rows, 100.0, seed), "y ~ rbf(t)", "term1.t.rbf.lengthscale");
  EXPECT_LT(std::abs(std::log2(found.value / lengthscale)), 1.0) << found.value;
  EXPECT_NEAR(found.noise, 0.1, 0.03);
}

TEST(WarmStart, FindsALengthscale) {
  for (const double lengthscale : {1.3, 8.0, 35.0}) expect_lengthscale(lengthscale, 150, 7);
}

TEST(WarmStartSlow, FindsEveryLengthscale) {
  for (const double lengthscale : {0.7, 1.3, 2.5, 8.0, 20.0, 40.0}) {
    for (const std::uint64_t seed : {60, 70}) expect_lengthscale(lengthscale, 300, seed);
  }
}

// 157 weeks: a two-thousandth of the period is half a radian at the end.
TEST(WarmStart, MendsAPeriodThatIsNearlyRight) {
  const Table table = drawn_table("periodic(t, lengthscale=1, period=7.003)", 150, 1096.0, 5);
  EXPECT_NEAR(warm_start_on(table, "y ~ periodic(t, period=start(7))", "term1.t.periodic.period").value, 7.003, 1e-3);
}

TEST(WarmStart, LooksForFrequenciesOnlyWhereNoneIsStated) {
  const Table table = drawn_table("periodic(t, lengthscale=1, period=20)", 100, 1096.0, 9);
  const auto found = [&](const std::string& formula) {
    TrainCase on(table, formula);
    find_frequencies(on.spec, on.rows, likelihood_named("gaussian"), 1, on.encoder);
    return on.encoder.kernel_columns[0].summary.frequencies;
  };
  EXPECT_TRUE(found("y ~ periodic(t, period=21)").empty());
  ASSERT_FALSE(found("y ~ periodic(t, period=21) + periodic(t)").empty());
  EXPECT_EQ(found("y ~ periodic(t, period=21) + periodic(t)"), found("y ~ cosine(t)"));
}

TEST(WarmStart, LeavesFixedParametersAlone) {
  const Table table = drawn_table("periodic(t, lengthscale=1, period=20)", 100, 1096.0, 9);
  const std::string formula = "y ~ periodic(t, period=33, lengthscale=start(0.7))";
  EXPECT_DOUBLE_EQ(warm_start_on(table, formula, "term1.t.periodic.period").value, 33.0);
  EXPECT_NE(warm_start_on(table, formula, "term1.t.periodic.lengthscale").value, 0.7);
}

TEST(WarmStart, IsOverWhenToldSo) {
  const Table table = drawn_table("periodic(t, lengthscale=1, period=20)", 100, 1096.0, 9);
  const TrainCase on(table, "y ~ periodic(t)");
  const auto model = on.model();
  struct Stop {};
  int asked = 0;
  const auto keep_going = [&]() -> bool {
    if (++asked == 5) throw Stop{};
    return true;
  };
  EXPECT_THROW(warm_start(*model, on.encoder, on.rows, likelihood_named("gaussian"), 1, keep_going), Stop);
}

}  // namespace
}  // namespace ick
