#include "net/fused_mlp.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "net/parts.h"

namespace ick {
namespace {

at::Tensor normals(at::IntArrayRef sizes, std::uint64_t seed) {
  Random random(seed);
  at::Tensor all = at::empty(sizes, at::kFloat);
  for (std::int64_t i = 0; i < all.numel(); ++i) all.data_ptr<float>()[i] = static_cast<float>(random.normal());
  return all;
}

TEST(FusedProduct, IsTheNaiveSum) {
  for (const auto& [m, n, k] : {std::tuple{1, 8, 1}, {5, 16, 3}, {6, 24, 17}, {7, 40, 50}, {23, 56, 9}, {64, 8, 33}}) {
    const at::Tensor a = normals({m, k}, 1), b = normals({k, n}, 2), to = at::zeros({m, n}, at::kFloat);
    fused_product(m, n, k, a.data_ptr<float>(), k, 1, b.data_ptr<float>(), n, to.data_ptr<float>(), n);
    const at::Tensor expected = a.to(at::kDouble).matmul(b.to(at::kDouble));
    EXPECT_LT((to - expected).abs().max().item<double>(), 1e-5) << m << " " << n << " " << k;

    const at::Tensor turned = a.t().contiguous();  // the same with a stored by columns
    to.zero_();
    fused_product(m, n, k, turned.data_ptr<float>(), 1, m, b.data_ptr<float>(), n, to.data_ptr<float>(), n);
    EXPECT_LT((to - expected).abs().max().item<double>(), 1e-5);
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
  const at::Tensor x = normals({of.rows, of.widths[0]}, 11);
  at::Tensor h = x.to(at::kDouble);
  for (std::size_t l = 0; l + 1 < of.widths.size(); ++l) {
    const int in = of.widths[l], out = of.widths[l + 1];
    weights.push_back(normals({in, out}, 20 + l) / std::sqrt(in));
    biases.push_back(normals({out}, 40 + l));
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
    const float* const f = network.forward(x.data_ptr<float>(), of.rows);
    const at::Tensor outputs = at::from_blob(const_cast<float*>(f), {of.rows, network.stride()}, at::kFloat)
                                   .narrow(1, 0, network.outputs())
                                   .clone();
    EXPECT_LT((outputs - h.detach()).abs().max().item<double>(), 5e-6);
    const at::Tensor signal = normals({of.rows, network.outputs()}, 60);
    for (int r = 0; r < of.rows; ++r) {
      std::copy_n(signal[r].data_ptr<float>(), network.outputs(), network.d_outputs() + r * network.stride());
    }
    network.backward(gradients);
    if (twice == 0) (h * signal).sum().backward();
    for (std::size_t l = 0; l < weights.size(); ++l) {
      const double scale = 1.0 + exact_weights[l].grad().abs().max().item<double>();
      EXPECT_LT((d_weights[l] - exact_weights[l].grad()).abs().max().item<double>(), 3e-6 * scale) << "layer " << l;
      EXPECT_LT((d_biases[l] - exact_biases[l].grad()).abs().max().item<double>(), 3e-6 * scale) << "layer " << l;
    }
    const at::Tensor more = normals({kChunkRows, of.widths[0]}, 70);
    if (twice == 0) network.forward(more.data_ptr<float>(), kChunkRows);
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
    const float* const f = network.forward(x.data_ptr<float>(), static_cast<int>(x.numel()));
    const at::Tensor expected = find_activation(name)->value(x.to(at::kDouble));
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double exact = expected[i].item<double>();
      EXPECT_NEAR(f[i * network.stride()], exact, 3e-7 * (1.0 + std::abs(exact)))
          << name << " of " << x[i].item<float>();
    }
  }
}

}  // namespace
}  // namespace ick
