#include "net/mlp.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"

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
               }},
    // z s(z), s (1 + z (1 - s)), s the logistic function
    Activation{"silu", [](const at::Tensor& z) { return at::silu(z); },
               [](const at::Tensor& z) {
                 const at::Tensor s = at::sigmoid(z);
                 return s * (1.0 + z * (1.0 - s));
               }},
    Activation{"tanh", [](const at::Tensor& z) { return at::tanh(z); },
               [](const at::Tensor& z) { return 1.0 - at::tanh(z).square(); }},
    Activation{"erf", [](const at::Tensor& z) { return at::erf(z); },
               [](const at::Tensor& z) { return 2.0 * std::numbers::inv_sqrtpi * (-z.square()).exp(); }},
};
constexpr Activation kDefaultActivation = kActivations[1];

constexpr std::int64_t kMostUnits = 65536;  // of a layer
constexpr double kNormEpsilon = 1e-5;

// Share of a hidden unit's variance that its bias has at the start. A unit bends near x = -b / w: with biases of zero
// all units of a network on one column would bend at its mean.
constexpr double kBiasShare = 0.2;

// Variances of the weights, layer by layer, with which every hidden unit and every output starts with variance one over
// members and x ~ N(0, I):
//   var W_l = (1 - beta) / (in s_l),   s_l = E_x[E[h^2 | x]],   q(x) = beta + (1 - beta) E[h^2 | x] / s_l,
//   E[h^2 | x] <- E[phi(sqrt(q(x)) z)^2],  starting at |x|^2 / F;  a layer norm makes q(x) = 1.
// Where q hardly depends on x (many inputs, or a layer norm) s_l is E[phi(z)^2]; on few inputs it is not. Units are
// taken as Gaussian: right for relu without a norm at any width, up to O(1 / width) else.
std::vector<double> weight_variances(const MlpOptions& options, std::int64_t inputs) {
  // The law of log(|x| / sqrt(F)): density ~ exp(F (t - e^2t / 2)), of width 1 / sqrt(2 F) around 0.
  const auto f = static_cast<double>(inputs);
  const at::Tensor t = at::linspace(-20.0, 3.0, 231, at::kDouble) / std::sqrt(f);
  const at::Tensor weight = at::softmax(f * (t - 0.5 * (2.0 * t).exp()), 0);

  std::vector<double> variances;
  at::Tensor square = (2.0 * t).exp();  // E[h^2 | x]
  std::int64_t fan_in = inputs;
  for (const std::int64_t width : options.layers) {
    const double mean = square.dot(weight).item<double>();
    variances.push_back((1.0 - kBiasShare) / (static_cast<double>(fan_in) * mean));
    const at::Tensor q = kBiasShare + (1.0 - kBiasShare) * square / mean;
    square = mean_square(options.activation, options.layer_norm ? at::ones_like(q) : q);
    fan_in = width;
  }
  variances.push_back(1.0 / (static_cast<double>(fan_in) * square.dot(weight).item<double>()));
  return variances;
}

// (E, rows, columns) from N(0, variance); a member's draws depend on the path and on which member it is, not on E.
at::Tensor draw(const NetworkContext& context, const std::string& path, std::int64_t rows, std::int64_t columns,
                double variance) {
  const at::Tensor tensor = at::zeros({context.members, rows, columns}, at::kFloat);
  if (variance > 0.0) {
    float* place = tensor.data_ptr<float>();
    for (std::int64_t e = 0; e < context.members; ++e) {
      Random random(seed_for(context.seed, path + "#" + std::to_string(e)));
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        *place++ = static_cast<float>(std::sqrt(variance) * random.normal());
      }
    }
  }
  return tensor.requires_grad_(true);
}

}  // namespace

