#include "net/fused_mlp.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "net/parts.h"

namespace ick {
namespace {

at::Tensor float_normals(at::IntArrayRef sizes, std::uint64_t seed) {
  Random random(seed);
  at::Tensor all = at::empty(sizes, at::kFloat);
  for (std::int64_t i = 0; i < all.numel(); ++i) all.data_ptr<float>()[i] = static_cast<float>(random.normal());
  return all;
}

FloatColumns turned(const at::Tensor& rows) {  // (rows, columns)
  FloatColumns columns = float_columns(static_cast<int>(rows.size(1)));
  turn_in({rows.data_ptr<float>(), rows.stride(0), rows.stride(1)}, static_cast<int>(rows.size(0)),
          static_cast<int>(rows.size(1)), columns.data());
  return columns;
}

at::Tensor turned_back(const float* columns, int rows, int count) {
  at::Tensor all = at::full({rows, count}, 7.0F);
  turn_out(columns, rows, count, {all.data_ptr<float>(), count});
  return all;
}

TEST(FloatRows, TurnThereAndBackFromEitherOrder) {
  for (const int rows : {1, 7, 8, 50, kChunkRows}) {
    const at::Tensor x = float_normals({rows, 5}, 3), by_columns = float_normals({5, rows}, 4).t();
    for (const at::Tensor& each : {x, by_columns}) {
      FloatColumns columns = turned(each);
      for (int c = 0; c < 5; ++c) {
        for (int r = 0; r < rows; ++r) ASSERT_EQ(columns[c * kRowsApart + r], each[r][c].item<float>());
        for (int r = rows; r < whole_floats(rows); ++r) ASSERT_EQ(columns[c * kRowsApart + r], 0.0F);
      }
      EXPECT_TRUE(turned_back(columns.data(), rows, 5).equal(each));
      at::Tensor other = at::zeros({5, rows}, at::kFloat);
      turn_out(columns.data(), rows, 5, {other.data_ptr<float>(), 1, rows});
      EXPECT_TRUE(other.t().equal(each));
    }
  }
}

TEST(FusedProduct, IsTheNaiveSum) {
  for (const auto& [m, rows, k] :
       {std::tuple{1, 8, 1}, {5, 16, 3}, {6, 24, 17}, {7, 40, 50}, {23, 57, 9}, {64, 3, 33}, {4, 256, 2}}) {
    const at::Tensor a = float_normals({m, k}, 1), b = float_normals({rows, k}, 2);
    const FloatColumns columns = turned(b);
    FloatColumns to = float_columns(m);
    fused_product(m, k, a.data_ptr<float>(), k, 1, columns.data(), rows, to.data());
    const at::Tensor expected = b.to(at::kDouble).matmul(a.to(at::kDouble).t());
    EXPECT_LT((turned_back(to.data(), rows, m) - expected).abs().max().item<double>(), 1e-5) << m << " " << rows;

    const at::Tensor by_columns = a.t().contiguous();  // the same with a stored by columns
    to = float_columns(m);
    fused_product(m, k, by_columns.data_ptr<float>(), 1, m, columns.data(), rows, to.data());
    EXPECT_LT((turned_back(to.data(), rows, m) - expected).abs().max().item<double>(), 1e-5);
  }
}

TEST(FusedOuter, IsTheNaiveSumOverRows) {
  for (const auto& [m, n, rows] : {std::tuple{1, 1, 1}, {3, 4, 8}, {4, 5, 17}, {7, 6, 50}, {2, 19, 256}}) {
    const at::Tensor a = float_normals({rows, m}, 1), b = float_normals({rows, n}, 2);
    const at::Tensor to = at::full({m, n}, 7.0F);
    fused_outer(m, n, turned(a).data(), turned(b).data(), rows, to.data_ptr<float>());
    const at::Tensor expected = a.to(at::kDouble).t().matmul(b.to(at::kDouble));
    EXPECT_LT((to - expected).abs().max().item<double>(), 2e-5) << m << " " << n << " " << rows;
  }
}

struct Case {
  std::vector<int> widths;
  int rows;
};

struct FusedNetwork : testing::TestWithParam<std::tuple<std::string, Case>> {};

TEST_P(FusedNetwork, EqualsAutogradInDoublePrecision) {
  const auto& [activation, of] = GetParam();
  const Activation* phi = find_activation(activation);
  ASSERT_TRUE(FusedMlp::knows(activation));
  std::vector<at::Tensor> weights, biases, d_weights, d_biases, exact_weights, exact_biases;
  std::vector<FusedLayer> layers;
  std::vector<FusedLayerGradient> gradients;
  const at::Tensor x = float_normals({of.rows, of.widths[0]}, 11);
  at::Tensor h = x.to(at::kDouble);
  for (std::size_t l = 0; l + 1 < of.widths.size(); ++l) {
    const int in = of.widths[l], out = of.widths[l + 1];
    weights.push_back(float_normals({in, out}, 20 + l) / std::sqrt(in));
    biases.push_back(float_normals({out}, 40 + l));
    d_weights.push_back(at::full({in, out}, 7.0F));
    d_biases.push_back(at::full({out}, 7.0F));
    layers.push_back({weights[l].data_ptr<float>(), biases[l].data_ptr<float>(), in, out});
    gradients.push_back({d_weights[l].data_ptr<float>(), d_biases[l].data_ptr<float>()});
    exact_weights.push_back(weights[l].to(at::kDouble).requires_grad_(true));
    exact_biases.push_back(biases[l].to(at::kDouble).requires_grad_(true));
    h = h.matmul(exact_weights[l]) + exact_biases[l];
    if (l + 2 < of.widths.size()) h = phi->value(h);
  }
  FusedMlp network(layers, activation, true);
  for (int twice = 0; twice < 2; ++twice) {  // nothing is left over from a first pass on more rows
    network.load(layers);
    const FloatColumns columns = turned(x);
    const at::Tensor outputs = turned_back(network.forward(columns.data(), of.rows), of.rows, network.outputs());
    EXPECT_LT((outputs - h.detach()).abs().max().item<double>(), 5e-6);
    const at::Tensor signal = float_normals({of.rows, network.outputs()}, 60);
    turn_in({signal.data_ptr<float>(), network.outputs()}, of.rows, network.outputs(), network.d_outputs());
    network.backward(gradients);
    if (twice == 0) (h * signal).sum().backward();
    for (std::size_t l = 0; l < weights.size(); ++l) {
      const double scale = 1.0 + exact_weights[l].grad().abs().max().item<double>();
      EXPECT_LT((d_weights[l] - exact_weights[l].grad()).abs().max().item<double>(), 3e-6 * scale) << "layer " << l;
      EXPECT_LT((d_biases[l] - exact_biases[l].grad()).abs().max().item<double>(), 3e-6 * scale) << "layer " << l;
    }
    if (twice == 0) network.forward(turned(float_normals({kChunkRows, of.widths[0]}, 70)).data(), kChunkRows);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, FusedNetwork,
                         testing::Combine(testing::Values("relu", "gelu", "silu", "tanh", "erf"),
                                          testing::Values(Case{{13, 128, 32, 32, 16}, 50}, Case{{6, 50, 50, 16}, 256},
                                                          Case{{1, 3, 1}, 1}, Case{{2, 7, 64}, 37})));

TEST(FusedActivations, HoldOverTheWholeRange) {
  // One input, one unit, weight one: the hidden unit is phi(x) itself and the output passes it on.
  const float one = 1.0F, zero = 0.0F;
  const std::vector<FusedLayer> layers = {{&one, &zero, 1, 1}, {&one, &zero, 1, 1}};
  for (const char* name : {"relu", "gelu", "silu", "tanh", "erf"}) {
    FusedMlp network(layers, name, true);
    network.load(layers);
    const at::Tensor x =
        at::cat({at::linspace(-30.0, 30.0, 200, at::kFloat), at::tensor({-200.0F, -1e-3F, 1e-3F, 200.0F})});
    const FloatColumns columns = turned(x.unsqueeze(1));
    const float* const f = network.forward(columns.data(), static_cast<int>(x.numel()));
    const at::Tensor expected = find_activation(name)->value(x.to(at::kDouble));
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double exact = expected[i].item<double>();
      EXPECT_NEAR(f[i], exact, 3e-7 * (1.0 + std::abs(exact))) << name << " of " << x[i].item<float>();
    }
  }
}

}  // namespace
}  // namespace ick
