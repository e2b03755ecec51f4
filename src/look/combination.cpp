#include "combination.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

#include "curve.h"

namespace ick::detail {
namespace {

constexpr std::size_t kMostTogether = 3;     // columns of a combination
constexpr std::size_t kMostColumns = 100;    // 161,700 triples
constexpr std::size_t kMostCandidates = 40;  // of each size and form that are looked at more closely
constexpr std::size_t kFewestCombined = 40;
constexpr std::size_t kRowsOfAGlance = 2000;
constexpr int kRearrangements = 30;
constexpr double kGlance = 0.9;  // R2 at few rows of what is worth all rows

using Matrix = std::vector<std::vector<double>>;  // (columns, rows)
using Subset = std::vector<std::size_t>;

void standardise(std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double square = 0.0;
  for (double& value : values) value -= mean, square += value * value;
  const double scale = square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
  for (double& value : values) value *= scale;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// w with C w = c, for up to three standardised columns, by Cholesky's factor; none where they are one another's sum.
std::optional<std::array<double, kMostTogether>> solve(
    const std::array<std::array<double, kMostTogether>, kMostTogether>& c_matrix, std::array<double, kMostTogether> w,
    std::size_t size) {
  std::array<std::array<double, kMostTogether>, kMostTogether> l = {};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = c_matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) rest -= l[i][k] * l[j][k];
      if (i == j && rest < 1e-8) return std::nullopt;
      l[i][j] = i == j ? std::sqrt(rest) : rest / l[j][j];
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) w[i] -= l[i][k] * w[k];
    w[i] /= l[i][i];
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) w[i] -= l[k][i] * w[k];
    w[i] /= l[i][i];
  }
  return w;
}

// Correlations among columns, and of columns with y, for least squares on any subset.
struct Correlations {
  Matrix among;
  std::vector<double> with_y;

  std::optional<std::array<double, kMostTogether>> weights(const Subset& subset) const {
    std::array<std::array<double, kMostTogether>, kMostTogether> c = {};
    std::array<double, kMostTogether> right = {};
    for (std::size_t i = 0; i < subset.size(); ++i) {
      right[i] = with_y[subset[i]];
      for (std::size_t j = 0; j < subset.size(); ++j) c[i][j] = among[subset[i]][subset[j]];
    }
    return solve(c, right, subset.size());
  }
  double r2(const Subset& subset) const {
    const auto w = weights(subset);
    double sum = 0.0;
    for (std::size_t i = 0; w && i < subset.size(); ++i) sum += (*w)[i] * with_y[subset[i]];
    return sum;
  }
};

template <typename Use>
void each_subset(std::size_t columns, std::size_t size, const Use& use) {
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = i + 1; j < columns; ++j) {
      if (size == 2) use(Subset{i, j});
      for (std::size_t k = j + 1; size == 3 && k < columns; ++k) use(Subset{i, j, k});
    }
  }
}

// Sums of columns, or of their logarithms: standardised, what least squares sees.
struct Space {
  bool product = false;
  Subset columns;             // of the search
  std::vector<double> scale;  // what a standardised weight is multiplied with
  Matrix x;                   // standardised, on `rows`
  std::vector<std::size_t> rows;
  std::vector<double> target;  // on `rows`: y, or log |y|
};

// Logarithms on the rows where y is not 0, of the columns that are not 0 there either.
Space space_of(const CombinationSearch& search, const Subset& columns, bool product) {
  Space space;
  space.product = product;
  const std::size_t rows = search.target.size();
  for (std::size_t row = 0; row < rows; ++row) {
    if (!product || search.target[row] != 0.0) space.rows.push_back(row);
  }
  for (const std::size_t column : columns) {
    std::vector<double> values;
    bool fits = true;
    for (const std::size_t row : space.rows) {
      const double value = search.columns[column][row];
      fits = fits && (!product || value != 0.0);
      values.push_back(product ? std::log(std::abs(value)) : value);
    }
    if (!fits) continue;
    const auto n = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double square = 0.0;
    for (const double value : values) square += (value - mean) * (value - mean);
    if (!(square > 1e-20 * n * mean * mean)) continue;
    standardise(values);
    space.columns.push_back(column);
    space.scale.push_back(1.0 / std::sqrt(square));
    space.x.push_back(std::move(values));
  }
  for (const std::size_t row : space.rows) {
    const double y = search.target[row];
    space.target.push_back(product ? std::log(std::abs(y)) : y);
  }
  return space;
}

