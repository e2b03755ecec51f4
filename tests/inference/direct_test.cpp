#include "ick/inference/direct.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <numbers>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/predict/exact_process.h"
#include "inference/bilinear.h"
#include "support/feature_case.h"
#include "support/model_case.h"
#include "support/network_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

at::Tensor eye(std::int64_t n) { return at::eye(n, at::kDouble); }

// K** - K*x (Kxx + s^2)^-1 Kx*, by a general solver.
at::Tensor dense_variance(const at::Tensor& prior, const at::Tensor& cross, const at::Tensor& inside, double noise) {
  const at::Tensor solved = at::linalg_solve(inside + noise * eye(inside.size(0)), cross.t());  // (n, m)
  return prior - (cross * solved.t()).sum(1);
}

// k* (K + s^2 I)^-1 y and k** - k* (K + s^2 I)^-1 k*, with K = Phi Phi'.
TEST(LinearPosterior, IsTheGaussianProcessOfItsFeatures) {
  const TrainCase on(generic_table(30), "y ~ rbf(t, points=6) + periodic(s, period=2, points=5) * matern32(u)");
  const auto model = on.model();
  scatter_parameters(model->kernel(), 5, 1.1);
  const double variance = 0.07;
  const at::Tensor x = on.rows.x.narrow(0, 0, 20), y = on.rows.y.narrow(0, 0, 20), other = on.rows.x.narrow(0, 20, 10);
  const LinearPosterior posterior = linear_posterior(*model, on.rows.select(at::arange(20, at::kLong)), variance);
  const at::Tensor phi = model->linear_features(x)[0].detach(), there = model->linear_features(other)[0].detach();
  const at::Tensor inverse = at::linalg_inv(phi.matmul(phi.t()) + variance * eye(20));
  const at::Tensor cross = there.matmul(phi.t());
  const at::Tensor mean = cross.matmul(inverse).mv(y);
  const at::Tensor spread = (there.square().sum(1) - (cross.matmul(inverse) * cross).sum(1));
  EXPECT_TRUE(at::allclose(there.mv(posterior.mean), mean, 1e-9, 1e-10));
  const at::Tensor solved = at::linalg_solve(posterior.factor, there.t());
  EXPECT_TRUE(at::allclose(solved.square().sum(0), spread, 1e-8, 1e-10));
  EXPECT_GT(spread.min().item<double>(), 0.0);
  EXPECT_GT(mean.abs().max().item<double>(), 0.1);

  // The model with these weights is that mean, in float32.
  model->set_linear_weights(posterior.mean.unsqueeze(0));
  const at::Tensor f = (*model)(batch_of(on.rows, 20, 10))[0].detach().to(at::kDouble);
  EXPECT_TRUE(at::allclose(f, mean, 1e-4, 1e-4));
}

// The paper's Figure 5 by numbers: 100 rows of y = exp(-x) sin(2 pi x) + e, e ~ N(0, 0.5), and as many points.
Table figure5_table(std::int64_t rows, bool drawn, std::uint64_t seed) {
  Random random(seed_for(seed, "figure 5"));
  std::vector<double> x, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double share = drawn ? random.uniform() : static_cast<double>(i) / static_cast<double>(rows - 1);
    x.push_back(-3.0 + 6.0 * share);
    y.push_back(std::exp(-x.back()) * std::sin(2.0 * std::numbers::pi * x.back()) + std::sqrt(0.5) * random.normal());
  }
  return table_of({column_of("x", x), column_of("y", y)});
}

TEST(LinearPosterior, WithManyPointsIsTheExactProcess) {
  const Table training = figure5_table(100, true, 1), grid = figure5_table(121, false, 2);
  FitOptions options;
  options.validation = Split{};
  const CompositePredictor model = fit_model(training, "y ~ rbf(x, points=100)", options).model;
  ASSERT_EQ(model.posterior->engine().name, "exact");
  const Dataset known = encode(training, model.encoder, true), asked = encode(grid, model.encoder, true);
  const Comparison c = compare_with_exact(model, grid, known, asked, false);
  std::cout << "Figure 5: sds differ by " << 100.0 * c.sd_difference << "% on average, means by " << c.mean_difference
            << "; 90% intervals cover " << 100.0 * c.model.coverage.at("0.9") << "%, those of the exact process "
            << 100.0 * c.exact.coverage.at("0.9") << "%\n";
  EXPECT_LT(c.sd_difference, 0.01);
  EXPECT_LT(c.mean_difference, 0.01 * c.exact.rmse);
  EXPECT_NEAR(c.model.coverage.at("0.9"), c.exact.coverage.at("0.9"), 1.5 / 121.0);
}

