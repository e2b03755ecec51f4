#include "ick/inference/draw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ick/predict/composite.h"
#include "inference/bilinear.h"
#include "support/model_case.h"
#include "support/network_case.h"

namespace ick {
namespace {

constexpr std::int64_t kRows = 8, kTraining = 5;
constexpr Scales kScales{1.7, 0.09};

// Rows 0 to 4 are known, the others asked for.
Dataset known(const Dataset& rows) { return rows.select(at::arange(kTraining, at::kLong)); }

ModelOptions options_of(std::int64_t members, std::uint64_t seed = 2) {
  ModelOptions options;
  options.members = members;
  options.seed = seed;
  return options;
}

// Every member as the first: one network, one kernel.
void make_alike(Model& model) {
  const auto copy = [](const at::Tensor& all) { all.detach().copy_(all.detach().narrow(0, 0, 1).clone()); };
  for (const NamedTensor& each : model.network_parameters()) copy(each.value);
  for (const NamedTensor& each : model.kernel_parameters()) copy(each.value);
}

Pairs features_of(const Model& model, LinearKind kind, const Batch& batch) {
  const Pairs all = kind == LinearKind::nngp ? model.last_layers(batch, LayerPrior::start) : model.tangents(batch);
  return in_double(all);
}

// (E, n) of draws at all rows.
at::Tensor drawn(Model& model, LinearKind kind, const ModelCase& made, std::uint64_t seed) {
  const Dataset training = known(made.rows);
  if (kind == LinearKind::nngp) {
    draw_last_layers(model, training, kScales, seed);
    return model(made.batch()).detach().to(at::kDouble);
  }
  const std::vector<at::Tensor> weights = draw_tangent_weights(model, training, kScales, seed);
  return product(model.tangents(made.batch()), weights).to(at::kDouble);
}

// Posterior of a Gaussian process with Gram matrix v G, noise s^2: mean (n) and covariance (n, n) at all rows.
std::pair<at::Tensor, at::Tensor> dense_posterior(const at::Tensor& gram, const at::Tensor& y) {
  const at::Tensor k = kScales.amplitude * gram, cross = k.narrow(1, 0, kTraining);
  const at::Tensor inside = cross.narrow(0, 0, kTraining) + kScales.noise_variance * at::eye(kTraining, at::kDouble);
  const at::Tensor solved = at::linalg_solve(inside, cross.t());  // (m, n)
  return {solved.t().mv(y), k - cross.matmul(solved)};
}

class Draws : public testing::TestWithParam<LinearKind> {
 protected:
  const ModelCase made_{"y ~ mlp(a, b, layers=[7]) * rbf(day, points=6) + matern32(a, points=4)",
                        mixed_table(kRows, 1)};
};

// Where all hidden layers are alike the draws are those of one Bayesian linear model. Members come in pairs, so that
// half of them are independent; the mean of a pair is the posterior's.
TEST_P(Draws, HaveTheLawOfThePosterior) {
  constexpr std::int64_t kDrawn = 8000, kPairs = kDrawn / 2;
  Model model = made_.model(options_of(kDrawn));
  make_alike(model);
  const at::Tensor f = drawn(model, GetParam(), made_, 3);
  const ModelCase& made = made_;
  Model one = made.model(options_of(1));
  const Pairs pairs = features_of(one, GetParam(), made.batch());
  const auto [mean, covariance] = dense_posterior(gram(pairs, pairs)[0], known(made.rows).y);
  ASSERT_GT(covariance.diagonal().max().item<double>(), 0.1);

  const at::Tensor even = f.slice(0, 0, kDrawn, 2), odd = f.slice(0, 1, kDrawn, 2);
  EXPECT_LT(((even + odd) / 2.0 - mean).abs().max().item<double>(), 2e-4);  // float32
  EXPECT_GT((even - odd).abs().max().item<double>(), 0.5);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const at::Tensor products = (even.select(1, i) - mean[i]) * (even.select(1, j) - mean[j]);
      const double error = products.std().item<double>() / std::sqrt(static_cast<double>(kPairs));
      EXPECT_NEAR(products.mean().item<double>(), covariance[i][j].item<double>(), 5.0 * error + 1e-6) << i << " " << j;
    }
    const double error = std::sqrt(covariance[i][i].item<double>() / static_cast<double>(kPairs));
    EXPECT_NEAR(even.select(1, i).mean().item<double>(), mean[i].item<double>(), 5.0 * error + 1e-5);
  }
}

