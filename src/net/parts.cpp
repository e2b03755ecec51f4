#include "net/parts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

// Time forward and backward on (8, 512, 128), one core: relu 0.2 ms, silu 1.0, gelu 1.1, tanh 2.0, erf 4.3; the matrix
// products of such a layer take 6.6. The default, gelu, is smooth, so that a network's draws are, for a seventh more
// time than relu. Logistic units are left out: their mean of a half makes deep networks start almost constant.
constexpr std::array kActivations = {
    Activation{"relu", [](const at::Tensor& z) { return at::relu(z); },
               [](const at::Tensor& z) { return at::heaviside(z, at::zeros({}, z.options())); }},
    // z Phi(z), Phi(z) + z Phi'(z)
    Activation{"gelu", [](const at::Tensor& z) { return at::gelu(z); },
               [](const at::Tensor& z) {
                 const at::Tensor density =
                     (-0.5 * z.square()).exp() * (0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
                 return 0.5 * at::erfc(-z / std::numbers::sqrt2) + z * density;
               },
               false},
    // z s(z), s (1 + z (1 - s)), s the logistic function
    Activation{"silu", [](const at::Tensor& z) { return at::silu(z); },
               [](const at::Tensor& z) {
                 const at::Tensor s = at::sigmoid(z);
                 return s * (1.0 + z * (1.0 - s));
               },
               false},
    Activation{"tanh", [](const at::Tensor& z) { return at::tanh(z); },
               [](const at::Tensor& z) { return 1.0 - at::tanh(z).square(); }},
    Activation{"erf", [](const at::Tensor& z) { return at::erf(z); },
               [](const at::Tensor& z) { return 2.0 * std::numbers::inv_sqrtpi * (-z.square()).exp(); }},
};

// (E, sizes)
std::vector<std::int64_t> with_members(const NetworkContext& context, at::IntArrayRef sizes) {
  std::vector<std::int64_t> all = {context.members};
  all.insert(all.end(), sizes.begin(), sizes.end());
  return all;
}

// Eight, or fewer of equal size where groups would have below four channels: a norm of each channel alone takes away
// how strong it is.
std::int64_t groups_of(std::int64_t channels) {
  std::int64_t groups = 8;
  while (groups > 1 && (channels % groups != 0 || channels / groups < 4)) groups /= 2;
  return groups;
}

}  // namespace

const Activation* find_activation(std::string_view name) {
  const auto* found =
      std::find_if(kActivations.begin(), kActivations.end(), [&](const auto& each) { return each.name == name; });
  return found == kActivations.end() ? nullptr : found;
}

Activation activation_of(const Arguments& arguments, std::string_view otherwise) {
  std::vector<std::string> names;
  for (const Activation& each : kActivations) names.emplace_back(each.name);
  const auto place = std::find(names.begin(), names.end(), otherwise) - names.begin();
  return kActivations[arguments.choice("activation", names, static_cast<std::size_t>(place))];
}

// By the trapezoidal rule; converges geometrically, also for a kink at 0.
at::Tensor mean_square(const Activation& phi, const at::Tensor& q) {
  constexpr std::int64_t kBlock = 4096;
  const at::Tensor z = at::linspace(-9.0, 9.0, 361, at::kDouble);
  const at::Tensor weight = at::softmax(-0.5 * z.square(), 0);
  std::vector<at::Tensor> squares;
  for (const at::Tensor& block : q.split(kBlock)) {
    squares.push_back(phi.value(block.sqrt().unsqueeze(1) * z).square().matmul(weight));
  }
  return at::cat(squares);
}