// The subsets of a size that least squares likes best, for y and for its ranks.
std::vector<Subset> candidates(const Space& space, std::size_t size) {
  Correlations correlations;
  correlations.among.assign(space.x.size(), std::vector<double>(space.x.size()));
  for (std::size_t i = 0; i < space.x.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      correlations.among[i][j] = correlations.among[j][i] = dot(space.x[i], space.x[j]);
    }
  }
  std::vector<Subset> chosen;
  for (std::vector<double> y : {space.target, ranks_of(space.target)}) {
    standardise(y);
    correlations.with_y.clear();
    for (const std::vector<double>& x : space.x) correlations.with_y.push_back(dot(x, y));
    std::vector<std::pair<double, Subset>> best;  // a heap, the worst on top
    const auto worse = [](const auto& a, const auto& b) { return a.first > b.first; };
    each_subset(space.x.size(), size, [&](const Subset& subset) {
      const double r2 = correlations.r2(subset);
      if (best.size() == kMostCandidates && r2 <= best.front().first) return;
      if (best.size() == kMostCandidates) {
        std::pop_heap(best.begin(), best.end(), worse);
        best.pop_back();
      }
      best.emplace_back(r2, subset);
      std::push_heap(best.begin(), best.end(), worse);
    });
    for (auto& [r2, subset] : best) {
      if (std::find(chosen.begin(), chosen.end(), subset) == chosen.end()) chosen.push_back(std::move(subset));
    }
  }
  return chosen;
}

// Weights with which y is most nearly an ascending function of the sum, from the rows before `end`. By turns: the sums
// in the order of y are what y should have been, least squares on them are the next weights (a monotone regression of
// alternating least squares, as in Kruskal 1965).
std::vector<double> ascending_weights(const Space& space, const Subset& subset, std::size_t end) {
  const std::size_t size = subset.size();
  Matrix x;
  for (const std::size_t column : subset) {
    x.emplace_back(space.x[column].begin(), space.x[column].begin() + static_cast<std::ptrdiff_t>(end));
    standardise(x.back());
  }
  std::vector<std::size_t> order(end);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return space.target[a] < space.target[b]; });
  std::vector<double> y(space.target.begin(), space.target.begin() + static_cast<std::ptrdiff_t>(end));
  std::array<std::array<double, kMostTogether>, kMostTogether> c = {};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) c[i][j] = dot(x[i], x[j]);
  }
  std::array<double, kMostTogether> w = {};
  for (int turn = 0; turn < kRearrangements; ++turn) {
    standardise(y);
    std::array<double, kMostTogether> right = {};
    for (std::size_t i = 0; i < size; ++i) right[i] = dot(x[i], y);
    const auto next = solve(c, right, size);
    if (!next) return {};
    double change = 0.0;
    for (std::size_t i = 0; i < size; ++i) change = std::max(change, std::abs((*next)[i] - w[i]));
    w = *next;
    if (change < 1e-6) break;
    std::vector<double> sums(end, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t row = 0; row < end; ++row) sums[row] += w[i] * x[i][row];
    }
    std::sort(sums.begin(), sums.end());
    for (std::size_t place = 0; place < end; ++place) y[order[place]] = sums[place];
    for (std::size_t first = 0; first < end;) {  // what is equal stays equal
      std::size_t last = first;
      double sum = 0.0;
      for (; last < end && space.target[order[last]] == space.target[order[first]]; ++last) sum += y[order[last]];
      for (std::size_t i = first; i < last; ++i) y[order[i]] = sum / static_cast<double>(last - first);
      first = last;
    }
  }
  // Back to the columns' own units; x was standardised twice.
  std::vector<double> weights;
  for (std::size_t i = 0; i < size; ++i) {
    const auto& values = space.x[subset[i]];
    const double mean = std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
                        static_cast<double>(end);
    double square = 0.0;
    for (std::size_t row = 0; row < end; ++row) square += (values[row] - mean) * (values[row] - mean);
    weights.push_back(w[i] * space.scale[subset[i]] / std::sqrt(square));
  }
  return weights;
}

std::vector<double> values_of(const CombinationSearch& search, const Combination& combination, std::size_t from,
                              std::size_t to) {
  std::vector<double> values;
  for (std::size_t row = from; row < to; ++row) {
    double value = combination.product ? 1.0 : 0.0;
    for (std::size_t i = 0; i < combination.columns.size(); ++i) {
      const double x = search.columns[combination.columns[i]][row], weight = combination.weights[i];
      if (!combination.product) {
        value += weight * x;
        continue;
      }
      const bool even = std::fmod(std::round(std::abs(weight)), 2.0) == 0.0;
      value *= std::pow(std::max(std::abs(x), 1e-300), weight) * (x < 0.0 && !even ? -1.0 : x == 0.0 ? 0.0 : 1.0);
    }
    values.push_back(std::isfinite(value) ? value : 0.0);
  }
  return values;
}

