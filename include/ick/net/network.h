#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ick/formula/expression.h"

namespace ick {

// A trainable tensor by its path: term1.mlp.layer1.weight.
struct NamedTensor {
  std::string path;
  at::Tensor value;    // float32 leaf that requires a gradient
  bool decays = true;  // weight decay applies: weights yes; biases and norms no
};

// f(x): E networks at once, on the columns of one source. Outputs start as draws of a prior with mean 0 and variance
// about one for standardised inputs.
class Network {
 public:
  virtual ~Network() = default;
  virtual std::int64_t outputs() const = 0;  // p

  // x (B, F) or (E, B, F) in float32 -> (E, B, p). Dropout is on when a generator is given.
  virtual at::Tensor operator()(const at::Tensor& x, const std::optional<at::Generator>& dropout = {}) const = 0;

  // The last layer is linear: f(x) = hidden(x) W + b, hidden (E, B, H), W (E, H, p), b (E, 1, p).
  virtual at::Tensor hidden(const at::Tensor& x, const std::optional<at::Generator>& dropout = {}) const = 0;
  virtual const at::Tensor& last_weight() const = 0;
  virtual const at::Tensor& last_bias() const = 0;

  virtual std::vector<NamedTensor> parameters() const = 0;  // paths below the network: layer1.weight
};

// What a network is made with, besides its arguments in the formula.
struct NetworkContext {
  std::int64_t inputs = 1;   // F
  std::int64_t outputs = 1;  // p
  std::int64_t members = 1;  // E
  std::uint64_t seed = 0;
  std::vector<std::int64_t> default_layers = {128, 64};  // hidden widths when the formula gives none
};

struct NetworkArgument {
  std::string_view name, text, default_text;
};

// One kind of network, by its name in formulas.
struct NetworkRow {
  std::string_view name, text;
  std::span<const NetworkArgument> arguments;
  std::unique_ptr<Network> (*make)(const Call& call, const NetworkContext& context) = nullptr;
};

std::span<const NetworkRow> network_table();
const NetworkRow* find_network(std::string_view name);  // null when there is none of that name

}  // namespace ick
