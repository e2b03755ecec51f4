#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "net/float_rows.h"

// Fully connected networks on the fast path: one member on a chunk of rows that stays in the cache, in float32 on one
// thread, forward and backward, without allocation. Torch-free; addresses in, addresses out. Rows are turned on their
// side everywhere: "(units, rows)" has kRowsApart numbers from unit to unit.
namespace ick {

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

// to (m, rows) = a (m, k) b (k, rows); a_ij at a[i a_row + j a_column]. Rows are computed in whole lanes.
void fused_product(int m, int k, const float* a, int a_row, int a_column, const float* b, int rows, float* to);

// to (m, n) = a (m, rows) b (n, rows)^T, a dense matrix; rows in whole lanes, so that one side must be zero in the
// padding.
void fused_outer(int m, int n, const float* a, const float* b, int rows, float* to);

class FusedMlp {
 public:
  static bool knows(std::string_view activation);

  // For networks of these layers' sizes.
  FusedMlp(std::span<const FusedLayer> layers, std::string_view activation, bool with_gradients);

  int outputs() const { return layers_.back().out; }

  // The weights of a member, read wherever they are until the next call.
  void load(std::span<const FusedLayer> layers) { weights_.assign(layers.begin(), layers.end()); }

  // x (in, rows), zero in the padding, which backward() reads again, -> outputs (out, rows), which stay until the next
  // call.
  const float* forward(const float* x, int rows);

  // After forward(): d_outputs (out, rows), zero in the padding, is filled by the caller.
  float* d_outputs() { return layers_.back().slope.data(); }
  // Sets the gradients of all layers.
  void backward(std::span<const FusedLayerGradient> gradients);

 private:
  struct Layer {
    int out = 0;
    FloatColumns h;      // (out, rows): outputs
    FloatColumns slope;  // (out, rows): phi'(a), then d/da
  };
  // h (out, rows) <- phi(W^T x + b), slope <- phi'
  using Forward = void (*)(const FusedLayer& layer, const float* x, int rows, float* h, float* slope);

  int rows_ = 0;
  const float* x_ = nullptr;
  std::vector<FusedLayer> weights_;
  std::vector<Layer> layers_;
  Forward hidden_ = nullptr;
};

}  // namespace ick
