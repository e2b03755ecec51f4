#include "neighbour/fused_conditional.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel/lanes.h"

namespace ick {

namespace {

constexpr int kWidth = kLaneWidth;
constexpr double kLeastPivot = 1e-12;  // of the diagonal: rows that are alike but for rounding

constexpr int kTile = 4;     // rows of the factor that are computed at once
constexpr int kColumns = 2;  // and columns: tiles' numbers and what they are made of stay in registers
constexpr int kChunk = 16;   // features of all rows of a group that are at hand at once
static_assert(kTile % kColumns == 0);

ICK_INLINE Lanes load(const double* from) { return Lanes::load(from); }

// Calls work<R>() with R = rows, 1 .. kTile.
template <class Work>
ICK_INLINE void with_rows(int rows, const Work& work) {
  switch (rows) {
    case 1:
      return work.template operator()<1>();
    case 2:
      return work.template operator()<2>();
    case 3:
      return work.template operator()<3>();
    default:
      return work.template operator()<kTile>();
  }
}

// Lower triangles row by row, (pairs, lanes)
ICK_INLINE double* row_of(double* triangle, int i) { return triangle + pair_of(i, 0) * kWidth; }
ICK_INLINE const double* row_of(const double* triangle, int i) { return triangle + pair_of(i, 0) * kWidth; }

// a_ij - z_i . z_j over the features of a chunk, z (rows, kChunk, lanes): R rows from i on, by columns before i and then
// among themselves.
template <int R>
ICK_INLINE void take_off(double* a, const double* z, int i) {
  const auto z_of = [&](int row, int p) { return load(z + (row * kChunk + p) * kWidth); };
  for (int j = 0; j < i; j += kColumns) {
    Lanes sums[R][kColumns];
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < kColumns; ++c) sums[r][c] = load(row_of(a, i + r) + (j + c) * kWidth);
    }
    for (int p = 0; p < kChunk; ++p) {
      const Lanes first = z_of(j, p), second = z_of(j + 1, p);
      for (int r = 0; r < R; ++r) {
        const Lanes own = z_of(i + r, p);
        sums[r][0] = sums[r][0] - own * first;
        sums[r][1] = sums[r][1] - own * second;
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < kColumns; ++c) sums[r][c].store(row_of(a, i + r) + (j + c) * kWidth);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c <= r; ++c) {
      double* const to = row_of(a, i + r) + (i + c) * kWidth;
      Lanes sum = load(to);
      for (int p = 0; p < kChunk; ++p) sum = sum - z_of(i + r, p) * z_of(i + c, p);
      sum.store(to);
    }
  }
}