// The combination learned from half of the first `rows` rows and scored on the other half.
std::optional<Combination> learn(const CombinationSearch& search, const Space& space, const Subset& subset,
                                 std::size_t rows) {
  const std::size_t half = rows / 2;
  const auto end =
      static_cast<std::size_t>(std::lower_bound(space.rows.begin(), space.rows.end(), half) - space.rows.begin());
  if (end < kFewestCombined / 4) return std::nullopt;
  Combination found;
  found.product = space.product;
  found.weights = ascending_weights(space, subset, end);
  if (found.weights.empty()) return std::nullopt;
  for (const std::size_t column : subset) found.columns.push_back(space.columns[column]);
  // Any multiple has the same order. Of exponents the least is 1, so that those of a / b^2 are whole.
  double unit = found.weights.front();
  if (space.product) {
    for (const double weight : found.weights) unit = std::min(std::abs(unit), std::abs(weight));
  }
  if (unit == 0.0) return std::nullopt;
  for (double& weight : found.weights) weight /= unit;
  const std::vector<double> u = ranks_of(values_of(search, found, half, rows));
  const std::vector<double> y = ranks_of(std::span(search.target).subspan(half, rows - half));
  found.r2 = curve_r2(u, y);
  return found;
}

bool includes_all(const std::vector<std::size_t>& large, const std::vector<std::size_t>& small) {
  return std::includes(large.begin(), large.end(), small.begin(), small.end());
}

// 1, -2, 0.5 where a weight is nearly that.
double plain(double weight) {
  for (const double scale : {1.0, 2.0, 3.0, 4.0, 10.0}) {
    const double near = std::round(weight * scale) / scale;
    if (near != 0.0 && std::abs(weight - near) < 0.01 * std::abs(near)) return near;
  }
  return weight;
}

}  // namespace

std::vector<Combination> find_combinations(const CombinationSearch& search) {
  const std::size_t rows = search.target.size();
  if (rows < kFewestCombined) return {};
  Subset columns(search.columns.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  if (columns.size() > kMostColumns) {
    std::stable_sort(columns.begin(), columns.end(),
                     [&](std::size_t a, std::size_t b) { return search.single[a] > search.single[b]; });
    columns.resize(kMostColumns);
    std::sort(columns.begin(), columns.end());
  }
  std::vector<Combination> found;
  const auto known = [&](const Subset& subset) {
    return std::any_of(found.begin(), found.end(),
                       [&](const auto& each) { return includes_all(subset, each.columns); });
  };
  const Space spaces[] = {space_of(search, columns, false), space_of(search, columns, true)};
  for (std::size_t size = 2; size <= kMostTogether; ++size) {
    std::vector<Combination> good;
    for (const Space& space : spaces) {
      for (const Subset& subset : candidates(space, size)) {
        Subset named;
        for (const std::size_t column : subset) named.push_back(space.columns[column]);
        if (known(named)) continue;
        const auto glance = learn(search, space, subset, std::min(rows, kRowsOfAGlance));
        if (!glance || glance->r2 < kGlance) continue;
        const auto whole = learn(search, space, subset, rows);
        if (!whole || whole->r2 < search.least) continue;
        double best = search.known;
        for (const std::size_t column : named) best = std::max(best, search.single[column]);
        if (1.0 - whole->r2 < 0.5 * (1.0 - best)) good.push_back(*whole);
      }
    }
    std::stable_sort(good.begin(), good.end(), [](const auto& a, const auto& b) { return a.r2 > b.r2; });
    for (Combination& each : good) {
      if (!known(each.columns)) found.push_back(std::move(each));
    }
  }
  return found;
}

std::string combination_text(const Combination& found, std::span<const std::string> names) {
  std::string above, below;
  for (std::size_t i = 0; i < found.columns.size(); ++i) {
    const std::string& name = names[found.columns[i]];
    const double weight = plain(found.weights[i]), size = std::abs(weight);
    if (found.product) {
      std::string& part = weight > 0.0 ? above : below;
      part += (part.empty() ? "" : " * ") + name + (size == 1.0 ? "" : fmt::format("^{:.3g}", size));
    } else {
      above += i == 0 ? "" : weight > 0.0 ? " + " : " - ";
      above += (size == 1.0 ? "" : fmt::format("{:.3g} ", size)) + name;
    }
  }
  if (below.empty()) return above;
  return (above.empty() ? "1" : above) + " / " + (below.find(' ') == std::string::npos ? below : "(" + below + ")");
}

}  // namespace ick::detail
