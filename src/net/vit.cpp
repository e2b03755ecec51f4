#include "net/vit.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/net/safetensors.h"
#include "net/arguments.h"

namespace ick {

Vit::Vit(const VitOptions& options, const NetworkContext& context)
    : ImageNetwork(context),
      options_(options),
      tokens_(1 + (image_.height / options.patch) * (image_.width / options.patch)) {
  constexpr double kSmall = 0.02 * 0.02;  // variance of what stands beside the patches, which have one
  TensorList list(context);
  const std::int64_t width = options.width, pixels = image_.channels * options.patch * options.patch;
  patches_ = Dense(list, "patches", pixels, width, 1.0 / static_cast<double>(pixels));
  class_token_ = list.bias("class_token", {1, width}, kSmall);
  positions_ = list.bias("positions", {tokens_, width}, kSmall);
  const AttentionBlock::Options block = {width, options.heads, options.hidden, options.dropout,
                                         options.re_attention ? tokens_ : 0};
  for (std::int64_t l = 1; l <= options.depth; ++l) blocks_.emplace_back(list, "block" + std::to_string(l), block);
  norm_ = LayerNorm(list, "norm", width);
  encoder_size_ = list.parameters().size();
  if (!options.start.empty()) start_from(options.start, list.parameters());
  const double square = (norm_.scale.square() + norm_.shift.square()).mean().item<double>();
  finish(list, Readout(list, width, options.layers, *find_activation("gelu"), options.dropout, square));
}

std::vector<std::pair<std::string, std::string>> Vit::settings() const {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  return {{"network", options_.re_attention ? "deepvit" : "vit"},
          {"image", text(image_.channels) + " x " + text(image_.height) + " x " + text(image_.width)},
          {"patch", text(options_.patch)},
          {"width", text(options_.width)},
          {"depth", text(options_.depth)},
          {"heads", text(options_.heads)},
          {"hidden", text(options_.hidden)}};
}

std::vector<NamedTensor> Vit::encoder() const {
  std::vector<NamedTensor> all = parameters();
  all.resize(encoder_size_);
  return all;
}

void Vit::start_from(const std::string& file, const std::vector<NamedTensor>& parameters) const {
  std::map<std::string, std::string> known;
  const TensorState tensors = parse_safetensors(read_file(file), file, &known);
  if (known["format"] != kPretrainedFormat) {
    throw DataError(file + ": this file does not come from `ick pretrain`, which makes those that start=\"...\" reads");
  }
  for (const auto& [name, own] : settings()) {
    if (known[name] == own) continue;
    throw DataError(file + ": it was trained with " + name + " = " + known[name] + ", and this network has " + name +
                    " = " + own + "; both have to be the same");
  }
  for (const NamedTensor& each : parameters) {
    const at::Tensor found = find_tensor(tensors, each.path);
    if (!found.defined() || found.sizes() != each.value.narrow(0, 0, 1).sizes()) {
      throw DataError(file + ": the tensor \"" + each.path + "\" is missing or has another shape; make the file again");
    }
    each.value.detach().copy_(found);  // the same for every member
  }
}

at::Tensor Vit::cut(const at::Tensor& x) const {
  const std::int64_t rows = x.size(0), p = options_.patch;
  return x.reshape({rows, image_.channels, image_.height / p, p, image_.width / p, p})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({rows, patches(), image_.channels * p * p});
}

// (B, V, C patch patch), (E, 1 or B, 1 + V, width) -> (E, B, 1 + V, width)
at::Tensor Vit::tokens(const at::Tensor& patches, const at::Tensor& positions) const {
  const std::int64_t rows = patches.size(0), count = patches.size(1);
  const at::Tensor embedded = patches_(patches.reshape({1, rows * count, patches.size(2)}).expand({members_, -1, -1}))
                                  .view({members_, rows, count, options_.width});
  const at::Tensor class_token = class_token_.unsqueeze(1).expand({-1, rows, -1, -1});
  return at::cat({class_token, embedded}, 2) + positions;
}

at::Tensor Vit::embed(const at::Tensor& x, const std::optional<at::Generator>& training) const {
  at::Tensor h = drop(tokens(cut(x), positions_.unsqueeze(1)), options_.dropout, training);
  for (const AttentionBlock& block : blocks_) h = block(h, &block == &blocks_.back() ? 1 : tokens_, training);
  return norm_(h.squeeze(2));
}

at::Tensor Vit::encode(const at::Tensor& patches, const at::Tensor& places) const {
  const std::int64_t rows = places.size(0), count = 1 + places.size(1);
  const at::Tensor with_class = at::cat({at::zeros({rows, 1}, places.options()), places + 1}, 1);
  const at::Tensor positions =
      positions_.index_select(1, with_class.flatten()).view({members_, rows, count, options_.width});
  at::Tensor h = tokens(patches, positions);
  for (const AttentionBlock& block : blocks_) h = block(h, count, {});
  return norm_(h.reshape({members_, -1, options_.width})).view(h.sizes());
}

namespace {

std::unique_ptr<Network> make(const NetworkSpec& network, const NetworkContext& context, bool re_attention) {
  const Arguments arguments(network, kVitArguments);
  arguments.check_sizes(context, Reads::image);
  VitOptions options;
  options.patch = arguments.whole_number("patch", 8);
  options.width = arguments.whole_number("width", 128);
  options.depth = arguments.whole_number("depth", 4, 1000);
  options.heads = arguments.whole_number("heads", 4);
  options.hidden = arguments.whole_number("hidden", 256);
  options.layers = arguments.widths_or_none("layers", {});
  options.dropout = arguments.share("dropout", 0.0);
  options.re_attention = re_attention;
  if (network.find("start") != nullptr) {
    const std::string file = arguments.text("start", "encoder.safetensors");
    if (!context.stored) options.start = file;  // one that is stored is past its start
  }
  const ImageShape& image = context.image;
  if (image.height % options.patch != 0 || image.width % options.patch != 0) {
    arguments.fail("patch", "images of " + std::to_string(image.height) + " x " + std::to_string(image.width) +
                                " pixels cannot be cut into patches of " + std::to_string(options.patch) +
                                "; give a patch that divides both, or a size=... that it divides");
  }
  if (options.width % options.heads != 0) {
    arguments.fail("heads", "width = " + std::to_string(options.width) + " cannot be shared by " +
                                std::to_string(options.heads) + " heads; give a number of heads that divides it");
  }
  if (options.width == 1) arguments.fail("width", "width = 1 makes every norm a constant; give 2 or more");
  if (re_attention && options.heads == 1) {
    arguments.fail("heads", "one head cannot be mixed with others; give deepvit 2 or more, or take vit");
  }
  return std::make_unique<Vit>(options, context);
}

}  // namespace

std::unique_ptr<Network> make_vit(const NetworkSpec& network, const NetworkContext& context) {
  return make(network, context, false);
}

std::unique_ptr<Network> make_deepvit(const NetworkSpec& network, const NetworkContext& context) {
  return make(network, context, true);
}

}  // namespace ick
