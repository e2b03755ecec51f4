#include "train/masked_autoencoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ick/base/seed.h"

namespace ick {

namespace {

// t (B, N, ...), index (B, M) -> (B, M, ...)
at::Tensor patches_at(const at::Tensor& t, const at::Tensor& index) {
  return t.gather(1, index.unsqueeze(2).expand({-1, -1, t.size(2)}));
}

// A patch that hardly varies stays small: its noise is not worth learning. Numbers of images have variance one.
at::Tensor standardised(const at::Tensor& patches) {
  constexpr double kSmallVariance = 0.01;
  const at::Tensor centred = patches - patches.mean(2, true);
  return centred / (centred.square().mean(2, true) + kSmallVariance).sqrt();
}

}  // namespace

MaskedAutoencoder::MaskedAutoencoder(const Vit& vit, const Options& options) : vit_(vit) {
  const auto patches = static_cast<double>(vit.patches());
  hidden_ = std::clamp<std::int64_t>(std::lround(options.mask * patches), 1, vit.patches() - 1);
  NetworkContext context;
  context.seed = options.seed;
  TensorList list(context);
  const std::int64_t width = options.width, seen = vit.options().width;
  const auto of = [](std::int64_t inputs) { return 1.0 / static_cast<double>(inputs); };
  input_ = Dense(list, "decoder.input", seen, width, of(seen));
  mask_token_ = list.bias("decoder.mask_token", {1, width});
  positions_ = list.bias("decoder.positions", {1 + vit.patches(), width}, 1.0);  // all that is known of a hidden patch
  const std::int64_t heads = width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1;
  for (std::int64_t l = 1; l <= options.depth; ++l) {
    blocks_.emplace_back(list, "decoder.block" + std::to_string(l),
                         AttentionBlock::Options{width, heads, 4 * width, 0.0, 0});
  }
  norm_ = LayerNorm(list, "decoder.norm", width);
  constexpr double kSmall = 0.1 * 0.1;  // variance of the first predictions
  output_ = Dense(list, "decoder.output", width, vit.pixels(), kSmall * of(width));
  decoder_ = list.parameters();
}

at::Tensor MaskedAutoencoder::draw_order(const std::vector<std::uint64_t>& seeds) const {
  std::vector<std::int64_t> all;
  for (const std::uint64_t seed : seeds) {
    const std::vector<std::int64_t> order = shuffled(vit_.patches(), seed);
    all.insert(all.end(), order.begin(), order.end());
  }
  return at::tensor(all, at::kLong).view({-1, vit_.patches()});
}

// Attention does not ask for the order of tokens: they stand as hidden, class, seen.
MaskedAutoencoder::Hidden MaskedAutoencoder::operator()(const at::Tensor& x, const at::Tensor& order) const {
  const std::int64_t rows = x.size(0), width = positions_.size(2);
  const at::Tensor patches = vit_.cut(x);
  const at::Tensor hidden = order.narrow(1, 0, hidden_), seen = order.narrow(1, hidden_, vit_.patches() - hidden_);
  const at::Tensor encoded = vit_.encode(patches_at(patches, seen), seen);  // (1, B, 1 + V, ...)
  const at::Tensor read = input_(encoded.flatten(1, 2)).view({1, rows, -1, width});
  const at::Tensor places = at::cat({hidden + 1, at::zeros({rows, 1}, order.options()), seen + 1}, 1);
  at::Tensor h = at::cat({mask_token_.expand({1, rows, hidden_, width}), read}, 2) +
                 positions_.index_select(1, places.flatten()).view({1, rows, -1, width});
  for (const AttentionBlock& block : blocks_) h = block(h, &block == &blocks_.back() ? hidden_ : h.size(2), {});
  const at::Tensor predicted = output_(norm_(h.flatten(1, 2))).view({rows, hidden_, -1});
  return {predicted, standardised(patches_at(patches, hidden))};
}

std::vector<NamedTensor> MaskedAutoencoder::parameters() const {
  std::vector<NamedTensor> all = vit_.encoder();
  all.insert(all.end(), decoder_.begin(), decoder_.end());
  return all;
}

}  // namespace ick
