#pragma once

#include <cstdint>
#include <string>

#include "net/parts.h"

namespace ick {

// A part of a transformer, norms before each half:
//   h <- h + attention(norm(h)),   h <- h + W_2 gelu(W_1 norm(h)),   attention = softmax(q k' / sqrt(d)) v
// With re-attention the heads' maps A_g are mixed and normalised over heads: A_h <- norm_h(sum_g A_g M_gh).
struct AttentionBlock {
  struct Options {
    std::int64_t width = 128, heads = 4, hidden = 256;
    double dropout = 0.0;
    std::int64_t mixed_tokens = 0;  // with re-attention among about so many; 0: without
  };
  AttentionBlock() = default;
  AttentionBlock(TensorList& list, const std::string& path, const Options& options);

  // h (E, B, T, width) -> (E, B, queries, width): the first of them, which is all that is read of a last block.
  at::Tensor operator()(const at::Tensor& h, std::int64_t queries, const std::optional<at::Generator>& training) const;

  Options options;
  LayerNorm norm1, norm2;
  Dense qkv, projection;
  Dense layer1, layer2;  // feed-forward
  at::Tensor mixing;     // (E, heads, heads) M; undefined without re-attention
  LayerNorm mixing_norm;

 private:
  at::Tensor attention(const at::Tensor& h, std::int64_t queries) const;
};

}  // namespace ick
