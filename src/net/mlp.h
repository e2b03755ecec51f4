#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ick/net/network.h"
#include "net/parts.h"

namespace ick {

struct MlpOptions {
  std::vector<std::int64_t> layers;  // hidden widths, inputs first
  Activation activation;
  double dropout = 0.0;     // share of hidden units left out, in [0, 1)
  bool layer_norm = false;  // before the activation
};

// Fully connected layers, the last one linear:
//   h_0 = x,   h_l = dropout(phi(norm(h_{l-1} W_l + b_l))),   f(x) = h_L W + b
class Mlp : public Network {
 public:
  Mlp(MlpOptions options, const NetworkContext& context);

  const MlpOptions& options() const { return options_; }
  bool fuses() const;  // the fast path is supported: no dropout, no norm, float32
  std::int64_t inputs() const { return layers_.front().weight.size(1); }
  std::int64_t outputs() const override { return layers_.back().weight.size(2); }
  at::Tensor operator()(const at::Tensor& x, const std::optional<at::Generator>& dropout = {}) const override;
  at::Tensor hidden(const at::Tensor& x, const std::optional<at::Generator>& dropout = {}) const override;
  const at::Tensor& last_weight() const override { return layers_.back().weight; }
  const at::Tensor& last_bias() const override { return layers_.back().bias; }
  std::vector<NamedTensor> parameters() const override;
  std::optional<DensePrior> dense_prior() const override;
  std::vector<BilinearFeatures> tangents(const at::Tensor& x, const at::Tensor& signal) const override;

  // The fast path without gradients, for x (B, F) in float32: use(member, first, rows, f) for all members and chunks of
  // rows first .. first + rows - 1, in any order, by any worker; f (p, rows) as in net/float_rows.h.
  using UseChunk = std::function<void(std::int64_t member, std::int64_t first, int rows, const float* f)>;
  void visit(const at::Tensor& x, const UseChunk& use) const;

 private:
  at::Tensor fused(const at::Tensor& x) const;      // without gradients
  at::Tensor inputs_of(const at::Tensor& x) const;  // checked, of the parameters' type: (E, B, F)

  struct Layer {
    std::string name;                                   // layer1, layer2, ..., output
    at::Tensor weight, bias;                            // (E, in, out), (E, 1, out)
    at::Tensor scale, shift;                            // (E, 1, out) of the layer norm, undefined without one
    double weight_variance = 0.0, bias_variance = 0.0;  // of the draws at the start
  };

  MlpOptions options_;
  std::vector<Layer> layers_;  // the last one is the output's
};

inline constexpr std::array kMlpArguments = {
    NetworkArgument{"layers", "hidden widths: one whole number or a list; below 1000 rows the default is halved",
                    "[128, 64]"},
    NetworkArgument{"activation", "relu, gelu, silu, tanh or erf", "gelu"},
    NetworkArgument{"dropout", "share of hidden units left out in training, from 0 to below 1", "0"},
    NetworkArgument{"norm", "layer (before each activation) or none", "none"}};

std::unique_ptr<Network> make_mlp(const NetworkSpec& network, const NetworkContext& context);

}  // namespace ick