// Every member with a network and a kernel of its own, but for the second of each pair: the mean of a pair is that of
// the posterior with the pair's features.
TEST_P(Draws, PairsMirrorAboutThePosteriorsMean) {
  for (const std::int64_t members : {2, 7}) {
    Model model = made_.model(options_of(members));
    const at::Tensor f = drawn(model, GetParam(), made_, 3);
    const Pairs pairs = features_of(model, GetParam(), made_.batch());
    const at::Tensor grams = gram(pairs, pairs);
    for (std::int64_t e = 0; e + 1 < members; e += 2) {
      EXPECT_TRUE(grams[e].equal(grams[e + 1])) << "pair " << e / 2;
      if (e > 0) {
        EXPECT_FALSE(at::allclose(grams[e], grams[e - 1], 1e-2));
      }
      const at::Tensor mean = dense_posterior(grams[e], known(made_.rows).y).first;
      EXPECT_LT(((f[e] + f[e + 1]) / 2.0 - mean).abs().max().item<double>(), 2e-4) << "pair " << e / 2;
      EXPECT_GT((f[e] - f[e + 1]).abs().max().item<double>(), 0.05);
    }
  }
}

TEST_P(Draws, DoNotDependOnHowManyThereAre) {
  Model few = made_.model(options_of(3)), many = made_.model(options_of(8));
  const at::Tensor a = drawn(few, GetParam(), made_, 3), b = drawn(many, GetParam(), made_, 3).narrow(0, 0, 3);
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-5));
  Model again = made_.model(options_of(3)), other = made_.model(options_of(3));
  EXPECT_TRUE(drawn(again, GetParam(), made_, 3).equal(a));
  EXPECT_FALSE(at::allclose(drawn(other, GetParam(), made_, 4), a, 1e-2, 1e-2));
}

