#include "net/fused_mlp.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "net/float_lanes.h"

namespace ick {

namespace {

constexpr int kLanes = Floats::kWidth;

// A tile of kUnits units by kWide registers of rows, sum_j a_ij b_jr: each number of a is multiplied with kWide
// registers of b. It starts at `start` of each unit, if there is one, and goes through end(place, sums). Loops are
// written out: a tile in memory would be several times slower.
template <int kUnits, int kWide, class End>
ICK_FLOATS void tile(int k, const float* a, int a_row, int a_column, const float* b, const float* start, int place,
                     End end) {
  Floats sum[kUnits][kWide];
#pragma GCC unroll 8
  for (int i = 0; i < kUnits; ++i) {
    const Floats from = start != nullptr ? start[i] : 0.0F;
#pragma GCC unroll 8
    for (int t = 0; t < kWide; ++t) sum[i][t] = from;
  }
  for (int j = 0; j < k; ++j, a += a_column, b += kRowsApart) {
    Floats line[kWide];
#pragma GCC unroll 8
    for (int t = 0; t < kWide; ++t) line[t] = Floats::load(b + t * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kUnits; ++i) {
      const Floats one = a[i * a_row];
#pragma GCC unroll 8
      for (int t = 0; t < kWide; ++t) sum[i][t] = sum[i][t] + one * line[t];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kUnits; ++i) {
#pragma GCC unroll 8
    for (int t = 0; t < kWide; ++t) end(place + i * kRowsApart + t * kLanes, sum[i][t]);
  }
}

// f.operator()<size>(first) for groups of at most kMost, as even as can be: sums of few registers would wait for each
// other.
template <int kMost, class F>
void in_groups(int count, F f) {
  for (int first = 0, groups = (count + kMost - 1) / kMost; groups > 0; --groups) {
    const int size = (count - first + groups - 1) / groups;
    [&]<int... i>(std::integer_sequence<int, i...>) {
      ((size == i + 1 ? f.template operator()<i + 1>(first) : void()), ...);
    }
    (std::make_integer_sequence<int, kMost>());
    first += size;
  }
}

// All units of kWide registers of rows.
template <int kWide, int kUnits, class End>
void panel(int m, int k, const float* a, int a_row, int a_column, const float* b, const float* start, int place,
           End end) {
  in_groups<kUnits>(m, [&]<int n>(int i) {
    tile<n, kWide>(k, a + i * a_row, a_row, a_column, b, start != nullptr ? start + i : nullptr, place + i * kRowsApart,
                   end);
  });
}

// end(place, values) for start + a b, (m, rows). Twelve sums, of six units by two registers or four by three, leave
// four registers for the operands.
template <class End>
void product(int m, int k, const float* a, int a_row, int a_column, const float* b, const float* start, int rows,
             End end) {
  const int all = whole_floats(rows);
  for (int r = 0; r < all;) {
    const int left = (all - r) / kLanes, wide = left == 3 || left == 1 ? left : 2;
    if (wide == 1) panel<1, 8>(m, k, a, a_row, a_column, b + r, start, r, end);
    if (wide == 2) panel<2, 6>(m, k, a, a_row, a_column, b + r, start, r, end);
    if (wide == 3) panel<3, 4>(m, k, a, a_row, a_column, b + r, start, r, end);
    r += wide * kLanes;
  }
}

struct Store {
  float* to;
  ICK_FLOATS void operator()(int place, Floats z) const { z.store(to + place); }
};

struct Multiply {
  float* to;
  ICK_FLOATS void operator()(int place, Floats z) const { (Floats::load(to + place) * z).store(to + place); }
};

template <class Phi>
struct Activate {
  float *h, *slope;  // slope may be null
  ICK_FLOATS void operator()(int place, Floats z) const {
    Floats value, derivative;
    Phi::both(z, value, derivative);
    value.store(h + place);
    if (slope != nullptr) derivative.store(slope + place);
  }
};

template <class Phi>
void hidden_layer(const FusedLayer& layer, const float* x, int rows, float* h, float* slope) {
  product(layer.out, layer.in, layer.weight, 1, layer.out, x, layer.bias, rows, Activate<Phi>{h, slope});
}

// Sums over rows, sum_r a_ir b_jr, of kA by kB.
template <int kA, int kB>
ICK_FLOATS void dots(const float* a, const float* b, int rows, float* to, int to_row) {
  Floats sum[kA][kB];
#pragma GCC unroll 8
  for (int i = 0; i < kA; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kB; ++j) sum[i][j] = 0.0F;
  }
  for (int r = 0; r < rows; r += kLanes) {
    Floats line[kA];
#pragma GCC unroll 8
    for (int i = 0; i < kA; ++i) line[i] = Floats::load(a + i * kRowsApart + r);
#pragma GCC unroll 8
    for (int j = 0; j < kB; ++j) {
      const Floats other = Floats::load(b + j * kRowsApart + r);
#pragma GCC unroll 8
      for (int i = 0; i < kA; ++i) sum[i][j] = sum[i][j] + line[i] * other;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kA; ++i) {
    if constexpr (kB == 4) {
      totals(sum[i][0], sum[i][1], sum[i][2], sum[i][3], to + i * to_row);
    } else if constexpr (kB == 3) {
      float four[4];
      totals(sum[i][0], sum[i][1], sum[i][2], sum[i][2], four);
      std::copy_n(four, 3, to + i * to_row);
    } else {
#pragma GCC unroll 8
      for (int j = 0; j < kB; ++j) to[i * to_row + j] = total(sum[i][j]);
    }
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
  void (*layer)(const FusedLayer&, const float*, int, float*, float*);
};
constexpr std::array kActivations = {Named{"relu", hidden_layer<Relu>}, Named{"gelu", hidden_layer<Gelu>},
                                     Named{"silu", hidden_layer<Silu>}, Named{"tanh", hidden_layer<Tanh>},
                                     Named{"erf", hidden_layer<Erf>}};

}  // namespace

void turn_in(FloatRows<const float> from, int rows, int columns, float* to) {
  for (int c = 0; c < columns; ++c) {
    const float* const column = from.at + c * from.column;
    float* const line = to + c * kRowsApart;
    if (from.row == 1) {
      std::copy_n(column, rows, line);
    } else {
      for (int r = 0; r < rows; ++r) line[r] = column[r * from.row];
    }
    std::fill(line + rows, line + whole_floats(rows), 0.0F);
  }
}

void turn_out(const float* from, int rows, int columns, FloatRows<float> to) {
  for (int c = 0; c < columns; ++c) {
    const float* const line = from + c * kRowsApart;
    float* const column = to.at + c * to.column;
    if (to.row == 1) {
      std::copy_n(line, rows, column);
    } else {
      for (int r = 0; r < rows; ++r) column[r * to.row] = line[r];
    }
  }
}

void fused_product(int m, int k, const float* a, int a_row, int a_column, const float* b, int rows, float* to) {
  product(m, k, a, a_row, a_column, b, nullptr, rows, Store{to});
}

void fused_outer(int m, int n, const float* a, const float* b, int rows, float* to) {
  const int all = whole_floats(rows);
  in_groups<4>(n, [&]<int kB>(int j) {
    in_groups<3>(m,
                 [&]<int kA>(int i) { dots<kA, kB>(a + i * kRowsApart, b + j * kRowsApart, all, to + i * n + j, n); });
  });
}

bool FusedMlp::knows(std::string_view activation) {
  return std::any_of(kActivations.begin(), kActivations.end(), [&](const Named& n) { return n.name == activation; });
}

FusedMlp::FusedMlp(std::span<const FusedLayer> layers, std::string_view activation, bool with_gradients) {
  for (const Named& each : kActivations) {
    if (each.name == activation) hidden_ = each.layer;
  }
  for (const FusedLayer& layer : layers) {
    layers_.push_back({layer.out, float_columns(layer.out), float_columns(with_gradients ? layer.out : 0)});
  }
}

const float* FusedMlp::forward(const float* x, int rows) {
  x_ = x, rows_ = rows;
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    hidden_(weights_[l], x, rows, layer.h.data(), layer.slope.empty() ? nullptr : layer.slope.data());
    x = layer.h.data();
  }
  const FusedLayer& last = weights_.back();
  float* const outputs = layers_.back().h.data();
  product(last.out, last.in, last.weight, 1, last.out, x, last.bias, rows, Store{outputs});
  return outputs;
}

// d/da_l is kept where phi'(a_l) was:  d/dW_l = h_{l-1} d/da_l^T,   d/da_{l-1} = phi'(a_{l-1}) (W_l d/da_l)
void FusedMlp::backward(std::span<const FusedLayerGradient> gradients) {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const FusedLayer& layer = weights_[l];
    const float* const slope = layers_[l].slope.data();
    fused_outer(layer.in, layer.out, l > 0 ? layers_[l - 1].h.data() : x_, slope, rows_, gradients[l].weight);
    for (int j = 0; j < layer.out; ++j) {
      Floats sum = 0.0F;
      for (int r = 0; r < rows_; r += kLanes) sum = sum + Floats::load(slope + j * kRowsApart + r);
      gradients[l].bias[j] = total(sum);
    }
    if (l == 0) return;
    product(layer.in, layer.out, layer.weight, layer.out, 1, slope, nullptr, rows_,
            Multiply{layers_[l - 1].slope.data()});
  }
}

}  // namespace ick
