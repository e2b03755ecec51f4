#include "ick/model/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/model_case.h"
#include "support/network_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

Tensors in_double(const TensorState& state) {
  Tensors tensors;
  for (const auto& [path, tensor] : state) tensors[path] = tensor.to(at::kDouble);
  return tensors;
}

// tanh(x W_1 + b_1) W + b of one member and one row, number by number.
std::vector<double> naive_network(const Tensors& tensors, const std::string& path, std::int64_t e,
                                  const at::Tensor& inputs) {
  std::vector<double> h;
  for (std::int64_t j = 0; j < inputs.size(0); ++j) h.push_back(static_cast<double>(inputs[j].item<float>()));
  for (const std::string layer : {"layer1", "output"}) {
    const auto weight = tensors.at(path + layer + ".weight"), bias = tensors.at(path + layer + ".bias");
    const auto w = weight.accessor<double, 3>();
    const auto b = bias.accessor<double, 3>();
    std::vector<double> next;
    for (std::int64_t k = 0; k < w.size(2); ++k) {
      double sum = b[e][0][k];
      for (std::int64_t j = 0; j < w.size(1); ++j) sum += h[static_cast<std::size_t>(j)] * w[e][j][k];
      next.push_back(layer == "output" ? sum : std::tanh(sum));
    }
    h = next;
  }
  return h;
}

// The features of term t by composed operations in float64, from what the state holds.
at::Tensor naive_map(const ModelCase& made, std::size_t t, const TensorState& state, const Model& model) {
  std::vector<std::size_t> products;
  std::size_t first = 0;
  for (std::size_t before = 0; before < t; ++before) first += made.plan.spec.terms[before].kernels.size();
  for (std::size_t i = 0; i < made.plan.spec.terms[t].kernels.size(); ++i) products.push_back(first + i);
  const std::string prefix = "term" + std::to_string(t + 1) + ".map.";
  MapState map;
  for (const auto& [path, tensor] : state) {
    if (path.starts_with(prefix)) map.emplace_back(path.substr(prefix.size()), tensor);
  }
  MapOptions options;
  options.kind = made.plan.spec.terms[t].map;
  options.placement = made.plan.spec.terms[t].placement;
  options.features = made.plan.spec.terms[t].features;
  options.path = Path::reference;
  return restore_feature_map(model.kernel().select(products), options, map)->evaluate(made.rows.x, at::kDouble);
}

double naive_value(const ModelCase& made, const Tensors& tensors, const std::vector<at::Tensor>& maps, std::int64_t e,
                   std::int64_t i) {
  double parts = 0.0, total = 0.0;
  std::size_t source = 0;
  for (std::size_t t = 0; t < made.plan.spec.terms.size(); ++t) {
    const TermSpec& term = made.plan.spec.terms[t];
    const std::string path = "term" + std::to_string(t + 1) + ".";
    parts += term.kernels.empty() ? 1.0 : static_cast<double>(term.kernels.size());
    std::vector<double> product;
    if (term.networks.empty()) {
      const at::Tensor weight = tensors.at(path + "weight")[e].contiguous();
      product.assign(weight.data_ptr<double>(), weight.data_ptr<double>() + weight.numel());
    }
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const std::vector<double> f =
          naive_network(tensors, path + "mlp" + std::to_string(a + 1) + ".", e, made.rows.networks[source++][i]);
      if (a == 0) product.assign(f.size(), 1.0);
      for (std::size_t k = 0; k < f.size(); ++k) product[k] *= f[k];
    }
    const auto p = static_cast<double>(product.size());
    for (std::size_t k = 0; k < product.size(); ++k) {
      total += product[k] *
               (maps[t].defined() ? maps[t][e][i][static_cast<std::int64_t>(k)].item<double>() : 1.0 / std::sqrt(p));
    }
  }
  return tensors.at("bias")[e][0].item<double>() + total / std::sqrt(parts);
}

const std::string kSmall = ", layers=[3], activation=tanh)";

