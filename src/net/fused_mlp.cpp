#include "net/fused_mlp.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "net/float_lanes.h"

namespace ick {

namespace {

constexpr int kLanes = Floats::kWidth;

// f(0), f(1), ..., f(n - 1), written out: a loop would keep a tile in memory.
template <int n, class F>
ICK_FLOATS void repeat(F f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) { (f(i), ...); }
  (std::make_integer_sequence<int, n>());
}

// A tile of kRows rows by kWide registers: each number of a is multiplied with kWide registers of b.
template <int kRows, int kWide>
ICK_FLOATS void tile(int k, const float* a, int a_row, int a_column, const float* b, int b_row, float* to, int to_row) {
  Floats sum[kRows][kWide];
  repeat<kRows>([&](int r) { repeat<kWide>([&](int t) { sum[r][t] = 0.0F; }); });
  for (int j = 0; j < k; ++j, a += a_column, b += b_row) {
    Floats line[kWide];
    repeat<kWide>([&](int t) { line[t] = Floats::load(b + t * kLanes); });
    repeat<kRows>([&](int r) {
      const Floats one = a[r * a_row];
      repeat<kWide>([&](int t) { sum[r][t] = sum[r][t] + one * line[t]; });
    });
  }
  repeat<kRows>([&](int r) { repeat<kWide>([&](int t) { sum[r][t].store(to + r * to_row + t * kLanes); }); });
}

// All rows of a panel of kWide registers, in tiles of at most kRows rows and as even as can be: sums of few registers
// would wait for each other.
template <int kWide, int kRows>
void panel(int m, int k, const float* a, int a_row, int a_column, const float* b, int b_row, float* to, int to_row) {
  for (int tiles = (m + kRows - 1) / kRows; tiles > 0; --tiles) {
    const int rows = (m + tiles - 1) / tiles;
    [&]<int... i>(std::integer_sequence<int, i...>) {
      ((rows == i + 1 ? tile<i + 1, kWide>(k, a, a_row, a_column, b, b_row, to, to_row) : void()), ...);
    }
    (std::make_integer_sequence<int, kRows>());
    a += rows * a_row, to += rows * to_row, m -= rows;
  }
}

// h <- phi(h), slope <- phi'(h), count in whole lanes; slope may be null.
template <class Phi>
void activate(float* h, float* slope, int count) {
  for (int i = 0; i < count; i += kLanes) {
    Floats value, derivative;
    Phi::both(Floats::load(h + i), value, derivative);
    value.store(h + i);
    if (slope != nullptr) derivative.store(slope + i);
  }
}

struct Relu {
  ICK_FLOATS static void both(Floats z, Floats& value, Floats& slope) {
    value = select(z.v <= 0.0F, 0.0F, z);  // what is not a number stays so
    slope = select(z.v <= 0.0F, 0.0F, 1.0F);
  }
};

// z Phi(z), Phi(z) + z Phi'(z)
struct Gelu {
  ICK_FLOATS static void both(Floats z, Floats& value, Floats& slope) {
    const Floats density = exp(-0.5F * (z * z));
    const Floats tail = normal_tail(magnitude(z), density);
    const Floats cumulative = select(z.v < 0.0F, tail, 1.0F - tail);
    value = z * cumulative;
    slope = cumulative + z * (0.398942280F * density);
  }
};

// z s(z), s (1 + z (1 - s)), s the logistic function
struct Silu {
  ICK_FLOATS static void both(Floats z, Floats& value, Floats& slope) {
    const Floats s = Floats(1.0F) / (1.0F + exp(-z));
    value = z * s;
    slope = s * (1.0F + z * (1.0F - s));
  }
};

struct Tanh {
  ICK_FLOATS static void both(Floats z, Floats& value, Floats& slope) {
    value = 1.0F - 2.0F / (exp(2.0F * z) + 1.0F);
    slope = 1.0F - value * value;
  }
};

// erf(z) = 1 - 2 Q(sqrt(2) z)
struct Erf {
  ICK_FLOATS static void both(Floats z, Floats& value, Floats& slope) {
    const Floats density = exp(-(z * z));
    const Floats positive = 1.0F - 2.0F * normal_tail(1.41421356F * magnitude(z), density);
    value = select(z.v < 0.0F, -positive, positive);
    slope = 1.12837917F * density;
  }
};

struct Named {
  std::string_view name;
  void (*activate)(float*, float*, int);
};
constexpr std::array kActivations = {Named{"relu", activate<Relu>}, Named{"gelu", activate<Gelu>},
                                     Named{"silu", activate<Silu>}, Named{"tanh", activate<Tanh>},
                                     Named{"erf", activate<Erf>}};

}  // namespace