const Activation* find_activation(std::string_view name) {
  const auto* found =
      std::find_if(kActivations.begin(), kActivations.end(), [&](const auto& each) { return each.name == name; });
  return found == kActivations.end() ? nullptr : found;
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

Mlp::Mlp(MlpOptions options, const NetworkContext& context) : options_(std::move(options)) {
  const std::vector<double> variances = weight_variances(options_, context.inputs);
  const std::size_t depth = options_.layers.size();
  std::int64_t in = context.inputs;
  for (std::size_t l = 0; l <= depth; ++l) {
    const bool is_hidden = l < depth;
    const std::int64_t out = is_hidden ? options_.layers[l] : context.outputs;
    Layer layer;
    layer.name = is_hidden ? "layer" + std::to_string(l + 1) : "output";
    layer.weight_variance = variances[l];
    layer.bias_variance = is_hidden ? kBiasShare : 0.0;
    layer.weight = draw(context, layer.name + ".weight", in, out, layer.weight_variance);
    layer.bias = draw(context, layer.name + ".bias", 1, out, layer.bias_variance);
    if (is_hidden && options_.layer_norm) {
      layer.scale = at::ones_like(layer.bias).requires_grad_(true);
      layer.shift = at::zeros_like(layer.bias).requires_grad_(true);
    }
    layers_.push_back(std::move(layer));
    in = out;
  }
}

at::Tensor Mlp::operator()(const at::Tensor& x, const std::optional<at::Generator>& dropout) const {
  return at::baddbmm(last_bias(), hidden(x, dropout), last_weight());
}

at::Tensor Mlp::inputs_of(const at::Tensor& x) const {
  const at::Tensor& first = layers_.front().weight;
  const std::int64_t members = first.size(0), inputs = first.size(1);
  if (x.dim() < 2 || x.dim() > 3 || x.size(-1) != inputs) {
    throw UsageError("inputs of this network must be rows of " + std::to_string(inputs) + " columns");
  }
  if (x.dim() == 3 && x.size(0) != 1 && x.size(0) != members) {
    throw UsageError("inputs of a network are for " + std::to_string(x.size(0)) + " members, but it has " +
                     std::to_string(members));
  }
  // baddbmm reads an expanded x without a copy, and for one member takes no longer than addmm on squeezed views.
  return x.to(first.scalar_type()).expand({members, x.size(-2), inputs});
}

at::Tensor Mlp::hidden(const at::Tensor& x, const std::optional<at::Generator>& dropout) const {
  at::Tensor h = inputs_of(x);  // (E, B, in)
  for (const Layer& layer : layers_) {
    if (&layer == &layers_.back()) break;
    h = at::baddbmm(layer.bias, h, layer.weight);
    if (options_.layer_norm) {
      h = at::addcmul(layer.shift, at::layer_norm(h, {h.size(2)}, {}, {}, kNormEpsilon), layer.scale);
    }
    h = options_.activation.value(h);
    if (dropout && options_.dropout > 0.0) {
      const double keep = 1.0 - options_.dropout;
      h = h * at::empty(h.sizes(), h.options()).bernoulli_(keep, *dropout).div_(keep);
    }
  }
  return h;
}

std::vector<NamedTensor> Mlp::parameters() const {
  std::vector<NamedTensor> parameters;
  for (const Layer& layer : layers_) {
    parameters.push_back({layer.name + ".weight", layer.weight, true});
    parameters.push_back({layer.name + ".bias", layer.bias, false});
    if (!layer.scale.defined()) continue;
    parameters.push_back({layer.name + ".norm.scale", layer.scale, false});
    parameters.push_back({layer.name + ".norm.shift", layer.shift, false});
  }
  return parameters;
}

std::optional<DensePrior> Mlp::dense_prior() const {
  DensePrior prior{std::string(options_.activation.name), options_.layer_norm, {}};
  for (const Layer& layer : layers_) {
    const auto fan_in = static_cast<double>(layer.weight.size(1));
    prior.layers.push_back({layer.weight_variance * fan_in, layer.bias_variance});
  }
  return prior;
}

std::vector<BilinearFeatures> Mlp::tangents(const at::Tensor& x, const at::Tensor& signal) const {
  if (options_.layer_norm) {
    throw UsageError("the tangents of a network with norm=layer have no closed form; leave norm=layer out");
  }
  const at::NoGradGuard no_gradient;
  at::Tensor h = inputs_of(x);  // (E, B, in)
  const std::int64_t members = h.size(0), rows = h.size(1);
  if (signal.dim() != 3 || (signal.size(0) != 1 && signal.size(0) != members) || signal.size(1) != rows ||
      signal.size(2) != outputs()) {
    throw UsageError("the signal of tangents must be of 1 or " + std::to_string(members) + " members, " +
                     std::to_string(rows) + " rows and " + std::to_string(outputs()) + " outputs");
  }
  std::vector<BilinearFeatures> tangents;
  std::vector<at::Tensor> slopes;  // phi'(a_l)
  for (const Layer& layer : layers_) {
    const at::Tensor of_bias = at::full({members, rows, 1}, std::sqrt(layer.bias_variance), h.options());
    tangents.push_back({at::cat({std::sqrt(layer.weight_variance) * h, of_bias}, 2), {}});
    if (&layer == &layers_.back()) break;
    const at::Tensor a = at::baddbmm(layer.bias, h, layer.weight);
    slopes.push_back(options_.activation.slope(a));
    h = options_.activation.value(a);
  }
  tangents.back().right = signal.to(h.scalar_type()).expand({members, rows, outputs()});
  for (std::size_t l = slopes.size(); l > 0; --l) {
    tangents[l - 1].right = at::bmm(tangents[l].right, layers_[l].weight.transpose(1, 2)).mul_(slopes[l - 1]);
  }
  return tangents;
}

namespace {

[[noreturn]] void fail(std::size_t position, const std::string& message) {
  throw UsageError("formula column " + std::to_string(position) + ": " + message);
}

void check_arguments(const Call& call) {
  std::vector<std::string> known;
  for (const NetworkArgument& each : kMlpArguments) known.emplace_back(each.name);
  for (const Argument& argument : call.arguments) {
    if (std::find(known.begin(), known.end(), argument.name) == known.end()) {
      const std::string guess = did_you_mean(argument.name, known);
      fail(argument.position, call.name + " has no argument named \"" + argument.name + "\"" +
                                  (guess.empty() ? "; it has " + join_words(known) : guess));
    }
    if (argument.kind == Argument::Kind::fixed || argument.kind == Argument::Kind::bounded) {
      fail(argument.position, argument.name + " is not learned; write its value without fixed(...) or bounded(...)");
    }
  }
}

// The one of `choices` that the argument names, as its place.
std::size_t choice(const Argument& argument, const std::vector<std::string>& choices) {
  if (argument.kind != Argument::Kind::word) {
    fail(argument.position, argument.name + " must be a word: " + join_words(choices) + " are known");
  }
  const auto found = std::find(choices.begin(), choices.end(), argument.word);
  if (found == choices.end()) {
    const std::string guess = did_you_mean(argument.word, choices);
    fail(argument.position, "no " + argument.name + " named \"" + argument.word + "\"" +
                                (guess.empty() ? "; " + join_words(choices) + " are known" : guess));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

std::string quantity_text(const Quantity& quantity) { return number_text(quantity.number) + quantity.unit; }

std::vector<std::int64_t> widths(const Argument& argument) {
  const std::string expected = "whole number from 1 to " + std::to_string(kMostUnits);
  if (argument.kind != Argument::Kind::start) {
    fail(argument.position, "layers must be a " + expected + " or a list of them, as in layers=[128, 64]");
  }
  std::vector<std::int64_t> widths;
  for (const Quantity& each : argument.values) {
    const double width = each.number;
    if (!each.unit.empty() || width != std::floor(width) || width < 1.0 || width > static_cast<double>(kMostUnits)) {
      fail(argument.position, "layers has " + quantity_text(each) + ", which is not a " + expected);
    }
    widths.push_back(static_cast<std::int64_t>(width));
  }
  return widths;
}

double dropout_share(const Argument& argument) {
  const std::string expected = "a number from 0 to below 1";
  if (argument.kind != Argument::Kind::start || argument.values.size() != 1) {
    fail(argument.position, "dropout must be " + expected);
  }
  const Quantity& share = argument.values[0];
  if (!share.unit.empty() || share.number < 0.0 || share.number >= 1.0) {
    fail(argument.position, "dropout = " + quantity_text(share) + " is not " + expected);
  }
  return share.number;
}

}  // namespace

std::unique_ptr<Network> make_mlp(const Call& call, const NetworkContext& context) {
  check_arguments(call);
  if (context.inputs < 1) fail(call.position, "mlp has no column; name at least one, as in mlp(x)");
  if (context.outputs < 1 || context.members < 1) {
    fail(call.position, "mlp needs at least one output and one member, but has " + std::to_string(context.outputs) +
                            " and " + std::to_string(context.members));
  }
  MlpOptions options;
  options.layers = context.default_layers;
  options.activation = kDefaultActivation;
  if (const Argument* argument = call.find("layers")) options.layers = widths(*argument);
  if (const Argument* argument = call.find("activation")) {
    std::vector<std::string> names;
    for (const Activation& each : kActivations) names.emplace_back(each.name);
    options.activation = kActivations[choice(*argument, names)];
  }
  if (const Argument* argument = call.find("dropout")) options.dropout = dropout_share(*argument);
  if (const Argument* argument = call.find("norm")) options.layer_norm = choice(*argument, {"none", "layer"}) == 1;
  if (options.layer_norm && std::find(options.layers.begin(), options.layers.end(), 1) != options.layers.end()) {
    fail(call.find("norm")->position, "norm=layer turns a layer of one unit into a constant; give layers of 2 or more");
  }
  return std::make_unique<Mlp>(std::move(options), context);
}

}  // namespace ick