TEST(Model, IsItsFormula) {
  for (const std::string& formula :
       {"y ~ mlp(a, site" + kSmall, "y ~ mlp(a" + kSmall + " * mlp(b, floor" + kSmall,
        "y ~ mlp(a, b" + kSmall + " * periodic(day, period=90d, points=5) + linear(a) + mlp(b" + kSmall,
        "y ~ mlp(a" + kSmall + " * mlp(b" + kSmall +
            " * (rbf(day, points=4) + periodic(day) * matern32(a)) + rbf(a, b)",
        std::string("y ~ rbf(day, points=7) + categorical(site) * linear(b) + constant()"),
        "log(y) ~ mlp(b" + kSmall +
            " * rbf(day, features=fourier, points=6) + matern52(a, features=hilbert, points=5)"}) {
    const ModelCase made(formula, mixed_table(23, 1));
    ModelOptions options;
    options.members = 2;
    options.seed = 5;
    const Model model = made.model(options);
    // Generic values everywhere: output biases and the model's start at zero.
    for (const NamedTensor& each : model.network_parameters()) {
      each.value.detach().copy_(normals(each.value.sizes(), seed_for(9, each.path)));
    }
    const at::Tensor found = model(made.batch()).detach();
    ASSERT_EQ(found.sizes(), (std::vector<std::int64_t>{2, 23}));
    const TensorState state = model.state();
    const Tensors tensors = in_double(state);
    std::vector<at::Tensor> maps;
    for (std::size_t t = 0; t < made.plan.spec.terms.size(); ++t) {
      const bool has_map = !made.plan.spec.terms[t].kernels.empty();
      maps.push_back(has_map ? naive_map(made, t, state, model).detach() : at::Tensor());
    }
    for (std::int64_t e = 0; e < 2; ++e) {
      for (std::int64_t i = 0; i < 23; ++i) {
        const double expected = naive_value(made, tensors, maps, e, i);
        EXPECT_NEAR(found[e][i].item<double>(), expected, 2e-5 * (1.0 + std::abs(expected))) << formula;
      }
    }
    at::Tensor sum = model.network_parameters().back().value.detach();
    for (std::size_t t = 0; t < made.plan.spec.terms.size(); ++t) sum = sum + model.term(t, made.batch()).detach();
    EXPECT_TRUE(at::allclose(sum, found, 1e-5, 1e-5));
  }
}

// Over members, Cov f(x) f(x') is the product of the networks' covariances and of the kernels. Those of the networks
// come from the outputs of models of their own; with a point on every row the features are the kernel itself.
TEST(Model, CovarianceIsTheProductOfAllSources) {
  at::NoGradGuard no_grad;
  constexpr std::int64_t kMembers = 20000, kRows = 6;
  const Table table = mixed_table(kRows, 2);
  ModelOptions options;
  options.members = kMembers;
  const auto network_covariance = [&](const std::string& network, std::uint64_t seed) {
    options.seed = seed;
    const ModelCase made("y ~ " + network, table);
    const at::Tensor f = made.model(options)(made.batch()).to(at::kDouble);  // (E, n)
    return f.t().matmul(f) / static_cast<double>(kMembers);
  };
  const std::string first = "mlp(a, layers=[6], activation=erf)", second = "mlp(b, site, layers=[6], activation=erf)";
  const std::string kernels =
      "rbf(day, lengthscale=fixed(40d), variance=fixed(0.8), points=6, placement=pivoted_cholesky) * "
      "matern32(a, lengthscale=fixed(2))";
  const ModelCase made("y ~ " + first + " * " + second + " * " + kernels, table);
  options.seed = 3;
  options.stated_in_units = false;  // 0.8 of the target's variance
  const Model model = made.model(options);
  const at::Tensor f = model(made.batch()).to(at::kDouble);
  at::Tensor expected = network_covariance(first, 4) * network_covariance(second, 5);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) {
      const double r = (made.rows.x[i][0] - made.rows.x[j][0]).item<double>() / 40.0;
      const double s = std::sqrt(3.0) * std::abs((made.rows.x[i][1] - made.rows.x[j][1]).item<double>()) / 2.0;
      const double k = 0.8 * std::exp(-0.5 * r * r) * (1.0 + s) * std::exp(-s);
      const at::Tensor products = f.select(1, i) * f.select(1, j);
      const double error = products.std().item<double>() / std::sqrt(static_cast<double>(kMembers));
      EXPECT_NEAR(products.mean().item<double>(), expected[i][j].item<double>() * k, 5.0 * error + 1e-3)
          << i << " " << j;
    }
  }
}