// A model whose kernels' features are the kernels themselves, because every training row is a point.
class Direct : public testing::Test {
 protected:
  static constexpr std::int64_t kTraining = 30, kRows = 45;

  Direct() {
    options_.seed = 5;
    model_ = std::make_unique<Model>(made_.plan.spec, made_.plan.encoder, training_, options_);
  }

  // (phi . phi') / (H + 1) of term t's network between rows of two batches
  at::Tensor units(std::size_t t, const Batch& a, const Batch& b) const {
    const auto parts = model_->parts_of(t);
    const auto hidden = [&](const Batch& batch) {
      const at::Tensor h = parts.networks[0]->hidden(batch.networks[parts.sources[0]])[0].to(at::kDouble);
      return at::cat({h, at::ones({h.size(0), 1}, at::kDouble)}, 1);
    };
    return hidden(a).matmul(hidden(b).t()) / 8.0;  // seven units and a one
  }

  // v (sum_t share (phi . phi') / (H + 1) k_t + 1), with the exact k_t.
  at::Tensor covariance(const Batch& a, const Batch& b) const {
    const at::NoGradGuard no_grad;
    const at::Tensor rbf = model_->parts_of(0).kernel->matrix(a.x, b.x)[0];
    const at::Tensor matern = model_->parts_of(1).kernel->matrix(a.x, b.x)[0];
    return kScales.amplitude * (0.5 * units(0, a, b) * rbf + 0.5 * matern + 1.0);
  }

  Batch batch(const Dataset& rows) const { return batch_of(rows, 0, rows.size()); }

  at::Tensor expected(const Dataset& rows) const {
    const Batch known = batch(training_), asked = batch(rows);
    return dense_variance(covariance(asked, asked).diagonal(), covariance(asked, known), covariance(known, known),
                          kScales.noise_variance);
  }

  static constexpr Scales kScales{1.4, 0.03};
  const std::string points_ = ", points=30, placement=pivoted_cholesky)";
  const ModelCase made_{"y ~ mlp(a, b, layers=[7]) * rbf(day, lengthscale=fixed(25d)" + points_ +
                            " + matern12(a, lengthscale=fixed(0.8)" + points_,
                        mixed_table(kRows, 3)};
  const Dataset training_ = made_.rows.select(at::arange(kTraining, at::kLong));
  ModelOptions options_;
  std::unique_ptr<Model> model_;
};

TEST_F(Direct, IsTheExactProcessOfTheSameKernel) {
  const DirectVariance direct(*model_, training_, kScales, 1);
  const at::Tensor found = direct(*model_, batch(made_.rows)), exact = expected(made_.rows);
  ASSERT_EQ(found.sizes(), (std::vector<std::int64_t>{kRows}));
  ASSERT_EQ(found.scalar_type(), at::kDouble);
  EXPECT_TRUE(at::allclose(found, exact, 1e-3, 0.0)) << at::stack({found, exact}, 1);
  EXPECT_LT(exact.min().item<double>(), 0.1);  // known, and not
  EXPECT_GT(exact.max().item<double>(), 0.5);
}

// Far away in every kernel's column nothing is learned but the bias.
TEST_F(Direct, GrowsToThePriorVarianceFarFromTheData) {
  const DirectVariance direct(*model_, training_, kScales, 1);
  Dataset far = made_.rows.select(at::arange(10, at::kLong));
  far.x = far.x + 1e4;
  const Batch asked = batch(far);
  const at::Tensor prior = covariance(asked, asked).diagonal(), found = direct(*model_, asked);
  const at::Tensor bias = dense_variance(at::full({10}, kScales.amplitude, at::kDouble),
                                         at::full({10, kTraining}, kScales.amplitude, at::kDouble),
                                         covariance(batch(training_), batch(training_)), kScales.noise_variance);
  EXPECT_TRUE(at::allclose(found, prior - kScales.amplitude + bias, 1e-3, 0.0));
  EXPECT_TRUE((found > direct(*model_, batch(made_.rows)).narrow(0, 0, 10)).all().item<bool>());
}

