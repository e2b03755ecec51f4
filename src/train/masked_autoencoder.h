#pragma once

#include <cstdint>
#include <vector>

#include "net/vit.h"

namespace ick {

// A transformer (one member) with a decoder for patches it has not seen.
class MaskedAutoencoder {
 public:
  struct Options {
    double mask = 0.75;
    std::int64_t width = 64, depth = 1;  // of the decoder
    std::uint64_t seed = 0;
  };
  MaskedAutoencoder(const Vit& vit, const Options& options);

  // A permutation of the patches for each seed, (B, N): the first ones are hidden.
  at::Tensor draw_order(const std::vector<std::uint64_t>& seeds) const;

  // Pixels of the hidden patches, (B, H, C patch patch): each patch standardised by its own mean and sd, as in the
  // paper's best model.
  struct Hidden {
    at::Tensor predicted, target;
  };
  Hidden operator()(const at::Tensor& x, const at::Tensor& order) const;  // (B, C H W), (B, N)

  std::vector<NamedTensor> parameters() const;  // of the encoder, then of the decoder

 private:
  const Vit& vit_;
  std::int64_t hidden_;  // H
  Dense input_, output_;
  at::Tensor mask_token_, positions_;  // (1, 1, width), (1, 1 + N, width)
  std::vector<AttentionBlock> blocks_;
  LayerNorm norm_;
  std::vector<NamedTensor> decoder_;
};

}  // namespace ick
