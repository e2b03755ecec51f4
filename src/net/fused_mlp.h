#pragma once

#include <span>
#include <string_view>
#include <vector>

// Fully connected networks on the fast path: one member on a chunk of rows that stays in the cache, in float32 on one
// thread, forward and backward, without allocation. Torch-free; addresses in, addresses out.
namespace ick {

// Rows worked on together. With layers of 128, 32 and 32 units a chunk takes about 0.7 MB, within a second-level cache.
// The same for any number of threads: sums over rows are sums over chunks, in order.
inline constexpr int kChunkRows = 256;

// One layer of one member, h W + b.
struct FusedLayer {
  const float* weight = nullptr;  // (in, out)
  const float* bias = nullptr;    // (out)
  int in = 0, out = 0;
};

struct FusedLayerGradient {
  float* weight = nullptr;  // (in, out)
  float* bias = nullptr;    // (out)
};

// Padded to whole lanes.
constexpr int whole_floats(int count) { return (count + 7) / 8 * 8; }

// to (m, n) = a (m, k) b (k, n); a_ij at a[i row + j column], b and `to` with rows of b_row and to_row
// numbers, n whole lanes.
void fused_product(int m, int n, int k, const float* a, int a_row, int a_column, const float* b, int b_row, float* to,
                   int to_row);

class FusedMlp {
 public:
  static bool knows(std::string_view activation);

  // For networks of these layers' sizes.
  FusedMlp(std::span<const FusedLayer> layers, std::string_view activation, bool with_gradients);

  int outputs() const { return layers_.back().out; }
  int stride() const { return layers_.back().row; }  // numbers from row to row of outputs

  // Takes the weights of a member. They are copied: what follows reads the copy.
  void load(std::span<const FusedLayer> layers);

  // x (rows, in), rows <= kChunkRows -> outputs (rows, stride), which stay until the next call.
  const float* forward(const float* x, int rows);

  // After forward(): d_outputs (rows, stride), zero in the padding, is filled by the caller.
  float* d_outputs() { return layers_.back().slope.data(); }
  // Sets the gradients of all layers.
  void backward(std::span<const FusedLayerGradient> gradients);

 private:
  // A column of ones behind the inputs of a layer takes the bias for a further row of weights.
  struct Layer {
    int in = 0, out = 0;
    int wide = 0, row = 0;          // out in whole lanes, and with room for the column of ones
    std::vector<float> weight;      // (in + 1, wide), the bias last
    std::vector<float> transposed;  // (out, in in whole lanes)
    std::vector<float> h;           // (rows, row): outputs
    std::vector<float> slope;       // (rows, row): phi'(a), then d/da
    std::vector<float> gradient;    // (in + 1, wide)
  };
  using Activate = void (*)(float* h, float* slope, int count);

  int rows_ = 0;
  int in_row_ = 0;
  std::vector<float> x_;  // (rows, in_row): inputs with a column of ones
  std::vector<Layer> layers_;
  Activate activate_ = nullptr;
  bool with_gradients_;
};

}  // namespace ick
