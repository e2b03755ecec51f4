#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ick/inference/draw.h"
#include "inference/last_layers.h"
#include "support/train_case.h"

namespace ick {
namespace {

// A term with two networks and a kernel, one of a network alone, one of weights alone.
constexpr char kMixed[] =
    "y ~ mlp(a, layers=[5]) * mlp(b, layers=[3]) * rbf(t, points=4) + mlp(c, layers=[4]) + matern32(u, points=6)";

Batch all_rows(const Dataset& rows) { return batch_of(rows, 0, rows.size()); }

// What the weights of member e multiply, one column for each, and the weights over their prior sds, in that
// order: from the definition in model.h, entry by entry.
struct Flat {
  at::Tensor features, weights;  // (n, P), (P)
};

Flat flat(const Model& model, const Batch& batch, std::int64_t e) {
  const std::vector<BilinearFeatures> layers = model.last_layers(batch, LayerPrior::even);
  TensorState values;
  for (const NamedTensor& each : model.network_parameters()) values.emplace_back(each.path, each.value.detach()[e]);
  const auto value = [&](const std::string& path) {
    for (const auto& [name, tensor] : values) {
      if (name == path) return tensor.to(at::kDouble);
    }
    ADD_FAILURE() << path;
    return at::Tensor();
  };
  const std::vector<std::string> networks = {"term1.mlp1.output.", "term2.mlp1.output.", ""};
  std::vector<at::Tensor> columns;
  std::vector<double> weights;
  for (std::size_t t = 0; t + 1 < layers.size(); ++t) {
    const at::Tensor right = layers[t].right[e].to(at::kDouble);
    const std::int64_t hidden = layers[t].left.defined() ? layers[t].left.size(2) : 1;
    for (std::int64_t h = 0; h < hidden; ++h) {
      for (std::int64_t k = 0; k < right.size(1); ++k) {
        if (!layers[t].left.defined()) {
          columns.push_back(right.select(1, k));
          weights.push_back(value("term3.weight")[k].item<double>());
          continue;
        }
        const double deviation = 1.0 / std::sqrt(static_cast<double>(hidden));
        columns.push_back(layers[t].left[e].select(1, h).to(at::kDouble) * right.select(1, k));
        const double weight = h + 1 < hidden ? value(networks[t] + "weight")[h][k].item<double>()
                                             : value(networks[t] + "bias")[0][k].item<double>();
        weights.push_back(weight / deviation);
      }
    }
  }
  columns.push_back(at::ones({batch.y.size(0)}, at::kDouble));
  weights.push_back(value("bias")[0].item<double>());
  return {at::stack(columns, 1), at::tensor(weights, at::kDouble)};
}

// At the mean of the posterior F'(y - F w) = lambda w, for one lambda: both ways of solving must end there.
void expect_posterior_mean(std::int64_t rows) {
  const TrainCase data(generic_table(rows), kMixed);
  const auto model = data.model(2);
  ASSERT_TRUE(solve_last_layers(*model, data.rows, 3));
  for (std::int64_t e = 0; e < 2; ++e) {
    const Batch batch = all_rows(data.rows);
    const Flat at = flat(*model, batch, e);
    const at::Tensor f = at.features.mv(at.weights);
    EXPECT_LT((f - (*model)(batch)[e].detach()).abs().max().item<double>(), 1e-4);  // flat() is the model
    const at::Tensor left = at.features.t().mv(batch.y - f);
    const double lambda = left.dot(at.weights).item<double>() / at.weights.dot(at.weights).item<double>();
    EXPECT_GT(lambda, 0.0);
    // weights are kept in float32
    EXPECT_LT((left - lambda * at.weights).norm().item<double>(), 2e-3 * left.norm().item<double>());
  }
}

TEST(LastLayer, IsThePosteriorMeanSolvedOverRows) { expect_posterior_mean(300); }

TEST(LastLayer, IsThePosteriorMeanSolvedOverWeights) { expect_posterior_mean(3500); }

// argmin |a B - y|^2 in float64, a millionth of the mean square of a's columns below: by rows below each other.
at::Tensor least_squares(const at::Tensor& a, const at::Tensor& y) {
  const double small = std::sqrt(1e-6 * a.square().sum().item<double>() / static_cast<double>(a.size(1)));
  const at::Tensor below = small * at::eye(a.size(1), at::kDouble),
                   nothing = at::zeros({a.size(1), y.size(1)}, at::kDouble);
  return std::get<0>(at::linalg_lstsq(at::cat({a, below}), at::cat({y, nothing})));
}

at::Tensor with_one(const at::Tensor& x) { return at::cat({at::ones({x.size(0), 1}, at::kDouble), x}, 1); }

// The covariance of the weights over H + 1 hidden units u of a layer that a share r of linear functions has, which have
// the covariance s among intercept and slopes.
at::Tensor linear_covariance(const at::Tensor& units, const at::Tensor& x, double r, const at::Tensor& s) {
  const at::Tensor b = least_squares(units, with_one(x)), own = b.matmul(s).matmul(b.t());
  const double size = (units.matmul(own).matmul(units.t()).trace() / units.square().sum()).item<double>();
  return (1.0 - r) * at::eye(units.size(1), at::kDouble) + r / size * own;
}

// At the mean of the posterior with prior covariance S: S F'(y - F w) = lambda w. Three outputs are too few to say how
// intercept and slopes belong together.
TEST(LastLayer, HasTheShareOfLinearFunctionsThatIsAskedFor) {
  const TrainCase data(generic_table(400), "y ~ mlp(a, b, layers=[9]) * rbf(t, points=3)");
  for (const double share : {0.5, 0.99}) {
    const auto model = data.model(1);
    ASSERT_TRUE(solve_last_layers(*model, data.rows, 3, share));
    const Batch batch = all_rows(data.rows);
    const Flat at = flat(*model, batch, 0);
    const at::Tensor left = at.features.t().mv(batch.y - at.features.mv(at.weights));
    const at::Tensor units = model->last_layers(batch, LayerPrior::even)[0].left[0].to(at::kDouble);
    const at::Tensor x = data.rows.networks[0].to(at::kDouble);
    const at::Tensor s = linear_covariance(units, x, share, at::eye(3, at::kDouble));
    at::Tensor expected = left.clone();  // the last one is the bias: variance one
    expected.narrow(0, 0, 30).copy_(s.matmul(left.narrow(0, 0, 30).view({10, 3})).reshape(-1));
    const double lambda = expected.dot(at.weights).item<double>() / at.weights.dot(at.weights).item<double>();
    EXPECT_GT(lambda, 0.0);
    EXPECT_LT((expected - lambda * at.weights).norm().item<double>(), 5e-3 * expected.norm().item<double>());
  }
}

// With eight outputs for an intercept and a slope: solved once with both alike, then as the outputs have them. Over
// rows, with the Gram matrix written out.
TEST(LastLayer, LearnsHowInterceptAndSlopeBelongTogether) {
  const TrainCase data(generic_table(300), "y ~ mlp(a, layers=[9]) * rbf(t, points=8)");
  const auto model = data.model(1);
  const Batch batch = all_rows(data.rows);
  const std::vector<BilinearFeatures> layers = model->last_layers(batch, LayerPrior::even);
  const at::Tensor units = layers[0].left[0].to(at::kDouble), z = layers[0].right[0].to(at::kDouble);
  const at::Tensor x = data.rows.networks[0].to(at::kDouble);
  at::Tensor s = at::eye(2, at::kDouble), f;
  for (int step = 0; step < 2; ++step) {
    const at::Tensor prior = linear_covariance(units, x, 0.9, s);
    const at::Tensor gram = units.matmul(prior).matmul(units.t()) * z.matmul(z.t()) + 1.0;  // the bias is one more
    const Scales scales = find_scales(gram, batch.y);
    const at::Tensor noisy = gram + scales.noise_variance / scales.amplitude * at::eye(300, at::kDouble);
    const at::Tensor dual = at::linalg_solve(noisy, batch.y.unsqueeze(1)).squeeze(1);
    f = gram.mv(dual);
    const at::Tensor weights = prior.matmul(units.t()).matmul(z * dual.unsqueeze(1));  // (H + 1, p)
    const at::Tensor a = least_squares(with_one(x), units.matmul(weights)), found = a.matmul(a.t());
    s = 0.01 * at::eye(2, at::kDouble) + 0.99 * found / (found.trace() / 2.0);
  }
  ASSERT_TRUE(solve_last_layers(*model, data.rows, 3, 0.9));
  EXPECT_LT(((*model)(batch)[0].detach() - f).abs().max().item<double>(), 2e-4);  // weights are kept in float32
}

// Targets that are linear in the network's input, times a kernel: rows not seen are predicted better.
TEST(LastLayer, IsBetterWithLinearFunctionsWhereTheTargetIsOne) {
  Table table = generic_table(400);
  const Numbers& a = table.columns[0].values;
  const Numbers& t = table.columns[3].values;
  const std::vector<double> noise = normal_numbers(400, 5);
  std::vector<double> y;
  for (std::size_t i = 0; i < 400; ++i) y.push_back(a[i] * std::sin(2.0 * t[i]) + 0.3 * noise[i]);
  table.columns[6].values = y;
  const TrainCase data(table, "y ~ mlp(a, layers=[30]) * rbf(t, lengthscale=0.5, points=20)");
  const Dataset training = data.rows.select(at::arange(0, 200, at::kLong));
  const Dataset others = data.rows.select(at::arange(200, 400, at::kLong));
  const auto error = [&](double share) {
    const auto model = data.model(1);
    EXPECT_TRUE(solve_last_layers(*model, training, 3, share));
    return ((*model)(all_rows(others))[0].detach() - others.y).square().mean().item<double>();
  };
  EXPECT_LT(error(0.9999), 0.98 * error(0.0));
}

TEST(LastLayer, FindsTheNoiseByMarginalLikelihood) {
  for (const double noise : {0.05, 0.5}) {  // sd, of targets that the features can carry
    TrainCase data(generic_table(600), kMixed);
    const auto model = data.model(1);
    const Batch batch = all_rows(data.rows);
    const Flat start = flat(*model, batch, 0);
    const std::vector<double> weights = normal_numbers(start.weights.size(0), 11), rest = normal_numbers(600, 12);
    data.rows.y = start.features.mv(at::tensor(weights, at::kDouble)) + noise * at::tensor(rest, at::kDouble);
    ASSERT_TRUE(solve_last_layers(*model, data.rows, 3));
    const Flat at = flat(*model, all_rows(data.rows), 0);
    // v = y'(G + lambda)^-1 y / n and (G + lambda)^-1 y = (y - f) / lambda, so the noise found is v lambda = y'(y - f)
    // / n; six standard errors of a variance from 600 rows.
    const at::Tensor left = data.rows.y - at.features.mv(at.weights);
    const double found = data.rows.y.dot(left).item<double>() / 600.0;
    EXPECT_NEAR(found / (noise * noise), 1.0, 6.0 * std::sqrt(2.0 / 600.0));
  }
}

TEST(LastLayer, LeavesWhatIsTooLarge) {
  const TrainCase data(generic_table(3100), "y ~ mlp(a, layers=[64]) * rbf(t, u, points=64)");
  const auto model = data.model(1);
  const TensorState before = model->state();
  EXPECT_FALSE(solve_last_layers(*model, data.rows, 3));
  const TensorState after = model->state();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i].second, after[i].second));
}