at::Tensor draw(const NetworkContext& context, const std::string& path, at::IntArrayRef sizes, double variance) {
  const at::Tensor tensor = at::zeros(with_members(context, sizes), at::kFloat);
  if (variance > 0.0) {
    float* place = tensor.data_ptr<float>();
    const std::int64_t count = tensor.numel() / context.members;
    const double sd = std::sqrt(variance);
    for (std::int64_t e = 0; e < context.members; ++e) {
      Random random(seed_for(context.seed, path + "#" + std::to_string(e)));
      for (std::int64_t i = 0; i < count; ++i) *place++ = static_cast<float>(sd * random.normal());
    }
  }
  return tensor.requires_grad_(true);
}

at::Tensor drop(const at::Tensor& h, double share, const std::optional<at::Generator>& training) {
  if (!training || share == 0.0) return h;
  const double keep = 1.0 - share;
  return h * at::empty(h.sizes(), h.options()).bernoulli_(keep, *training).div_(keep);
}

at::Tensor TensorList::weight(const std::string& path, at::IntArrayRef sizes, double variance) {
  return parameters_.emplace_back(path, draw(*context_, path, sizes, variance), true).value;
}

at::Tensor TensorList::bias(const std::string& path, at::IntArrayRef sizes, double variance) {
  return parameters_.emplace_back(path, draw(*context_, path, sizes, variance), false).value;
}

at::Tensor TensorList::constant(const std::string& path, at::IntArrayRef sizes, double value) {
  const at::Tensor start = at::full(with_members(*context_, sizes), value, at::kFloat);
  return parameters_.emplace_back(path, start.requires_grad_(true), false).value;
}

at::Tensor TensorList::buffer(const std::string& path, at::IntArrayRef sizes, double value) {
  return buffers_.emplace_back(path, at::full(with_members(*context_, sizes), value, at::kFloat), false).value;
}

Dense::Dense(TensorList& list, const std::string& path, std::int64_t in, std::int64_t out, double weight_variance,
             double bias_variance)
    : weight(list.weight(path + ".weight", {in, out}, weight_variance)) {
  if (bias_variance >= 0.0) bias = list.bias(path + ".bias", {1, out}, bias_variance);
}

at::Tensor Dense::operator()(const at::Tensor& h) const {
  return bias.defined() ? at::baddbmm(bias, h, weight) : at::bmm(h, weight);
}

LayerNorm::LayerNorm(TensorList& list, const std::string& path, std::int64_t width, double scale_start)
    : scale(list.constant(path + ".scale", {1, width}, scale_start)),
      shift(list.constant(path + ".shift", {1, width}, 0.0)) {}

at::Tensor LayerNorm::operator()(const at::Tensor& h) const {
  return at::addcmul(shift, at::layer_norm(h, {h.size(-1)}, {}, {}, kNormEpsilon), scale);
}

Convolution::Convolution(TensorList& list, const std::string& path, const Options& own)
    : options(own),
      weight(list.weight(path + ".weight", {own.out, own.in, own.kernel, own.kernel}, own.weight_variance)) {
  if (own.bias_variance >= 0.0) bias = list.bias(path + ".bias", {own.out}, own.bias_variance);
  if (own.norm == ImageNorm::none) return;
  scale = list.constant(path + ".norm.scale", {own.out}, own.scale_start);
  shift = list.constant(path + ".norm.shift", {own.out}, 0.0);
  if (own.norm == ImageNorm::group) return;
  mean = list.buffer(path + ".norm.mean", {own.out}, 0.0);
  variance = list.buffer(path + ".norm.variance", {own.out}, 1.0);
}

std::vector<at::Tensor> unbind_members(const at::Tensor& all, std::int64_t members) {
  if (!all.defined()) return std::vector<at::Tensor>(static_cast<std::size_t>(members));
  if (members == 1) return {all.squeeze(0)};  // whose gradient is not copied
  return all.unbind(0);
}

at::Tensor stack_members(const std::vector<at::Tensor>& members) {
  return members.size() == 1 ? members.front().unsqueeze(0) : at::stack(members);
}

