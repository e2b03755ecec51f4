#include "net/mlp.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "net/arguments.h"
#include "net/fused_mlp.h"

namespace ick {

namespace {

// Variances of the weights, layer by layer, with which every hidden unit and every output starts with variance one over
// members and x ~ N(0, I):
//   var W_l = (1 - beta) / (in s_l),   s_l = E_x[E[h^2 | x]],   q(x) = beta + (1 - beta) E[h^2 | x] / s_l,
//   E[h^2 | x] <- E[phi(sqrt(q(x)) z)^2],  starting at |x|^2 / F;  a layer norm makes q(x) = 1.
// Where q hardly depends on x (many inputs, or a layer norm) s_l is E[phi(z)^2]; on few inputs it is not. Units are
// taken as Gaussian: right for relu without a norm at any width, up to O(1 / width) else.
std::vector<double> weight_variances(const MlpOptions& options, std::int64_t inputs) {
  // The distribution of log(|x| / sqrt(F)): density ~ exp(F (t - e^2t / 2)), of width 1 / sqrt(2 F) around 0.
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

}  // namespace

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
    layer.weight = draw(context, layer.name + ".weight", {in, out}, layer.weight_variance);
    layer.bias = draw(context, layer.name + ".bias", {1, out}, layer.bias_variance);
    if (is_hidden && options_.layer_norm) {
      layer.scale = at::ones_like(layer.bias).requires_grad_(true);
      layer.shift = at::zeros_like(layer.bias).requires_grad_(true);
    }
    layers_.push_back(std::move(layer));
    in = out;
  }
}

bool Mlp::fuses() const {
  return options_.dropout == 0.0 && !options_.layer_norm && FusedMlp::knows(options_.activation.name) &&
         layers_.front().weight.scalar_type() == at::kFloat;
}

at::Tensor Mlp::operator()(const at::Tensor& x, const std::optional<at::Generator>& dropout) const {
  if (!at::GradMode::is_enabled() && x.dim() == 2 && x.scalar_type() == at::kFloat && fuses()) return fused(x);
  return at::baddbmm(last_bias(), hidden(x, dropout), last_weight());
}

at::Tensor Mlp::fused(const at::Tensor& x) const {
  const std::int64_t count = x.size(0), p = outputs();
  at::Tensor f = at::empty({layers_.front().weight.size(0), count, p}, at::kFloat);
  visit(x, [&](std::int64_t e, std::int64_t first, int rows, const float* from) {
    turn_out(from, rows, static_cast<int>(p), {f.data_ptr<float>() + (e * count + first) * p, p});
  });
  return f;
}

// Members and chunks of rows shared out among workers; a worker turns a chunk once for the members that follow.
void Mlp::visit(const at::Tensor& x, const UseChunk& use) const {
  const at::Tensor rows = inputs_of(x)[0].contiguous();
  const std::int64_t members = layers_.front().weight.size(0), count = rows.size(0);
  std::vector<std::vector<FusedLayer>> layers(static_cast<std::size_t>(members));  // of each member
  for (const Layer& layer : layers_) {
    const std::int64_t in = layer.weight.size(1), out = layer.weight.size(2);
    for (std::int64_t e = 0; e < members; ++e) {
      layers[static_cast<std::size_t>(e)].push_back({layer.weight.data_ptr<float>() + e * in * out,
                                                     layer.bias.data_ptr<float>() + e * out, static_cast<int>(in),
                                                     static_cast<int>(out)});
    }
  }
  struct Worker {
    FusedMlp network;
    FloatColumns x;
    std::int64_t turned = -1;  // the chunk in x
  };
  std::vector<Worker> own;
  const auto width = static_cast<int>(rows.size(1));
  for (int w = 0; w < workers(); ++w) {
    own.push_back({FusedMlp(layers[0], options_.activation.name, /*with_gradients=*/false), float_columns(width)});
  }
  const std::int64_t chunks = (count + kChunkRows - 1) / kChunkRows;
  parallel(static_cast<int>(members * chunks), [&](int task, int worker) {
    const std::int64_t e = task % members, chunk = task / members, first = chunk * kChunkRows;
    const int taken = static_cast<int>(std::min<std::int64_t>(kChunkRows, count - first));
    auto& [network, columns, turned] = own[worker];
    if (turned != chunk) turn_in({rows.data_ptr<float>() + first * width, width}, taken, width, columns.data());
    turned = chunk;
    network.load(layers[static_cast<std::size_t>(e)]);
    use(e, first, taken, network.forward(columns.data(), taken));
  });
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
    h = drop(h, options_.dropout, dropout);
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

std::unique_ptr<Network> make_mlp(const NetworkSpec& network, const NetworkContext& context) {
  const Arguments arguments(network, kMlpArguments);
  arguments.check_sizes(context, Reads::columns);
  MlpOptions options;
  options.layers = arguments.whole_numbers("layers", context.default_layers);
  options.activation = activation_of(arguments, "gelu");
  options.dropout = arguments.share("dropout", 0.0);
  options.layer_norm = arguments.choice("norm", {"none", "layer"}, 0) == 1;
  if (options.layer_norm && std::find(options.layers.begin(), options.layers.end(), 1) != options.layers.end()) {
    arguments.fail("norm", "norm=layer turns a layer of one unit into a constant; give layers of 2 or more");
  }
  return std::make_unique<Mlp>(std::move(options), context);
}

}  // namespace ick