// R rows of the factor, from i on, in place of those of the matrix:
//   l_ij = (a_ij - sum_l<j l_il l_jl) / l_jj,   l_ii = sqrt(a_ii - sum_l<i l_il^2)
// Row `most`, the target's, ends with L^-1 c_N and what is left of its variance.
template <int R>
ICK_INLINE void factor_rows(double* factor, double* pivots, int i, int most) {
  double* row[R];
  Lanes least[R];
  for (int r = 0; r < R; ++r) {
    row[r] = row_of(factor, i + r);
    least[r] = kLeastPivot * load(row[r] + (i + r) * kWidth);
  }
  for (int j = 0; j < i; j += kColumns) {
    const double *const above = row_of(factor, j), *const below = row_of(factor, j + 1);
    Lanes first[R], second[R];
    for (int r = 0; r < R; ++r) first[r] = load(row[r] + j * kWidth), second[r] = load(row[r] + (j + 1) * kWidth);
    for (int l = 0; l < j; ++l) {
      const Lanes one = load(above + l * kWidth), other = load(below + l * kWidth);
      for (int r = 0; r < R; ++r) {
        const Lanes own = load(row[r] + l * kWidth);
        first[r] = first[r] - own * one;
        second[r] = second[r] - own * other;
      }
    }
    const Lanes by = load(pivots + j * kWidth), then_by = load(pivots + (j + 1) * kWidth),
                link = load(below + j * kWidth);
    for (int r = 0; r < R; ++r) {
      first[r] = first[r] * by;
      second[r] = (second[r] - first[r] * link) * then_by;
      first[r].store(row[r] + j * kWidth), second[r].store(row[r] + (j + 1) * kWidth);
    }
  }
  Lanes rest[R][R];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c <= r; ++c) rest[r][c] = load(row[r] + (i + c) * kWidth);
  }
  for (int l = 0; l < i; ++l) {
    Lanes own[R];
    for (int r = 0; r < R; ++r) own[r] = load(row[r] + l * kWidth);
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c <= r; ++c) rest[r][c] = rest[r][c] - own[r] * own[c];
    }
  }
  Lanes over[R];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < r; ++c) {
      for (int l = 0; l < c; ++l) rest[r][c] = rest[r][c] - rest[r][l] * rest[c][l];
      rest[r][c] = rest[r][c] * over[c];
      rest[r][c].store(row[r] + (i + c) * kWidth);
    }
    for (int l = 0; l < r; ++l) rest[r][r] = rest[r][r] - square(rest[r][l]);
    if (i + r == most) {  // the variance that is left, of the function
      select(rest[r][r].v > 0.0, rest[r][r], 0.0).store(row[r] + most * kWidth);
      return;
    }
    const Lanes pivot = root(select(rest[r][r].v > least[r].v, rest[r][r], least[r]));
    pivot.store(row[r] + (i + r) * kWidth);
    over[r] = inverse(pivot);
    over[r].store(pivots + (i + r) * kWidth);
  }
}

// L^-1 values, in place, (count, lanes)
void forward(const double* factor, const double* pivots, int count, double* values) {
  for (int i = 0; i < count; i += kTile) {
    with_rows(std::min(kTile, count - i), [&]<int R>() {
      Lanes own[R];
      for (int r = 0; r < R; ++r) own[r] = load(values + (i + r) * kWidth);
      for (int l = 0; l < i; ++l) {
        const Lanes known = load(values + l * kWidth);
        for (int r = 0; r < R; ++r) own[r] = own[r] - load(row_of(factor, i + r) + l * kWidth) * known;
      }
      for (int r = 0; r < R; ++r) {
        for (int c = 0; c < r; ++c) own[r] = own[r] - load(row_of(factor, i + r) + (i + c) * kWidth) * own[c];
        own[r] = own[r] * load(pivots + (i + r) * kWidth);
        own[r].store(values + (i + r) * kWidth);
      }
    });
  }
}

// L^-T values, in place: what is known is taken off all that come after it, and the factor is read along its rows.
void backward(const double* factor, const double* pivots, int count, double* values) {
  for (int i = (count - 1) / kTile * kTile; i >= 0; i -= kTile) {
    with_rows(std::min(kTile, count - i), [&]<int R>() {
      Lanes own[R];
      for (int r = R - 1; r >= 0; --r) {
        own[r] = load(values + (i + r) * kWidth);
        for (int c = r + 1; c < R; ++c) own[r] = own[r] - load(row_of(factor, i + c) + (i + r) * kWidth) * own[c];
        own[r] = own[r] * load(pivots + (i + r) * kWidth);
        own[r].store(values + (i + r) * kWidth);
      }
      for (int l = 0; l < i; ++l) {
        Lanes value = load(values + l * kWidth);
        for (int r = 0; r < R; ++r) value = value - load(row_of(factor, i + r) + l * kWidth) * own[r];
        value.store(values + l * kWidth);
      }
    });
  }
}

}  // namespace

// Row `most` is the target, those before it its neighbours.
struct FusedConditionals::Space {
  std::vector<double> x, z;       // (inputs, rows, lanes), (rows, kChunk, lanes)
  std::vector<double> k, factor;  // (pairs, lanes); of the factor the rows of neighbours and, last, L^-1 c_N
  std::vector<double> c;          // (most, lanes)
  std::vector<double> pivots;     // (most, lanes) inverses of the factor's diagonal

