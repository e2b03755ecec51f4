#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ick/net/spec.h"

namespace ick {

// A trainable tensor by its path: term1.mlp.layer1.weight.
struct NamedTensor {
  std::string path;
  at::Tensor value;    // float32 leaf that requires a gradient
  bool decays = true;  // weight decay applies: weights yes; biases and norms no
};

// Tensors by their paths, in order: what is kept of a model, or of a part of it.
using TensorState = std::vector<std::pair<std::string, at::Tensor>>;
at::Tensor find_tensor(const TensorState& state, std::string_view path);  // undefined when absent

// Features that a pair of vectors makes by all products of an element of each:  sum_ij w_ij left_i right_j
struct BilinearFeatures {
  at::Tensor left;   // (E, B, I); undefined: a single one
  at::Tensor right;  // (E, B, J)
};

// A fully connected network as a draw of a prior:
//   a_1 = x W_1 + b_1,   a_{l+1} = phi(a_l) W_{l+1} + b_{l+1},   weights N(0, weight / fan-in), biases N(0, bias)
// The last layer is the output's.
struct DensePrior {
  struct Layer {
    double weight = 1.0, bias = 0.0;
  };
  std::string activation;  // relu, gelu, silu, tanh or erf
  bool layer_norm = false;
  std::vector<Layer> layers;
};

// f(x): E networks at once, on the columns or the image of one source. Outputs start as draws of a prior with mean 0
// and variance about one for standardised inputs.
class Network {
 public:
  virtual ~Network() = default;
  virtual std::int64_t outputs() const = 0;  // p

  // x (B, F) or (E, B, F), of networks on images (B, C H W + F), pixels first, in float32 -> (E, B, p). A generator
  // makes this a step of training: dropout is on, and norms over the batch are of this batch and learn from it.
  virtual at::Tensor operator()(const at::Tensor& x, const std::optional<at::Generator>& training = {}) const = 0;

  // The last layer is linear: f(x) = hidden(x) W + b, hidden (E, B, H), W (E, H, p), b (E, 1, p).
  virtual at::Tensor hidden(const at::Tensor& x, const std::optional<at::Generator>& training = {}) const = 0;
  virtual const at::Tensor& last_weight() const = 0;
  virtual const at::Tensor& last_bias() const = 0;

  virtual std::vector<NamedTensor> parameters() const = 0;  // paths below the network: layer1.weight
  // What is kept with the parameters but not learned by gradients: running means of norms, (E, ...); anything that
  // comes with the network from elsewhere.
  virtual std::vector<NamedTensor> buffers() const { return {}; }

  // The distribution that parameters are drawn from at the start; no value for a network that is not fully connected.
  virtual std::optional<DensePrior> dense_prior() const { return std::nullopt; }

  // The derivative of sum_k f_k(x) s_k in the weights and biases of each layer, at their present values, in units of
  // their prior sds, for `signal` s (1 or E, B, p): layer l's are left_i right_j with
  //   left = (sqrt(var W_l) h_{l-1}, sqrt(var b_l)),   right = d(sum_k f_k s_k) / d a_l.
  // First layer first. UsageError for a network without dense_prior(), or with a layer norm.
  virtual std::vector<BilinearFeatures> tangents(const at::Tensor& x, const at::Tensor& signal) const;
};

// What a network is made with, besides its arguments in the formula.
struct NetworkContext {
  std::int64_t inputs = 1;   // F; of networks on images what they read besides
  ImageShape image;          // C, H, W, for networks on images
  std::int64_t outputs = 1;  // p
  std::int64_t members = 1;  // E
  std::uint64_t seed = 0;
  std::vector<std::int64_t> default_layers = {128, 64};  // hidden widths when the formula gives none
  // A buffer of the network that this one is to be again, by its path; null when it is made for the first time.
  std::function<at::Tensor(const std::string& path)> stored;
  bool trust = false;  // code that came with a stored network may run
};

struct NetworkArgument {
  std::string_view name, text, default_text;
};

enum class Reads { columns, image };

// One kind of network, by its name in formulas.
struct NetworkRow {
  std::string_view name, text;
  std::span<const NetworkArgument> arguments;
  std::unique_ptr<Network> (*make)(const NetworkSpec& network, const NetworkContext& context) = nullptr;
  Reads reads = Reads::columns;
  bool brings_code = false;  // its own code runs when a stored network is made again
};

std::span<const NetworkRow> network_table();
void add_network(const NetworkRow& row);                // see extend.h; UsageError when the name is taken
const NetworkRow* find_network(std::string_view name);  // null when there is none of that name
bool brings_code(const Expression& expression);         // true of any of its networks

// UsageError that names the column of the formula when its arguments are not those of such a network.
std::unique_ptr<Network> make_network(const NetworkSpec& network, const NetworkContext& context);

}  // namespace ick
