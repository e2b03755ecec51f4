#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/fit/fit.h"
#include "ick/inference/engine.h"
#include "inference/engines.h"
#include "inference/neighbour_process.h"
#include "support/model_case.h"
#include "support/train_case.h"

// A function as the sum of its terms.
namespace ick {
namespace {

// The Gaussian process of a sum of kernels and a constant: what is known of each of them, with C = K + 1 1' + noise:
//   mean_t = k_t(x, X) C^-1 y,   variance_t = k_t(x, x) - k_t(x, X) C^-1 k_t(X, x),   constant = 1' C^-1 y
FunctionParts exact_parts(const Model& model, const at::Tensor& x, const at::Tensor& y, const at::Tensor& noise,
                          const at::Tensor& at) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> cross, own;
  at::Tensor all = at::ones({x.size(0), x.size(0)}, at::kDouble) + noise.diag();
  for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
    const Kernel kernel = *model.parts_of(t).kernel;
    const double share = model.spec().share();
    all = all + share * kernel.matrix(x, x)[0];
    cross.push_back(share * kernel.matrix(at, x)[0]);
    own.push_back(share * kernel.matrix(at, at)[0].diagonal());
  }
  const at::Tensor inverse = at::linalg_inv(all), told = inverse.mv(y);
  FunctionParts parts;
  std::vector<at::Tensor> means, variances;
  for (std::size_t t = 0; t < cross.size(); ++t) {
    means.push_back(cross[t].mv(told));
    variances.push_back(own[t] - (cross[t].matmul(inverse) * cross[t]).sum(1));
  }
  return {at::stack(means), at::stack(variances), told.sum().expand({at.size(0)})};
}

void expect_near(const FunctionParts& found, const FunctionParts& expected, double tolerance) {
  EXPECT_LT((found.mean - expected.mean).abs().max().item<double>(), tolerance);
  EXPECT_LT((found.variance - expected.variance).abs().max().item<double>(), tolerance);
  EXPECT_LT((found.constant - expected.constant).abs().max().item<double>(), tolerance);
}

// Of as few rows as there are neighbours, with features of low rank, and with those that leave no covariance.
TEST(Parts, OfNeighboursAreThoseOfTheExactProcess) {
  constexpr std::int64_t kRows = 31;  // one more than a row has neighbours before it
  for (const char* formula :
       {"y ~ matern12(t, s, points=5) + linear(u)", "y ~ rbf(t, points=4) * periodic(s, period=1.3) + matern32(u)",
        "y ~ matern32(t, features=fourier) + rbf(s)"}) {
    SCOPED_TRACE(formula);
    const TrainCase on(generic_table(kRows), formula);
    const std::shared_ptr<Model> model = on.model(1);
    const at::Tensor noise = 0.05 + 0.05 * at::tensor(normal_numbers(kRows, 17), at::kDouble).square();
    const at::Tensor at = on.rows.x.narrow(0, 0, 9) + 0.21;
    const NeighbourProcess process(model, on.rows.x, on.rows.y, noise, 3);
    expect_near(process.parts(at), exact_parts(*model, on.rows.x, on.rows.y, noise, at), 1e-9);
  }
}

// Features of full rank carry their kernels.
TEST(Parts, OfFeaturesOfFullRankAreThoseOfTheExactProcess) {
  const TrainCase on(generic_table(40), "y ~ linear(t) + polynomial(s, degree=2)");
  const std::shared_ptr<Model> model = on.model(1);
  const auto posterior = solve_features(model, on.rows, 0.1);
  const at::Tensor noise = at::full({40}, 0.1, at::kDouble);
  expect_near(posterior->parts(batch_of(on.rows, 3, 20)),
              exact_parts(*model, on.rows.x, on.rows.y, noise, on.rows.x.narrow(0, 3, 20)), 1e-6);
}

// Whatever the engine: means and the constant are the function.
class PartsOfEngines : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PartsOfEngines, AddUp) {
  const auto& [formula, engine] = GetParam();
  const Table table = generic_table(80);
  FitOptions options;
  options.members = 4;
  options.epochs = 15;
  options.layers = {16};
  options.posterior = engine;
  if (std::string(engine) == "laplace") options.members = 1;
  const Fit fit = fit_model(table, parse_formula(formula), options);
  const Dataset rows = encode(table, fit.model.encoder, false);
  const FunctionParts parts = parts_at(*fit.model.posterior, rows);
  const FunctionMoments whole = moments_at(*fit.model.posterior, *fit.model.likelihood, rows);
  EXPECT_EQ(parts.mean.size(0), std::ssize(fit.model.spec().terms));
  EXPECT_LT((parts.mean.sum(0) + parts.constant - whole.mean).abs().max().item<double>(), 1e-5);  // float32
  EXPECT_GT(parts.mean.std(1).min().item<double>(), 1e-3);
  EXPECT_GE(parts.variance.min().item<double>(), 0.0);
  // in units: to rounding
  PredictOptions wanted;
  wanted.components = true;
  const Prediction p = fit.model.predict(table, wanted);
  ASSERT_EQ(p.components.mean.size(), fit.model.component_names().size());
  for (std::size_t i = 0; i < p.location.size(); ++i) {
    double sum = p.components.constant[i];
    for (const std::vector<double>& each : p.components.mean) sum += each[i];
    EXPECT_NEAR(sum, p.location[i], 1e-9 * (1.0 + std::abs(p.location[i]))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Engines, PartsOfEngines,
    testing::Values(std::pair{"y ~ mlp(u, s) * rbf(t) + periodic(t, period=2) + mlp(s)", "ensemble"},
                    std::pair{"y ~ mlp(u) * rbf(t) + linear(s)", "nngp"},
                    std::pair{"y ~ mlp(u) * rbf(t) + linear(s) + mlp(s)", "ntk"},
                    std::pair{"y ~ mlp(u) * rbf(t) + linear(s)", "laplace"},
                    std::pair{"y ~ rbf(t) + linear(s)", "exact"},
                    std::pair{"y ~ matern12(t) + matern12(s)", "neighbours"},
                    std::pair{"y ~ mlp(u, s) * rbf(t)", "ensemble"}, std::pair{"y ~ mlp(u, s) * rbf(t)", "laplace"}),
    [](const auto& each) { return std::string(each.param.second) + std::to_string(each.index); });

// Trees and an offset stand in one column before other terms; as parts each has its own.
TEST(Parts, OfTreesAndAnOffsetStandApart) {
  const Table table = generic_table(120);
  const Fit fit = fit_model(table, parse_formula("y ~ boost(a, b, rounds=20) + linear(t) + offset(u)"), {});
  const std::vector<ComponentName> names = fit.model.component_names();
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names[1].text, "boost(a, b, rounds=20)");
  EXPECT_EQ(names[2].text, "offset(u)");
  PredictOptions wanted;
  wanted.components = true;
  const Prediction p = fit.model.predict(table, wanted);
  const Numbers& u = table.column("u").values;
  for (std::size_t i = 0; i < u.size(); ++i) {
    EXPECT_NEAR(p.components.mean[2][i], u[i], 1e-9);
    const double sum = p.components.mean[0][i] + p.components.mean[1][i] + u[i] + p.components.constant[i];
    EXPECT_NEAR(sum, p.mean[i], 1e-9);
  }
}

}  // namespace
}  // namespace ick
