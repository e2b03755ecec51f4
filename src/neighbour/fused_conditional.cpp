#include "neighbour/fused_conditional.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel/lanes.h"

namespace ick {

namespace {

constexpr int kWidth = kLaneWidth;
constexpr double kLeastPivot = 1e-12;  // of the diagonal: rows that are alike but for rounding

Lanes load(const double* from) { return Lanes::load(from); }

}  // namespace

// Row `most` is the target, those before it its neighbours.
struct FusedConditionals::Space {
  std::vector<double> x, z;  // (inputs, rows, lanes), (features, rows, lanes)
  std::vector<double> k,
      factor;                  // (pairs, lanes); of the factor the rows of neighbours and, last, c_N and then L^-1 c_N
  std::vector<double> c;       // (most, lanes)
  std::vector<double> pivots;  // (most, lanes) inverses of the factor's diagonal

  void fit(int inputs, int features, int most) {
    const auto rows = static_cast<std::size_t>(most + 1), pairs = rows * (rows + 1) / 2;
    x.resize(rows * inputs * kWidth), z.resize(rows * features * kWidth);
    k.resize(pairs * kWidth), factor.resize(pairs * kWidth);
    c.resize(rows * kWidth), pivots.resize(rows * kWidth);
  }
};

void FusedConditionals::factorise(const double* theta, const NeighbourRows& rows, const Conditional* targets, int lanes,
                                  int most, Space& space) const {
  const int size = most + 1;
  for (int lane = 0; lane < kWidth; ++lane) {  // lanes without a target repeat the first
    const Conditional& target = targets[lane < lanes ? lane : 0];
    for (int i = 0; i < size; ++i) {
      const bool own = i == most;
      const std::int64_t row = i < target.count ? target.neighbours[i] : -1;
      const double* const x = own || row < 0 ? target.x : rows.x + row * rows.inputs;
      for (int d = 0; d < rows.inputs; ++d) space.x[(d * size + i) * kWidth + lane] = x[d];
      const double* const z = own || row < 0 ? target.z : rows.z + row * rows.features;
      for (int p = 0; p < rows.features; ++p) space.z[(p * size + i) * kWidth + lane] = z[p];
    }
  }
  const FusedGroups groups{space.x.data(), size};
  const int pairs = groups.pairs();
  std::fill(space.factor.begin(), space.factor.end(), 0.0);
  for (const FusedProduct& product : products_) {
    group_values(product, theta, groups, space.k.data());
    for (int i = 0; i < pairs * kWidth; ++i) space.factor[i] += share_ * space.k[i];
  }
  double* const factor = space.factor.data();
  const auto at = [&](int i, int j) { return factor + pair_of(i, j) * kWidth; };
  for (int p = 0; p < rows.features; ++p) {
    const double* const z = space.z.data() + p * size * kWidth;
    for (int i = 0; i < size; ++i) {
      const Lanes own = load(z + i * kWidth);
      for (int j = 0; j <= i; ++j) (load(at(i, j)) - own * load(z + j * kWidth)).store(at(i, j));
    }
  }
  for (int lane = 0; lane < kWidth; ++lane) {
    const Conditional& target = targets[lane < lanes ? lane : 0];
    for (int i = 0; i < target.count; ++i) at(i, i)[lane] += rows.noise[target.neighbours[i]];
    for (int i = target.count; i < most; ++i) {  // no neighbour: a row of its own
      for (int j = 0; j < i; ++j) at(i, j)[lane] = 0.0;
      at(i, i)[lane] = 1.0;
      for (int j = i + 1; j < size; ++j) at(j, i)[lane] = 0.0;
    }
  }
  // Row by row, the target's included: L^-1 c_N is what the factor would have there.
  for (int i = 0; i < size; ++i) {
    const Lanes least = kLeastPivot * load(at(i, i));
    int j = 0;
    for (; j + 1 < i; j += 2) {  // two columns share the loads of row i
      Lanes first = load(at(i, j)), second = load(at(i, j + 1));
      for (int l = 0; l < j; ++l) {
        const Lanes own = load(at(i, l));
        first = first - own * load(at(j, l));
        second = second - own * load(at(j + 1, l));
      }
      first = first * load(space.pivots.data() + j * kWidth);
      second = (second - first * load(at(j + 1, j))) * load(space.pivots.data() + (j + 1) * kWidth);
      first.store(at(i, j)), second.store(at(i, j + 1));
    }
    for (; j < i; ++j) {
      Lanes value = load(at(i, j));
      for (int l = 0; l < j; ++l) value = value - load(at(i, l)) * load(at(j, l));
      (value * load(space.pivots.data() + j * kWidth)).store(at(i, j));
    }
    Lanes rest = load(at(i, i));
    for (int l = 0; l < i; ++l) rest = rest - square(load(at(i, l)));
    if (i == most) {  // the variance that is left, of the function
      select(rest.v > 0.0, rest, 0.0).store(at(i, i));
      break;
    }
    const Lanes pivot = root(select(rest.v > least.v, rest, least));
    pivot.store(at(i, i));
    inverse(pivot).store(space.pivots.data() + i * kWidth);
  }
  // c = L^-T (L^-1 c_N)
  double* const c = space.c.data();
  for (int i = most - 1; i >= 0; --i) {
    Lanes value = load(at(most, i));
    for (int l = i + 1; l < most; ++l) value = value - load(at(l, i)) * load(c + l * kWidth);
    (value * load(space.pivots.data() + i * kWidth)).store(c + i * kWidth);
  }
}

void FusedConditionals::operator()(const double* theta, const NeighbourRows& rows, const Conditional* targets,
                                   int count, int most, double* weights, double* variance) const {
  static thread_local Space space;
  space.fit(rows.inputs, rows.features, most);
  for (int first = 0; first < count; first += kWidth) {
    const int lanes = std::min(kWidth, count - first);
    factorise(theta, rows, targets + first, lanes, most, space);
    for (int lane = 0; lane < lanes; ++lane) {
      for (int i = 0; i < most; ++i) weights[(first + lane) * most + i] = space.c[i * kWidth + lane];
      variance[first + lane] = space.factor[pair_of(most, most) * kWidth + lane];
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
  space.fit(rows.inputs, rows.features, most);
  v.resize(size * kWidth), u.resize(size * kWidth), solved.resize(size * kWidth), g.resize(space.k.size());
  Sum sum;
  for (int first = 0; first < count; first += kWidth) {
    const int lanes = std::min(kWidth, count - first);
    std::array<Conditional, kWidth> targets;
    std::array<std::int64_t, kWidth> own{};
    for (int lane = 0; lane < kWidth; ++lane) {
      const int group = first + std::min(lane, lanes - 1);
      const std::int64_t* const members = groups + static_cast<std::int64_t>(group) * size;
      own[lane] = members[most];
      targets[lane] = {rows.x + own[lane] * rows.inputs,
                       rows.features > 0 ? rows.z + own[lane] * rows.features : nullptr, members, sizes[group]};
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
    for (int lane = 0; lane < kWidth; ++lane) noise.v[lane] = rows.noise[own[lane]];
    const Lanes d = load(at(most, most)) + noise, over = inverse(d);
    // v = C^-1 e_last,  u = mean over columns of r C^-1 y
    for (int i = 0; i < most; ++i) (-load(space.c.data() + i * kWidth) * over).store(v.data() + i * kWidth);
    over.store(v.data() + most * kWidth);
    std::fill(u.begin(), u.end(), 0.0);
    Lanes squares = 0.0;
    for (int column = 0; column < columns; ++column) {
      const auto y_of = [&](int i) {
        Lanes values = 0.0;
        for (int lane = 0; lane < kWidth; ++lane) {
          const std::int64_t row = i == most ? own[lane] : i < targets[lane].count ? targets[lane].neighbours[i] : -1;
          if (row >= 0) values.v[lane] = y[row * columns + column];
        }
        return values;
      };
      Lanes r = y_of(most);
      for (int i = 0; i < most; ++i) {  // L^-1 y_N
        const Lanes value = y_of(i);
        r = r - load(space.c.data() + i * kWidth) * value;
        Lanes rest = value;
        for (int l = 0; l < i; ++l) rest = rest - load(at(i, l)) * load(solved.data() + l * kWidth);
        (rest * load(space.pivots.data() + i * kWidth)).store(solved.data() + i * kWidth);
      }
      for (int i = most - 1; i >= 0; --i) {  // C_NN^-1 y_N
        Lanes rest = load(solved.data() + i * kWidth);
        for (int l = i + 1; l < most; ++l) rest = rest - load(at(l, i)) * load(solved.data() + l * kWidth);
        (rest * load(space.pivots.data() + i * kWidth)).store(solved.data() + i * kWidth);
      }
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
      for (int j = 0; j <= i; ++j) {
        const Lanes vj = load(v.data() + j * kWidth), uj = load(u.data() + j * kWidth);
        const Lanes slope = a * vi * vj - half * (ui * vj + vi * uj);
        (i == j ? slope : 2.0 * slope).store(g.data() + pair_of(i, j) * kWidth);
      }
      for (int lane = 0; lane < lanes; ++lane) {
        const std::int64_t row = i == most ? own[lane] : i < targets[lane].count ? targets[lane].neighbours[i] : -1;
        if (row >= 0) sum.d_noise += g[pair_of(i, i) * kWidth + lane] * noise_slope[row];
      }
    }
    for (int i = 0; i < FusedGroups{nullptr, size}.pairs() * kWidth; ++i) g[i] *= share_;
    const FusedGroups of{space.x.data(), size};
    for (const FusedProduct& product : products_) group_gradient(product, theta, of, g.data(), d_theta);
  }
  return sum;
}

}  // namespace ick