// Against least squares by orthogonal factors on all rows, the prior written as rows of its own.
TEST(LastLayerSums, TakeFurtherRowsInAsIfAllHadBeenThere) {
  const at::NoGradGuard no_grad;  // hidden units are in float32: their last digits depend on the path, and on the batch
  const TrainCase on(generic_table(200), kMixed);
  const Dataset first = on.rows.select(at::arange(150, at::kLong));
  const Dataset rest = on.rows.select(at::arange(150, 200, at::kLong));
  for (const double share : {0.0, 0.9}) {
    SCOPED_TRACE(share);
    const std::shared_ptr<Model> model = on.model(3);
    ASSERT_TRUE(solve_last_layers(*model, first, 3, share));
    const LastLayerSums prior = LastLayerSums::of_prior(*model, first, last_layer_precision(*model, first, 3, share));
    LastLayerSums sums = prior;
    sums.add(*model, first);
    EXPECT_EQ(prior.right.abs().max().item<double>(), 0.0);
    EXPECT_EQ(LastLayerSums::bytes_of(*model, first), 8.0 * 3.0 * (36.0 * 37.0 / 2.0 + 36.0));
    const LastLayerSums restored = LastLayerSums::restore(sums.tensors());
    EXPECT_TRUE(restored.matrix.tril().equal(sums.matrix.tril()));
    EXPECT_TRUE(restored.right.equal(sums.right));
    LastLayerSums all = restored;
    all.add(*model, rest);
    const Batch batch = all_rows(on.rows);
    for (std::int64_t e = 0; e < 3; ++e) {
      const Flat old = flat(*model, all_rows(first), e), further = flat(*model, all_rows(rest), e);
      const Flat known{at::cat({old.features, further.features}), old.weights};
      // what the model was given, in float32
      EXPECT_LT((known.features.mv(sums.weights()[e] - known.weights)).abs().max().item<double>(), 1e-5);
      const at::Tensor rows = at::cat({known.features, at::linalg_cholesky(prior.matrix[e]).t()});
      const at::Tensor y = at::cat({batch.y.to(at::kDouble), at::zeros({36}, at::kDouble)});
      const auto [q, r] = at::linalg_qr(rows);
      const at::Tensor w = at::linalg_solve_triangular(r, q.t().mv(y).unsqueeze(1), true).squeeze(1);
      const at::Tensor expected = known.features.mv(w), found = known.features.mv(all.weights()[e]);
      EXPECT_LT((found - expected).norm().item<double>(), 1e-10 * expected.norm().item<double>());
      EXPECT_GT((known.features.mv(sums.weights()[e]) - expected).norm().item<double>(), 1e-3);
    }
    all.solve_into(*model, rest);
    EXPECT_LT((flat(*model, batch, 1).weights - all.weights()[1]).abs().max().item<double>(), 1e-4);
  }
}

}  // namespace
}  // namespace ick
