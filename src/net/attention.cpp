#include "net/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

namespace ick {

namespace {

const Activation& gelu() {
  static const Activation activation = *find_activation("gelu");
  return activation;
}

}  // namespace

// Everything reads numbers of variance one, behind a norm, and gives such.
AttentionBlock::AttentionBlock(TensorList& list, const std::string& path, const Options& own) : options(own) {
  const auto of = [](std::int64_t inputs) { return 1.0 / static_cast<double>(inputs); };
  const double behind_gelu = mean_square(gelu(), at::ones({1}, at::kDouble)).item<double>();
  norm1 = LayerNorm(list, path + ".norm1", own.width);
  qkv = Dense(list, path + ".qkv", own.width, 3 * own.width, of(own.width), kNoBias);
  if (own.mixed_tokens > 0) {
    mixing = list.weight(path + ".mixing.weight", {own.heads, own.heads}, 1.0);
    // A sum over tokens, with normalised weights, of values of variance one.
    mixing_norm = LayerNorm(list, path + ".mixing.norm", own.heads, std::sqrt(of(own.mixed_tokens)));
  }
  projection = Dense(list, path + ".projection", own.width, own.width, of(own.width));
  norm2 = LayerNorm(list, path + ".norm2", own.width);
  layer1 = Dense(list, path + ".layer1", own.width, own.hidden, of(own.width));
  layer2 = Dense(list, path + ".layer2", own.hidden, own.width, of(own.hidden) / behind_gelu);
}

at::Tensor AttentionBlock::operator()(const at::Tensor& h, std::int64_t queries,
                                      const std::optional<at::Generator>& training) const {
  const std::int64_t members = h.size(0), rows = h.size(1);
  const at::Tensor read = h.narrow(2, 0, queries).reshape({members, -1, options.width});  // (E, B queries, width)
  at::Tensor sum = read + drop(projection(attention(h, queries)), options.dropout, training);
  const at::Tensor units = drop(gelu().value(layer1(norm2(sum))), options.dropout, training);
  sum = sum + drop(layer2(units), options.dropout, training);
  return sum.view({members, rows, queries, options.width});
}

// (E, B, T, width) -> (E, B queries, width)
at::Tensor AttentionBlock::attention(const at::Tensor& h, std::int64_t queries) const {
  const std::int64_t members = h.size(0), rows = h.size(1), tokens = h.size(2);
  const std::int64_t heads = options.heads, d = options.width / heads;
  const std::vector<at::Tensor> parts = qkv(norm1(h.reshape({members, -1, options.width})))
                                            .view({members, rows, tokens, 3, heads, d})
                                            .permute({3, 0, 4, 1, 2, 5})
                                            .unbind(0);  // (E, heads, B, T, d)
  const auto flat = [](const at::Tensor& t) { return t.reshape({-1, t.size(-2), t.size(-1)}); };
  const at::Tensor q = flat(parts[0].narrow(3, 0, queries)) / std::sqrt(static_cast<double>(d));
  at::Tensor maps = at::bmm(q, flat(parts[1]).transpose(1, 2)).softmax(2);  // (E heads B, queries, T)
  if (mixing.defined()) {
    const at::Tensor by_head = maps.view({members, heads, -1}).transpose(1, 2);  // (E, B queries T, heads)
    maps = mixing_norm(at::bmm(by_head, mixing)).transpose(1, 2).reshape(maps.sizes());
  }
  return at::bmm(maps, flat(parts[2]))
      .view({members, heads, rows, queries, d})
      .permute({0, 2, 3, 1, 4})
      .reshape({members, -1, options.width});
}

}  // namespace ick