// What is predicted of draws: mean and sample variance, and what the features miss, of all outputs alike.
TEST_P(Draws, ArePredictedAsASample) {
  CompositePredictor fitted = made_.fitted(options_of(6), 0.3);
  auto model = std::make_shared<Model>(made_.model(options_of(6)));
  const at::Tensor f = drawn(*model, GetParam(), made_, 3);
  fitted.posterior = engine_named(GetParam() == LinearKind::nngp ? "nngp" : "ntk")
                         .solve_again(model, known(made_.rows), kScales.amplitude, kScales.noise_variance, 3);
  const auto [mean, variance] = fitted.predict_function(made_.rows);
  EXPECT_TRUE(at::allclose(mean, f.mean(0), 1e-5, 1e-5));

  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> residual = model->residuals(made_.rows.x);
  const auto parts = model->parts_of(0);
  const Batch batch = made_.batch();
  const at::Tensor& inputs = batch.networks[parts.sources[0]];
  const auto p = static_cast<double>(model->features_of(0));
  at::Tensor of_network;  // variance of the network's part by the features missed, over v: (E, n)
  if (GetParam() == LinearKind::nngp) {
    const DensePrior::Layer last = parts.networks[0]->dense_prior()->layers.back();
    const at::Tensor hidden = parts.networks[0]->hidden(inputs).to(at::kDouble);
    of_network = residual[0] * (last.weight * hidden.square().mean(2) + last.bias);
  } else {
    const at::Tensor even = (residual[0] / p).sqrt().unsqueeze(2).expand({-1, -1, model->features_of(0)});
    of_network = diagonal(in_double(parts.networks[0]->tangents(inputs, even)));
  }
  // pairs c +- d: the mean of d^2 and the variance between the c
  const at::Tensor one = f.slice(0, 0, f.size(0), 2), other = f.slice(0, 1, f.size(0), 2);
  const at::Tensor drawn = (one - other).square().mean(0) / 4.0 + (one + other).var(0, true) / 4.0;
  const at::Tensor expected = drawn + kScales.amplitude * (of_network + residual[1]).mean(0);
  EXPECT_TRUE(at::allclose(variance, expected, 1e-4, 1e-5)) << variance << expected;
  EXPECT_GT((of_network + residual[1]).max().item<double>(), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Draws, testing::Values(LinearKind::nngp, LinearKind::ntk),
                         [](const auto& kind) { return kind.param == LinearKind::nngp ? "nngp" : "ntk"; });

// y ~ N(0, v (G + lambda)), a Gram matrix of many rows: twice the standard errors that a variance of n numbers has,
// one step of the grid besides.
TEST(FindScales, OfDataDrawnFromThem) {
  constexpr std::int64_t kCount = 500;
  const at::Tensor x = at::linspace(0.0, 60.0, kCount, at::kDouble);
  const at::Tensor gram = (-0.5 * (x.unsqueeze(1) - x.unsqueeze(0)).square()).exp();  // about 60 lengthscales
  const at::Tensor factor = at::linalg_cholesky(gram + 1e-9 * at::eye(kCount, at::kDouble));
  for (const Scales& truth : {Scales{3.0, 0.04}, Scales{0.5, 0.6}}) {
    const at::Tensor y = std::sqrt(truth.amplitude) * factor.mv(normals({kCount}, 5)) +
                         std::sqrt(truth.noise_variance) * normals({kCount}, 6);
    const Scales found = find_scales(gram, y);
    EXPECT_NEAR(std::log(found.noise_variance / truth.noise_variance), 0.0, 0.25);
    EXPECT_NEAR(std::log(found.amplitude / truth.amplitude), 0.0, 0.6);
    const Scales stated = find_scales(gram, y, truth.noise_variance);
    EXPECT_NEAR(stated.noise_variance, truth.noise_variance, 1e-12 * truth.noise_variance);
    EXPECT_NEAR(std::log(stated.amplitude / truth.amplitude), 0.0, 0.6);
    const Scales scaled = find_scales(gram, y, {}, truth.amplitude);
    EXPECT_EQ(scaled.amplitude, truth.amplitude);
    EXPECT_NEAR(std::log(scaled.noise_variance / truth.noise_variance), 0.0, 0.25);
    const Scales both = find_scales(gram, y, 0.3, truth.amplitude);
    EXPECT_EQ(both.amplitude, truth.amplitude);
    EXPECT_EQ(both.noise_variance, 0.3);
    const Scales far_off = find_scales(gram, y, 100.0 * truth.noise_variance);
    EXPECT_NEAR(far_off.noise_variance, 100.0 * truth.noise_variance, 1e-10);
  }
}

// No other scales within a factor of two explain the data better, by the density itself.
TEST(FindScales, AreTheMostLikely) {
  constexpr std::int64_t kCount = 60;
  const at::Tensor z = normals({kCount, 12}, 1), gram = z.matmul(z.t()) / 12.0;
  const at::Tensor y = 1.3 * z.mv(normals({12}, 2)) / std::sqrt(12.0) + 0.4 * normals({kCount}, 3);
  const auto cost = [&](const Scales& s) {
    const at::Tensor k = s.amplitude * gram + s.noise_variance * at::eye(kCount, at::kDouble);
    return (at::logdet(k) + y.dot(at::linalg_solve(k, y.unsqueeze(1)).squeeze(1))).item<double>();
  };
  const Scales found = find_scales(gram, y);
  for (const double a : {0.5, 0.75, 1.0, 1.35, 2.0}) {
    for (const double b : {0.5, 0.75, 1.0, 1.35, 2.0}) {
      if (a == 1.0 && b == 1.0) continue;
      EXPECT_LT(cost(found), cost({a * found.amplitude, b * found.noise_variance})) << a << " " << b;
    }
  }
}

// The Gram matrix is the mean over members.
TEST(FindScales, OfAModel) {
  const ModelCase made("y ~ mlp(a, layers=[16]) * rbf(day, points=6)", mixed_table(40, 3));
  const Model model = made.model(options_of(4));
  for (const LinearKind kind : {LinearKind::nngp, LinearKind::ntk}) {
    const at::NoGradGuard no_grad;
    at::Tensor mean = at::zeros({40, 40}, at::kDouble);
    const at::Tensor phi = written_out(features_of(model, kind, made.batch()));
    for (std::int64_t e = 0; e < 4; ++e) mean += phi[e].matmul(phi[e].t()) / 4.0;
    const Scales found = find_scales(model, kind, made.rows, 5), expected = find_scales(mean, made.rows.y);
    EXPECT_NEAR(found.amplitude, expected.amplitude, 1e-6 * expected.amplitude);
    EXPECT_NEAR(found.noise_variance, expected.noise_variance, 1e-6 * expected.noise_variance);
    EXPECT_NEAR(find_scales(model, kind, made.rows, 5, 0.3).noise_variance, 0.3, 1e-12);
  }
}

}  // namespace
}  // namespace ick
