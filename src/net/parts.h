#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ick/net/network.h"
#include "net/arguments.h"

// What networks are built of. Parameters have the leading axis E; paths are below the network.
namespace ick {

struct Activation {
  std::string_view name;
  at::Tensor (*value)(const at::Tensor&) = nullptr;
  at::Tensor (*slope)(const at::Tensor&) = nullptr;  // its derivative
  bool monotone = true;                              // never falls
};

const Activation* find_activation(std::string_view name);  // null when there is none of that name
// The one that `activation` names; `otherwise` when it does not say.
Activation activation_of(const Arguments& arguments, std::string_view otherwise);

// E[phi(sqrt(q) z)^2], z ~ N(0, 1): (n) -> (n), in float64
at::Tensor mean_square(const Activation& phi, const at::Tensor& q);

// Share of a hidden unit's variance that its bias has at the start. A unit bends near x = -b / w: with biases of zero
// all units of a network on one column would bend at its mean.
inline constexpr double kBiasShare = 0.2;
inline constexpr double kNormEpsilon = 1e-5;

// (E, sizes) from N(0, variance), a leaf; a member's draws depend on the path and on which member it is, not on E.
at::Tensor draw(const NetworkContext& context, const std::string& path, at::IntArrayRef sizes, double variance);

// Leaves out a share of the elements and scales the others up; h itself without a generator.
at::Tensor drop(const at::Tensor& h, double share, const std::optional<at::Generator>& training);

// The tensors of a network while it is made, (E, sizes) each.
class TensorList {
 public:
  explicit TensorList(const NetworkContext& context) : context_(&context) {}
  at::Tensor weight(const std::string& path, at::IntArrayRef sizes, double variance);      // decays
  at::Tensor bias(const std::string& path, at::IntArrayRef sizes, double variance = 0.0);  // does not
  at::Tensor constant(const std::string& path, at::IntArrayRef sizes, double value);       // a start; does not decay
  at::Tensor buffer(const std::string& path, at::IntArrayRef sizes, double value);
  void keep(NamedTensor parameter) { parameters_.push_back(std::move(parameter)); }
  void keep_buffer(NamedTensor buffer) { buffers_.push_back(std::move(buffer)); }

  const NetworkContext& context() const { return *context_; }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<NamedTensor>& buffers() const { return buffers_; }

 private:
  const NetworkContext* context_;
  std::vector<NamedTensor> parameters_, buffers_;
};

inline constexpr double kNoBias = -1.0;  // as the variance of a bias: there is none

// h W + b
struct Dense {
  Dense() = default;
  Dense(TensorList& list, const std::string& path, std::int64_t in, std::int64_t out, double weight_variance,
        double bias_variance = 0.0);
  at::Tensor operator()(const at::Tensor& h) const;  // (E, n, in) -> (E, n, out)

  at::Tensor weight, bias;  // (E, in, out), (E, 1, out) or undefined
};

// scale (h - mean h) / sqrt(var h + eps) + shift, over the last axis.
struct LayerNorm {
  LayerNorm() = default;
  LayerNorm(TensorList& list, const std::string& path, std::int64_t width, double scale_start = 1.0);
  at::Tensor operator()(const at::Tensor& h) const;  // (E, n, width)

  at::Tensor scale, shift;  // (E, 1, width)
};

enum class ImageNorm { batch, group, none };

// norm(W * x + b), the image's size kept but for the stride. Convolutions of one member at a time: those of 10 members
// on 128 images of 28 x 28 take 280 ms as a loop, 500 ms as one grouped convolution; and without gradients, memory is
// that of one member.
struct Convolution {
  struct Options {
    std::int64_t in = 1, out = 1, kernel = 3, stride = 1;
    double weight_variance = 1.0, bias_variance = kNoBias;
    ImageNorm norm = ImageNorm::none;
    double scale_start = 1.0;  // of the norm
  };
  Convolution() = default;
  Convolution(TensorList& list, const std::string& path, const Options& options);

  std::vector<Convolution> members() const;                         // without the axis E
  at::Tensor operator()(const at::Tensor& x, bool training) const;  // of one member: (B, in, H, W) -> (B, out, H', W')

  Options options;
  at::Tensor weight, bias;    // (E, out, in, k, k), (E, out) or undefined
  at::Tensor scale, shift;    // (E, out) of the norm, undefined without one
  at::Tensor mean, variance;  // (E, out) running means of batches: 9/10 of what they were at each step of training
};

// (E, ...) -> E times (...). The gradient of all members is put together once; that of selects would be summed up in
// E tensors of full size.
std::vector<at::Tensor> unbind_members(const at::Tensor& all, std::int64_t members);
at::Tensor stack_members(const std::vector<at::Tensor>& members);  // E times (...) -> (E, ...)

// Hidden layers and the last, linear one, on `in` numbers of E[h^2] = square and, behind them, the network's further
// inputs, which are standardised:
//   h_l = dropout(phi(h_{l-1} W_l + b_l)),   f = h_L W + b
struct Readout {
  Readout() = default;
  Readout(TensorList& list, std::int64_t in, const std::vector<std::int64_t>& widths, const Activation& activation,
          double dropout, double square);
  at::Tensor hidden(at::Tensor h, const std::optional<at::Generator>& training) const;  // (E, B, in) -> (E, B, H)

  std::vector<Dense> layers;  // layer1, layer2, ..., output
  Activation activation;
  double dropout = 0.0;
};

// A readout of what `embed` makes of images, and of further numbers.
class ImageNetwork : public Network {
 public:
  std::int64_t outputs() const override { return last_weight().size(2); }
  at::Tensor operator()(const at::Tensor& x, const std::optional<at::Generator>& training = {}) const override;
  at::Tensor hidden(const at::Tensor& x, const std::optional<at::Generator>& training = {}) const override;
  const at::Tensor& last_weight() const override { return readout_.layers.back().weight; }
  const at::Tensor& last_bias() const override { return readout_.layers.back().bias; }
  std::vector<NamedTensor> parameters() const override { return parameters_; }
  std::vector<NamedTensor> buffers() const override { return buffers_; }

 protected:
  explicit ImageNetwork(const NetworkContext& context)
      : image_(context.image), members_(context.members), inputs_(context.inputs) {}
  // The last step of a constructor: everything that was put on the list is the network's.
  void finish(const TensorList& list, Readout readout);

  // x (B, C, H, W), of the parameters' type -> (E, B, in)
  virtual at::Tensor embed(const at::Tensor& x, const std::optional<at::Generator>& training) const = 0;

  ImageShape image_;
  std::int64_t members_, inputs_;

 private:
  Readout readout_;
  std::vector<NamedTensor> parameters_, buffers_;
};

}  // namespace ick