// Sources and terms of any number: over members and rows of independent columns, variance one, mean zero.
TEST(Model, PriorVarianceIsOneAtTheStart) {
  at::NoGradGuard no_grad;
  for (const char* formula :
       {"y ~ mlp(a, b)", "y ~ mlp(a) * mlp(b) * mlp(floor)", "y ~ mlp(a) * rbf(day, points=12) + mlp(b)",
        "y ~ mlp(a) * (rbf(day, points=12) + periodic(day, points=12)) + rbf(a, points=12) + mlp(b)"}) {
    const ModelCase made(formula, mixed_table(1000, 6));
    ModelOptions options;
    options.members = 1000;
    options.layers = {16};
    const at::Tensor f = made.model(options)(made.batch()).to(at::kDouble);
    EXPECT_NEAR(f.square().mean().item<double>(), 1.0, 0.12) << formula;
    EXPECT_NEAR(f.mean().item<double>(), 0.0, 0.05) << formula;
  }
}

const std::vector<std::string> kEveryMap = {
    "y ~ mlp(a, site, norm=layer) + mlp(a) * mlp(b)",
    "y ~ mlp(a) * periodic(day, points=6) + linear(b) + constant()",
    "y ~ mlp(a) * (rbf(day, points=6) + periodic(day) * rbf(day))",
    "y ~ rbf(day, points=9) + matern32(a, b, points=8)",
    "y ~ mlp(a) * rbf(day, b, train_points=yes, points=5)",
    "y ~ rbf(day, features=fourier, points=8) + mlp(b) * matern12(a, b, features=fourier, points=7)",
    "y ~ rbf(day, features=hilbert, points=8) + mlp(b) * rbf(day, a, features=hilbert, points=9)",
    "log(y) ~ categorical(site) * rbf(day, placement=pivoted_cholesky, points=9) + categorical(floor)",
    "y ~ spectral_mixture(day, components=2, points=8) + polynomial(a, degree=3)",
};

TEST(Model, RestoredFromItsStateItIsTheSameBitForBit) {
  for (const std::string& formula : kEveryMap) {
    const ModelCase made(formula, mixed_table(40, 7));
    Model model = made.model(two_members());
    for (const NamedTensor& each : model.network_parameters()) {
      each.value.detach().add_(0.3 * normals(each.value.sizes(), seed_for(9, each.path)));
    }
    if (model.has_kernels()) {
      for (const NamedTensor& each : model.kernel_parameters()) {
        each.value.detach().add_(0.1 * normals(each.value.sizes(), seed_for(9, each.path)));
      }
    }
    const Model again(model.spec(), made.plan.encoder, model.state(), two_members());
    EXPECT_TRUE(again(made.batch()).equal(model(made.batch()))) << formula;
    EXPECT_EQ(again.features(), model.features()) << formula;
    EXPECT_EQ(again.trainable(), model.trainable()) << formula;
    if (model.spec().kernels_only()) {
      EXPECT_TRUE(again.linear_features(made.rows.x).equal(model.linear_features(made.rows.x))) << formula;
      EXPECT_TRUE(again.missed_variance(made.batch()).equal(model.missed_variance(made.batch()))) << formula;
    }
    const TensorState state = model.state(), second = again.state();
    ASSERT_EQ(state.size(), second.size()) << formula;
    for (std::size_t i = 0; i < state.size(); ++i) {
      EXPECT_EQ(state[i].first, second[i].first);
      EXPECT_TRUE(state[i].second.equal(second[i].second)) << state[i].first;
    }
  }
}

