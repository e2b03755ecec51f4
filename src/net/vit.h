#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ick/net/network.h"
#include "net/attention.h"

namespace ick {

inline constexpr std::array kVitArguments = {
    NetworkArgument{"patch", "height and width of a patch in pixels", "8"},
    NetworkArgument{"width", "numbers of a token", "128"},
    NetworkArgument{"depth", "blocks", "4"},
    NetworkArgument{"heads", "heads of the attention, which share the width", "4"},
    NetworkArgument{"hidden", "width of the feed-forward part of a block", "256"},
    NetworkArgument{"layers", "widths of dense layers on the class token, or none", "none"},
    NetworkArgument{"dropout", "share of units left out in training, from 0 to below 1", "0"},
    NetworkArgument{"start", "a file of `ick pretrain` that all but the dense layers starts from", "none"}};

inline constexpr const char* kPretrainedFormat = "ick.pretrained";  // "format" in the file's metadata

struct VitOptions {
  std::int64_t patch = 8, width = 128, depth = 4, heads = 4, hidden = 256;
  std::vector<std::int64_t> layers;
  double dropout = 0.0;
  bool re_attention = false;
  std::string start;  // file of parameters that all members start from; "": drawn
};

// Dosovitskiy et al. 2021: a token for each patch, and one for the class, which is read out. Blocks of attention, a
// norm, dense layers with gelu on the class token. With re-attention it is that of Zhou et al. 2021.
class Vit : public ImageNetwork {
 public:
  Vit(const VitOptions& options, const NetworkContext& context);

  std::int64_t patches() const { return tokens_ - 1; }             // N
  std::int64_t pixels() const { return patches_.weight.size(1); }  // of a patch, C patch patch
  const VitOptions& options() const { return options_; }
  // What has to be the same where parameters of one network are to be those of another: name and value, as text.
  std::vector<std::pair<std::string, std::string>> settings() const;
  std::vector<NamedTensor> encoder() const;  // parameters without those of the readout

  at::Tensor cut(const at::Tensor& x) const;  // (B, C, H, W), or flat -> (B, N, C patch patch)
  // Some patches (B, V, C patch patch) of each image, at `places` (B, V) of 0 .. N - 1 -> the class's token and theirs
  // behind the last norm, (E, B, 1 + V, width).
  at::Tensor encode(const at::Tensor& patches, const at::Tensor& places) const;

 protected:
  at::Tensor embed(const at::Tensor& x, const std::optional<at::Generator>& training) const override;

 private:
  void start_from(const std::string& file, const std::vector<NamedTensor>& parameters) const;
  at::Tensor tokens(const at::Tensor& patches, const at::Tensor& positions) const;

  VitOptions options_;
  std::int64_t tokens_;  // T = 1 + N, the class token first
  Dense patches_;
  at::Tensor class_token_, positions_;  // (E, 1, width), (E, T, width)
  std::vector<AttentionBlock> blocks_;
  LayerNorm norm_;
  std::size_t encoder_size_ = 0;  // parameters of all this
};

std::unique_ptr<Network> make_vit(const NetworkSpec& network, const NetworkContext& context);
std::unique_ptr<Network> make_deepvit(const NetworkSpec& network, const NetworkContext& context);

}  // namespace ick