  void fit(int inputs, int most) {
    const auto rows = static_cast<std::size_t>(most + 1), pairs = rows * (rows + 1) / 2;
    x.resize(rows * inputs * kWidth), z.resize(rows * kChunk * kWidth);
    k.resize(pairs * kWidth), factor.resize(pairs * kWidth);
    c.resize(rows * kWidth), pivots.resize(rows * kWidth);
  }
};

void FusedConditionals::factorise(const double* theta, const NeighbourRows& rows, const Conditional* targets, int lanes,
                                  int most, Space& space) const {
  const int size = most + 1;
  const auto target_of = [&](int lane) -> const Conditional& {  // lanes without a target repeat the first
    return targets[lane < lanes ? lane : 0];
  };
  // Calls visit(lane, i, x, z) for all rows of all groups; there is nothing where a neighbour is missing but the target.
  const auto for_rows = [&](const auto& visit) {
    for (int lane = 0; lane < kWidth; ++lane) {
      const Conditional& target = target_of(lane);
      for (int i = 0; i < size; ++i) {
        const std::int64_t row = i < target.count ? target.neighbours[i] : -1;
        visit(lane, i, i == most || row < 0 ? target.x : rows.x + row * rows.inputs,
              i == most || row < 0 ? target.z : rows.z + row * rows.stride);
      }
    }
  };
  for_rows([&](int lane, int i, const double* x, const double*) {
    for (int d = 0; d < rows.inputs; ++d) space.x[(d * size + i) * kWidth + lane] = x[d];
  });
  const FusedGroups groups{space.x.data(), size};
  double* const factor = space.factor.data();
  for (std::size_t t = 0; t < products_.size(); ++t) {
    group_values(products_[t], theta, groups, space.k.data());
    for (int i = 0; i < groups.pairs() * kWidth; ++i) factor[i] = share_ * space.k[i] + (t > 0 ? factor[i] : 0.0);
  }
  for (int first = 0; first < rows.features; first += kChunk) {
    const int many = std::min(kChunk, rows.features - first);
    for_rows([&](int lane, int i, const double*, const double* z) {
      double* const to = space.z.data() + i * kChunk * kWidth + lane;
      for (int p = 0; p < kChunk; ++p) to[p * kWidth] = p < many ? z[first + p] : 0.0;
    });
    for (int i = 0; i < size; i += kTile) {
      with_rows(std::min(kTile, size - i), [&]<int R>() { take_off<R>(factor, space.z.data(), i); });
    }
  }
  for (int lane = 0; lane < kWidth; ++lane) {
    const Conditional& target = target_of(lane);
    const auto at = [&](int i, int j) -> double& { return factor[pair_of(i, j) * kWidth + lane]; };
    for (int i = 0; i < target.count; ++i) at(i, i) += rows.noise[target.neighbours[i]];
    for (int i = target.count; i < most; ++i) {  // no neighbour: a row of its own
      for (int j = 0; j < i; ++j) at(i, j) = 0.0;
      at(i, i) = 1.0;
      for (int j = i + 1; j < size; ++j) at(j, i) = 0.0;
    }
  }
  for (int i = 0; i < size; i += kTile) {
    with_rows(std::min(kTile, size - i), [&]<int R>() { factor_rows<R>(factor, space.pivots.data(), i, most); });
  }
  // c = L^-T (L^-1 c_N)
  std::copy_n(row_of(factor, most), most * kWidth, space.c.begin());
  backward(factor, space.pivots.data(), most, space.c.data());
}

void FusedConditionals::operator()(const double* theta, const NeighbourRows& rows, const Conditional* targets,
                                   int count, int most, double* weights, double* variance) const {
  static thread_local Space space;
  space.fit(rows.inputs, most);
  for (int first = 0; first < count; first += kWidth) {
    const int lanes = std::min(kWidth, count - first);
    factorise(theta, rows, targets + first, lanes, most, space);
    for (int lane = 0; lane < lanes; ++lane) {
      for (int i = 0; i < most; ++i) weights[(first + lane) * most + i] = space.c[i * kWidth + lane];
      variance[first + lane] = space.factor[pair_of(most, most) * kWidth + lane];
    }
  }
}