void fused_product(int m, int n, int k, const float* a, int a_row, int a_column, const float* b, int b_row, float* to,
                   int to_row) {
  // Twelve sums, of six rows by two registers, leave four registers for the operands.
  int j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) panel<2, 6>(m, k, a, a_row, a_column, b + j, b_row, to + j, to_row);
  if (j < n) panel<1, 8>(m, k, a, a_row, a_column, b + j, b_row, to + j, to_row);
}

bool FusedMlp::knows(std::string_view activation) {
  return std::any_of(kActivations.begin(), kActivations.end(), [&](const Named& n) { return n.name == activation; });
}

FusedMlp::FusedMlp(std::span<const FusedLayer> layers, std::string_view activation, bool with_gradients)
    : in_row_(whole_floats(layers[0].in + 1)), layers_(layers.size()), with_gradients_(with_gradients) {
  for (const Named& each : kActivations) {
    if (each.name == activation) activate_ = each.activate;
  }
  x_.assign(static_cast<std::size_t>(kChunkRows) * in_row_, 0.0F);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    Layer& layer = layers_[l];
    layer.in = layers[l].in, layer.out = layers[l].out;
    layer.wide = whole_floats(layer.out), layer.row = whole_floats(layer.out + 1);
    layer.weight.assign(static_cast<std::size_t>(layer.in + 1) * layer.wide, 0.0F);
    layer.h.assign(static_cast<std::size_t>(kChunkRows) * layer.row, 0.0F);
    if (!with_gradients) continue;
    layer.transposed.assign(static_cast<std::size_t>(layer.out) * whole_floats(layer.in), 0.0F);
    layer.slope.assign(layer.h.size(), 0.0F);
    layer.gradient.assign(layer.weight.size(), 0.0F);
  }
}

void FusedMlp::load(std::span<const FusedLayer> from) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    for (int i = 0; i < layer.in; ++i) {
      std::copy_n(from[l].weight + i * layer.out, layer.out, layer.weight.data() + i * layer.wide);
    }
    std::copy_n(from[l].bias, layer.out, layer.weight.data() + layer.in * layer.wide);
    if (!with_gradients_ || l == 0) continue;
    const int row = whole_floats(layer.in);
    for (int i = 0; i < layer.in; ++i) {
      for (int j = 0; j < layer.out; ++j) layer.transposed[j * row + i] = from[l].weight[i * layer.out + j];
    }
  }
}

const float* FusedMlp::forward(const float* x, int rows) {
  rows_ = rows;
  const int in = layers_[0].in;
  for (int r = 0; r < rows; ++r) {
    std::copy_n(x + r * in, in, x_.data() + r * in_row_);
    x_[r * in_row_ + in] = 1.0F;
  }
  const float* h = x_.data();
  int h_row = in_row_;
  for (Layer& layer : layers_) {
    fused_product(rows, layer.wide, layer.in + 1, h, h_row, 1, layer.weight.data(), layer.wide, layer.h.data(),
                  layer.row);
    if (&layer != &layers_.back()) {
      activate_(layer.h.data(), with_gradients_ ? layer.slope.data() : nullptr, rows * layer.row);
      for (int r = 0; r < rows; ++r) layer.h[r * layer.row + layer.out] = 1.0F;
    }
    h = layer.h.data(), h_row = layer.row;
  }
  return h;
}

// d/da_l is kept where phi'(a_l) was:  d/dW_l = h_{l-1}^T d/da_l,   d/da_{l-1} = phi'(a_{l-1}) (d/da_l W_l^T)
void FusedMlp::backward(std::span<const FusedLayerGradient> gradients) {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    const float* const h = l > 0 ? layers_[l - 1].h.data() : x_.data();
    const int h_row = l > 0 ? layers_[l - 1].row : in_row_;
    fused_product(layer.in + 1, layer.wide, rows_, h, 1, h_row, layer.slope.data(), layer.row, layer.gradient.data(),
                  layer.wide);
    for (int i = 0; i < layer.in; ++i) {
      std::copy_n(layer.gradient.data() + i * layer.wide, layer.out, gradients[l].weight + i * layer.out);
    }
    std::copy_n(layer.gradient.data() + layer.in * layer.wide, layer.out, gradients[l].bias);
    if (l == 0) return;
    Layer& before = layers_[l - 1];  // whose outputs are needed no more, and make room
    fused_product(rows_, before.wide, layer.out, layer.slope.data(), layer.row, 1, layer.transposed.data(), before.wide,
                  before.h.data(), before.row);
    for (int i = 0; i < rows_ * before.row; i += kLanes) {
      (Floats::load(before.slope.data() + i) * Floats::load(before.h.data() + i)).store(before.slope.data() + i);
    }
  }
}

}  // namespace ick