std::vector<Convolution> Convolution::members() const {
  const std::int64_t count = weight.size(0);
  std::vector<Convolution> members(static_cast<std::size_t>(count), *this);
  for (const auto part : {&Convolution::weight, &Convolution::bias, &Convolution::scale, &Convolution::shift,
                          &Convolution::mean, &Convolution::variance}) {
    const std::vector<at::Tensor> own = unbind_members(this->*part, count);
    for (std::size_t e = 0; e < own.size(); ++e) members[e].*part = own[e];
  }
  return members;
}

at::Tensor Convolution::operator()(const at::Tensor& x, bool training) const {
  constexpr double kMomentum = 0.1;
  const at::Tensor z = at::conv2d(x, weight, bias, options.stride, options.kernel / 2);
  switch (options.norm) {
    case ImageNorm::none:
      return z;
    case ImageNorm::group:
      return at::group_norm(z, groups_of(options.out), scale, shift, kNormEpsilon);
    case ImageNorm::batch:
      break;
  }
  // One number has no variance: a batch of one row of one pixel is normalised as in use.
  const bool of_batch = training && z.numel() > z.size(1);
  return at::batch_norm(z, scale, shift, mean, variance, of_batch, kMomentum, kNormEpsilon, false);
}

// E[phi(a)^2] of a ~ N(0, 1) behind each hidden layer: its inputs have E[h^2] = square, and a bias its share.
Readout::Readout(TensorList& list, std::int64_t in, const std::vector<std::int64_t>& widths, const Activation& phi,
                 double dropout_share, double square)
    : activation(phi), dropout(dropout_share) {
  const auto own = static_cast<double>(in), further = static_cast<double>(list.context().inputs);
  square = (own * square + further) / (own + further);
  in += list.context().inputs;
  const double behind = mean_square(phi, at::ones({1}, at::kDouble)).item<double>();
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const double variance = (1.0 - kBiasShare) / (static_cast<double>(in) * square);
    layers.emplace_back(list, "layer" + std::to_string(l + 1), in, widths[l], variance, kBiasShare);
    in = widths[l], square = behind;
  }
  layers.emplace_back(list, "output", in, list.context().outputs, 1.0 / (static_cast<double>(in) * square));
}

at::Tensor Readout::hidden(at::Tensor h, const std::optional<at::Generator>& training) const {
  for (const Dense& layer : layers) {
    if (&layer == &layers.back()) break;
    h = drop(activation.value(layer(h)), dropout, training);
  }
  return h;
}

void ImageNetwork::finish(const TensorList& list, Readout readout) {
  readout_ = std::move(readout);
  parameters_ = list.parameters();
  buffers_ = list.buffers();
}

at::Tensor ImageNetwork::operator()(const at::Tensor& x, const std::optional<at::Generator>& training) const {
  return readout_.layers.back()(hidden(x, training));
}

at::Tensor ImageNetwork::hidden(const at::Tensor& x, const std::optional<at::Generator>& training) const {
  const std::int64_t pixels = image_.numbers();
  if (x.dim() != 2 || x.size(1) != pixels + inputs_) {
    throw UsageError("inputs of this network must be rows of " + std::to_string(image_.channels) + " x " +
                     std::to_string(image_.height) + " x " + std::to_string(image_.width) +
                     " pixels (channels, height and width)" +
                     (inputs_ > 0 ? " and " + std::to_string(inputs_) + " further numbers" : ""));
  }
  const at::Tensor numbers = x.to(last_weight().scalar_type());
  const at::Tensor image =
      numbers.narrow(1, 0, pixels).reshape({x.size(0), image_.channels, image_.height, image_.width});
  at::Tensor h = embed(image, training);  // (E, B, in)
  if (inputs_ > 0) {
    const at::Tensor further = numbers.narrow(1, pixels, inputs_).expand({members_, x.size(0), inputs_});
    h = at::cat({h, further}, 2);
  }
  return readout_.hidden(h, training);
}

}  // namespace ick