void FusedConditionals::parts(const double* theta, const NeighbourRows& rows, const Conditional* targets, int count,
                              int most, const std::vector<Part>& parts, double* weights, double* variance) const {
  static thread_local Space space;
  static thread_local std::vector<double> own, solved;  // c_tN and last c_t**, c_t: (most + 1, lanes)
  const int size = most + 1;
  space.fit(rows.inputs, most);
  own.resize(size * kWidth), solved.resize(size * kWidth);
  for (int first = 0; first < count; first += kWidth) {
    const int lanes = std::min(kWidth, count - first);
    factorise(theta, rows, targets + first, lanes, most, space);
    const FusedGroups groups{space.x.data(), size};
    for (std::size_t p = 0; p < parts.size(); ++p) {
      std::fill(own.begin(), own.end(), 0.0);
      for (const std::size_t t : parts[p].products) {
        group_values(products_[t], theta, groups, space.k.data());
        const double* const last = row_of(space.k.data(), most);
        for (int i = 0; i < size * kWidth; ++i) own[i] += share_ * last[i];
      }
      for (int lane = 0; lane < lanes; ++lane) {
        const Conditional& target = targets[first + lane];
        for (int i = 0; i < size; ++i) {
          if (i >= target.count && i < most) {  // no neighbour
            own[i * kWidth + lane] = 0.0;
            continue;
          }
          const double* const z = i == most ? target.z : rows.z + target.neighbours[i] * rows.stride;
          for (int f = parts[p].first_feature; f < parts[p].first_feature + parts[p].features; ++f) {
            own[i * kWidth + lane] -= target.z[f] * z[f];
          }
        }
      }
      solved = own;
      forward(space.factor.data(), space.pivots.data(), most, solved.data());
      backward(space.factor.data(), space.pivots.data(), most, solved.data());
      for (int lane = 0; lane < lanes; ++lane) {
        const std::size_t to = p * static_cast<std::size_t>(count) + static_cast<std::size_t>(first + lane);
        double left = own[most * kWidth + lane];
        for (int i = 0; i < most; ++i) {
          weights[to * static_cast<std::size_t>(most) + static_cast<std::size_t>(i)] = solved[i * kWidth + lane];
          left -= own[i * kWidth + lane] * solved[i * kWidth + lane];
        }
        variance[to] = std::max(left, 0.0);
      }
    }
  }
}