TEST(Model, StatesThatDoNotFitAreRefused) {
  for (const std::string& formula : kEveryMap) {
    const ModelCase made(formula, mixed_table(40, 7));
    const Model model = made.model(two_members());
    const TensorState state = model.state();
    const auto refused = [&](const TensorState& damaged) {
      const auto make = [&] { Model(model.spec(), made.plan.encoder, damaged, two_members()); };
      const std::string message = message_of<DataError>(make);
      return !message.empty() && !message.starts_with("other: ");
    };
    ASSERT_FALSE(refused(state)) << formula;
    for (std::size_t i = 0; i < state.size(); ++i) {
      const at::Tensor& tensor = state[i].second;
      TensorState damaged = state;
      damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_TRUE(refused(damaged)) << formula << ": without " << state[i].first;
      damaged = state;
      damaged[i].second = tensor.unsqueeze(0);
      EXPECT_TRUE(refused(damaged)) << formula << ": one axis more, " << state[i].first;
      damaged[i].second = at::cat({tensor, tensor}, tensor.dim() - 1);
      EXPECT_TRUE(refused(damaged)) << formula << ": twice as long, " << state[i].first;
      damaged[i].second = tensor.to(tensor.scalar_type() == at::kDouble ? at::kFloat : at::kDouble);
      EXPECT_TRUE(refused(damaged)) << formula << ": another type, " << state[i].first;
    }
  }
  const ModelCase made("y ~ mlp(a)", mixed_table(9, 7));
  const Model model = made.model(two_members());
  EXPECT_EQ(message_of<DataError>([&] { Model(model.spec(), made.plan.encoder, TensorState{}, two_members()); }),
            "the model's weights have no tensor named \"term1.mlp1.layer1.weight\"");
  TensorState state = model.state();
  state.back().second = at::zeros({3, 1}, at::kFloat);
  EXPECT_EQ(message_of<DataError>([&] { Model(model.spec(), made.plan.encoder, state, two_members()); }),
            "the model's tensor \"bias\" has another shape or type than its formula needs");
}

class LinearModel : public testing::Test {
 protected:
  const ModelCase made_{
      "y ~ rbf(day, points=6, variance=2) + matern32(a, b, points=5, variance=0.7) + periodic(day, points=4)",
      mixed_table(30, 8)};
  Model model_ = made_.model(two_members());
};

TEST_F(LinearModel, IsItsFeaturesTimesItsWeights) {
  at::NoGradGuard no_grad;
  const at::Tensor phi = model_.linear_features(made_.rows.x);
  ASSERT_EQ(phi.sizes(), (std::vector<std::int64_t>{2, 30, model_.features() + 1}));
  std::vector<at::Tensor> parts;
  for (const NamedTensor& each : model_.network_parameters()) parts.push_back(each.value.to(at::kDouble));
  const at::Tensor started = at::cat(parts, 1).unsqueeze(2);  // weights of the terms, then the bias
  EXPECT_TRUE(at::allclose(model_(made_.batch()).to(at::kDouble), phi.matmul(started).squeeze(2), 1e-5, 1e-5));

  const at::Tensor weights = normals({2, model_.features() + 1}, 4);
  model_.set_linear_weights(weights);
  EXPECT_TRUE(
      at::allclose(model_(made_.batch()).to(at::kDouble), phi.matmul(weights.unsqueeze(2)).squeeze(2), 1e-5, 1e-5));
}

// Stationary kernels: k(x, x) is the sum of variances, over three products.
TEST_F(LinearModel, VarianceAndWhatTheFeaturesMiss) {
  at::NoGradGuard no_grad;
  const double periodic = model_.kernel().parameters().natural("term3.day.periodic.variance")[0][0].item<double>();
  const at::Tensor prior = model_.prior_variance(made_.rows.x);
  const double unit = stated_variance_unit(made_.plan.spec, made_.plan.encoder);  // a third of the target's variance
  EXPECT_TRUE(at::allclose(prior[0], at::full({30}, (2.7 / unit + periodic) / 3.0, at::kDouble), 1e-12));
  const at::Tensor phi = model_.linear_features(made_.rows.x).narrow(2, 0, model_.features());
  const at::Tensor missed = prior - phi.square().sum(2);
  EXPECT_TRUE(at::allclose(model_.missed_variance(made_.batch()), missed, 1e-6, 1e-6));
  const std::vector<at::Tensor> residuals = model_.residuals(made_.rows.x);
  ASSERT_EQ(residuals.size(), 3u);
  EXPECT_TRUE(at::allclose(residuals[0] + residuals[1] + residuals[2], missed, 1e-6, 1e-6));
  EXPECT_GT(missed.max().item<double>(), 0.01);  // six points are too few: there is something to miss
}

TEST(Model, CountsWhatIsTrained) {
  const ModelCase made("y ~ mlp(a, b, layers=[3]) * periodic(day, period=fixed(1y), points=4) + rbf(a, points=5)",
                       mixed_table(30, 9));
  // E (2 * 3 + 3 + 3 * 4 + 4 of the network, 5 weights, 1 bias, variance and lengthscale of both kernels)
  EXPECT_EQ(made.model(two_members()).trainable(), 2 * (25 + 5 + 1 + 2 + 2));
}

}  // namespace
}  // namespace ick
