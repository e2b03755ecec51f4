#pragma once

#include <utility>

#include "kernel/lanes.h"

// Triangular solves and their derivative for many right-hand sides side by side, four to a register: a block (p, width)
// is p rows of `width` numbers, whole lanes. Tiles of 4 rows by 3 registers stay in registers, so every load feeds
// several multiplications. L is (p, p) row-major, `reciprocal` (p) holds 1 / L_ii.
namespace ick {

namespace detail {

inline constexpr int kTileRows = 4, kTileLanes = 3, kTileWidth = kTileLanes * Lanes::kWidth;

// f(0), f(1), ..., f(n - 1), written out: a loop would keep a tile in memory.
template <int n, class F>
ICK_INLINE void repeat(F f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) { (f(i), ...); }
  (std::make_integer_sequence<int, n>());
}

template <int kRows, int kLanes>
struct Tile {
  Lanes at[kRows][kLanes];

  ICK_INLINE void load(const double* from, int width) {
    repeat<kRows>([&](int r) { repeat<kLanes>([&](int t) { at[r][t] = Lanes::load(from + r * width + t * 4); }); });
  }
  ICK_INLINE void store(double* to, int width) const {
    repeat<kRows>([&](int r) { repeat<kLanes>([&](int t) { at[r][t].store(to + r * width + t * 4); }); });
  }
  // Row r less weight(r) times the numbers at `from`.
  template <class Weight>
  ICK_INLINE void subtract(const double* from, Weight weight) {
    Lanes line[kLanes];
    repeat<kLanes>([&](int t) { line[t] = Lanes::load(from + t * 4); });
    repeat<kRows>([&](int r) {
      const Lanes w = weight(r);
      repeat<kLanes>([&](int t) { at[r][t] = at[r][t] - w * line[t]; });
    });
  }
};

// Rows i .. i + kRows - 1 of L z = k, from column j on, once rows before i are solved.
template <int kRows, int kLanes>
ICK_INLINE void forward_tile(const double* factor, const double* reciprocal, int p, double* block, int width, int i,
                             int j) {
  Tile<kRows, kLanes> tile;
  tile.load(block + i * width + j, width);
  for (int k = 0; k < i; ++k) {
    tile.subtract(block + k * width + j, [&](int r) { return factor[(i + r) * p + k]; });
  }
  repeat<kRows>([&](int r) {
    repeat<kRows>([&](int s) {
      if (s >= r) return;
      const Lanes w = factor[(i + r) * p + i + s];
      repeat<kLanes>([&](int t) { tile.at[r][t] = tile.at[r][t] - w * tile.at[s][t]; });
    });
    repeat<kLanes>([&](int t) { tile.at[r][t] = tile.at[r][t] * Lanes(reciprocal[i + r]); });
  });
  tile.store(block + i * width + j, width);
}

// The same for L^T a = g, once rows after i + kRows - 1 are solved.
template <int kRows, int kLanes>
ICK_INLINE void backward_tile(const double* factor, const double* reciprocal, int p, double* block, int width, int i,
                              int j) {
  Tile<kRows, kLanes> tile;
  tile.load(block + i * width + j, width);
  for (int k = i + kRows; k < p; ++k) {
    tile.subtract(block + k * width + j, [&](int r) { return factor[k * p + i + r]; });
  }
  repeat<kRows>([&](int from_end) {
    const int r = kRows - 1 - from_end;
    repeat<kRows>([&](int s) {
      if (s <= r) return;
      const Lanes w = factor[(i + s) * p + i + r];
      repeat<kLanes>([&](int t) { tile.at[r][t] = tile.at[r][t] - w * tile.at[s][t]; });
    });
    repeat<kLanes>([&](int t) { tile.at[r][t] = tile.at[r][t] * Lanes(reciprocal[i + r]); });
  });
  tile.store(block + i * width + j, width);
}

template <int kLanes>
void forward_columns(const double* factor, const double* reciprocal, int p, double* block, int width, int j) {
  int i = 0;
  for (; i + kTileRows <= p; i += kTileRows) {
    forward_tile<kTileRows, kLanes>(factor, reciprocal, p, block, width, i, j);
  }
  for (; i < p; ++i) forward_tile<1, kLanes>(factor, reciprocal, p, block, width, i, j);
}

template <int kLanes>
void backward_columns(const double* factor, const double* reciprocal, int p, double* block, int width, int j) {
  int i = p;
  for (; i >= kTileRows; i -= kTileRows) {
    backward_tile<kTileRows, kLanes>(factor, reciprocal, p, block, width, i - kTileRows, j);
  }
  for (; i > 0; --i) backward_tile<1, kLanes>(factor, reciprocal, p, block, width, i - 1, j);
}

// to[i + r, k + c] -= sum_j a[i + r, j] b[k + c, j]
template <int kRows, int kColumns>
ICK_INLINE void inner_tile(const double* a, const double* b, int width, int i, int k, double* to, int p) {
  Lanes total[kRows][kColumns];
  repeat<kRows>([&](int r) { repeat<kColumns>([&](int c) { total[r][c] = 0.0; }); });
  for (int j = 0; j < width; j += Lanes::kWidth) {
    Lanes other[kColumns];
    repeat<kColumns>([&](int c) { other[c] = Lanes::load(b + (k + c) * width + j); });
    repeat<kRows>([&](int r) {
      const Lanes one = Lanes::load(a + (i + r) * width + j);
      repeat<kColumns>([&](int c) { total[r][c] = total[r][c] + one * other[c]; });
    });
  }
  repeat<kRows>([&](int r) { repeat<kColumns>([&](int c) { to[(i + r) * p + k + c] -= total[r][c].total(); }); });
}

}  // namespace detail

// block <- L^-1 block
inline void solve_forward(const double* factor, const double* reciprocal, int p, double* block, int width) {
  using namespace detail;
  int j = 0;
  for (; j + kTileWidth <= width; j += kTileWidth) forward_columns<kTileLanes>(factor, reciprocal, p, block, width, j);
  for (; j < width; j += Lanes::kWidth) forward_columns<1>(factor, reciprocal, p, block, width, j);
}

// block <- L^-T block
inline void solve_backward(const double* factor, const double* reciprocal, int p, double* block, int width) {
  using namespace detail;
  int j = 0;
  for (; j + kTileWidth <= width; j += kTileWidth) backward_columns<kTileLanes>(factor, reciprocal, p, block, width, j);
  for (; j < width; j += Lanes::kWidth) backward_columns<1>(factor, reciprocal, p, block, width, j);
}

// The lower triangle of `to` (p, p) less a b^T, for blocks a and b (p, width). What is above the diagonal is not to be
// read.
inline void subtract_lower_product(const double* a, const double* b, int p, int width, double* to) {
  int i = 0;
  for (; i + 4 <= p; i += 4) {
    int k = 0;
    for (; k + 3 <= p && k <= i + 3; k += 3) detail::inner_tile<4, 3>(a, b, width, i, k, to, p);
    for (; k <= i + 3; ++k) detail::inner_tile<4, 1>(a, b, width, i, k, to, p);
  }
  for (; i < p; ++i) {
    for (int k = 0; k <= i; ++k) detail::inner_tile<1, 1>(a, b, width, i, k, to, p);
  }
}

}  // namespace ick