TEST_F(Direct, IsNeverNegative) {
  std::vector<std::int64_t> twice;
  for (std::int64_t i = 0; i < kTraining; ++i) twice.insert(twice.end(), {i, i, i});
  const Dataset repeated = training_.select(at::tensor(twice, at::kLong));
  for (const double noise : {1e-12, 1e-6, 1.0}) {
    const DirectVariance direct(*model_, repeated, {1.0, noise}, 1);
    const at::Tensor found = direct(*model_, batch(made_.rows));
    EXPECT_TRUE(found.isfinite().all().item<bool>());
    EXPECT_GE(found.min().item<double>(), 0.0) << noise;
  }
}

TEST_F(Direct, ComesBackBitForBit) {
  const DirectVariance direct(*model_, training_, kScales, 1);
  const TensorState state = direct.state();
  const DirectVariance again(state);
  EXPECT_TRUE(again(*model_, batch(made_.rows)).equal(direct(*model_, batch(made_.rows))));
  EXPECT_EQ(first_difference(again.state(), state), "");
  EXPECT_TRUE(DirectVariance(*model_, training_, kScales, 1)(*model_, batch(made_.rows))
                  .equal(direct(*model_, batch(made_.rows))));
  for (const char* name : {"direct.cholesky", "direct.factor", "direct.amplitude", "direct.pair1.right"}) {
    TensorState torn;
    for (const auto& each : state) {
      if (each.first != name) torn.push_back(each);
    }
    ASSERT_EQ(torn.size() + 1, state.size()) << name;
    EXPECT_THROW(DirectVariance{torn}, DataError) << name;
  }
}

TEST_F(Direct, FindsItsScalesByMarginalLikelihood) {
  const Batch known = batch(training_);
  const at::Tensor gram = covariance(known, known) / kScales.amplitude;
  const Scales found = DirectVariance::scales(*model_, training_, 1), expected = find_scales(gram, training_.y);
  EXPECT_NEAR(found.amplitude, expected.amplitude, 1e-3 * expected.amplitude);
  EXPECT_NEAR(found.noise_variance, expected.noise_variance, 1e-3 * expected.noise_variance);
  EXPECT_NEAR(DirectVariance::scales(*model_, training_, 1, 0.2).noise_variance, 0.2, 1e-12);
}

// More rows than landmarks, and more weights: the same through all features, (Phi'Phi / s^2 + 1 / v)^-1, and what the
// features miss besides.
TEST(DirectVariance, WithMoreRowsThanLandmarks) {
  constexpr std::int64_t kRows = 1500;
  constexpr Scales kScales{1.0, 0.05};
  ASSERT_GT(kRows, DirectVariance::kLandmarks);
  const ModelCase made("y ~ mlp(a, b, layers=[31]) * rbf(day, lengthscale=fixed(6d), points=64)",
                       mixed_table(kRows, 3));
  ModelOptions options;
  const Model model = made.model(options);
  const DirectVariance direct(model, made.rows, kScales, 1);
  const Dataset asked = made.rows.select(at::arange(0, kRows, 10, at::kLong));
  const Batch batch = batch_of(asked, 0, asked.size());
  const at::NoGradGuard no_grad;
  const at::Tensor phi = written_out(in_double(model.last_layers(made.batch(), LayerPrior::even)))[0];
  const at::Tensor there = written_out(in_double(model.last_layers(batch, LayerPrior::even)))[0];
  ASSERT_GT(phi.size(1), DirectVariance::kLandmarks);
  const at::Tensor gram = kScales.amplitude * phi.matmul(phi.t());
  const at::Tensor cross = kScales.amplitude * there.matmul(phi.t());
  at::Tensor expected = dense_variance(kScales.amplitude * there.square().sum(1), cross, gram, kScales.noise_variance);
  const at::Tensor left = model.last_layers(batch, LayerPrior::even)[0].left[0].to(at::kDouble);
  expected = expected + kScales.amplitude * model.residuals(asked.x)[0][0] * left.square().sum(1);
  const at::Tensor ratio = (direct(model, batch) / expected).sqrt();
  EXPECT_NEAR(ratio.mean().item<double>(), 1.0, 0.02);
  EXPECT_LT((ratio - 1.0).abs().max().item<double>(), 0.05);
}

}  // namespace
}  // namespace ick