FusedConditionals::Sum FusedConditionals::cost(const double* theta, const NeighbourRows& rows,
                                               const double* noise_slope, const double* y, int columns,
                                               const std::int64_t* groups, const int* sizes, int count, int most,
                                               double* d_theta) const {
  static thread_local Space space;
  static thread_local std::vector<double> v, u, solved, g;
  const int size = most + 1;
  space.fit(rows.inputs, most);
  v.resize(size * kWidth), u.resize(size * kWidth), solved.resize(size * kWidth), g.resize(space.k.size());
  Sum sum;
  for (int first = 0; first < count; first += kWidth) {
    const int lanes = std::min(kWidth, count - first);
    std::array<Conditional, kWidth> targets;
    std::array<std::int64_t, kWidth> own_row{};
    for (int lane = 0; lane < kWidth; ++lane) {
      const int group = first + std::min(lane, lanes - 1);
      const std::int64_t* const members = groups + static_cast<std::int64_t>(group) * size;
      own_row[lane] = members[most];
      targets[lane] = {rows.x + own_row[lane] * rows.inputs,
                       rows.features > 0 ? rows.z + own_row[lane] * rows.stride : nullptr, members, sizes[group]};
    }
    factorise(theta, rows, targets.data(), kWidth, most, space);
    const double* const factor = space.factor.data();
    const auto at = [&](int i, int j) { return factor + pair_of(i, j) * kWidth; };
    const Lanes counts = [&] {
      Lanes each = 0.0;
      for (int lane = 0; lane < lanes; ++lane) each.v[lane] = 1.0;
      return each;
    }();
    Lanes noise;
    for (int lane = 0; lane < kWidth; ++lane) noise.v[lane] = rows.noise[own_row[lane]];
    const Lanes d = load(at(most, most)) + noise, over = inverse(d);
    // v = C^-1 e_last,  u = mean over columns of r C^-1 y
    for (int i = 0; i < most; ++i) (-load(space.c.data() + i * kWidth) * over).store(v.data() + i * kWidth);
    over.store(v.data() + most * kWidth);
    std::fill(u.begin(), u.end(), 0.0);
    Lanes squares = 0.0;
    for (int column = 0; column < columns; ++column) {
      for (int lane = 0; lane < kWidth; ++lane) {
        const Conditional& target = targets[lane];
        const auto y_of = [&](std::int64_t row) { return y[row * columns + column]; };
        for (int i = 0; i < most; ++i) solved[i * kWidth + lane] = i < target.count ? y_of(target.neighbours[i]) : 0.0;
        solved[most * kWidth + lane] = y_of(own_row[lane]);
      }
      Lanes r = load(solved.data() + most * kWidth);
      for (int i = 0; i < most; ++i) r = r - load(space.c.data() + i * kWidth) * load(solved.data() + i * kWidth);
      forward(space.factor.data(), space.pivots.data(), most, solved.data());
      backward(space.factor.data(), space.pivots.data(), most, solved.data());  // C_NN^-1 y_N
      squares = squares + square(r);
      const Lanes s = r * over, part = r * (1.0 / columns);
      for (int i = 0; i < most; ++i) {
        const Lanes alpha = load(solved.data() + i * kWidth) - load(space.c.data() + i * kWidth) * s;
        (load(u.data() + i * kWidth) + part * alpha).store(u.data() + i * kWidth);
      }
      (load(u.data() + most * kWidth) + part * s).store(u.data() + most * kWidth);
    }
    squares = squares * (1.0 / columns);
    for (int lane = 0; lane < lanes; ++lane) {
      sum.cost += 0.5 * (std::log(2.0 * std::numbers::pi * d.v[lane]) + squares.v[lane] / d.v[lane]);
    }
    // d/dC = (d + r^2) v v' / 2 - (u v' + v u') / 2; pairs with j < i stand for two
    const Lanes a = 0.5 * (d + squares) * counts, half = 0.5 * counts;
    for (int i = 0; i < size; ++i) {
      const Lanes vi = load(v.data() + i * kWidth), ui = load(u.data() + i * kWidth);
      const Lanes own = a * vi * vi - (2.0 * half) * (ui * vi);
      const Lanes of_v = (2.0 * share_) * (a * vi - half * ui), of_u = (2.0 * share_) * (half * vi);
      for (int j = 0; j < i; ++j) {
        const Lanes slope = of_v * load(v.data() + j * kWidth) - of_u * load(u.data() + j * kWidth);
        slope.store(g.data() + pair_of(i, j) * kWidth);
      }
      (share_ * own).store(g.data() + pair_of(i, i) * kWidth);
      for (int lane = 0; lane < lanes; ++lane) {
        const std::int64_t row = i == most ? own_row[lane] : i < targets[lane].count ? targets[lane].neighbours[i] : -1;
        if (row >= 0) sum.d_noise += own.v[lane] * noise_slope[row];
      }
    }
    const FusedGroups of{space.x.data(), size};
    for (const FusedProduct& product : products_) group_gradient(product, theta, of, g.data(), d_theta);
  }
  return sum;
}

void take_off_rows(const double* table, int width, const std::int64_t* rows, int count, const double* c, double* to) {
  for (int j = 0; j < count; ++j) {
    const double* const row = table + rows[j] * width;
    const double by = c[j];
    for (int p = 0; p < width; ++p) to[p] -= by * row[p];
  }
}

}  // namespace ick
