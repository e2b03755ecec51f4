#include "feature/inducing.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ick/base/error.h"

namespace ick {

namespace {

// Rows distinct in the columns that are read, zero in the others, thinned. (n, D)
at::Tensor distinct_rows(const at::Tensor& x, const std::vector<std::int64_t>& columns, Random& random) {
  if (columns.empty()) return at::zeros({1, x.size(1)}, at::kDouble);
  const at::Tensor read = at::tensor(columns, at::kLong);
  const at::Tensor values = std::get<0>(at::unique_dim(x.index_select(1, read), 0));
  at::Tensor rows = at::zeros({values.size(0), x.size(1)}, at::kDouble).index_copy_(1, read, values);
  if (rows.size(0) <= kMostRows) return rows;
  at::Tensor pick = at::empty({kMostRows}, at::kLong);
  const double step = static_cast<double>(rows.size(0)) / kMostRows;  // rows are sorted: one from each of equal runs
  for (std::int64_t i = 0; i < kMostRows; ++i) {
    pick.data_ptr<std::int64_t>()[i] =
        std::min(static_cast<std::int64_t>((static_cast<double>(i) + random.uniform()) * step), rows.size(0) - 1);
  }
  return rows.index_select(0, pick);
}

std::vector<std::int64_t> used_columns(const std::vector<Factor>& factors) {
  std::vector<std::int64_t> columns;
  for (const Factor& f : factors) columns.insert(columns.end(), f.columns.begin(), f.columns.end());
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

bool repeats(const Factor& f) {
  return f.row->spectrum == Spectrum::series || f.row->spectrum == Spectrum::line ||
         f.row->spectrum == Spectrum::gaussian_mixture;
}

bool purely_periodic(const std::vector<Factor>& factors) {
  return factors.size() == 1 && factors[0].structure.inputs == 1 && factors[0].row->spectrum == Spectrum::series;
}

// Two points a quarter of a turn apart carry it, and stay so when they follow its period.
bool plane_wave(const std::vector<Factor>& factors) {
  return factors.size() == 1 && factors[0].row->spectrum == Spectrum::line;
}

bool has_levels(const std::vector<Factor>& factors) {
  return std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return f.row->inputs == Inputs::level; });
}

Placement choose(const std::vector<Factor>& factors, const std::vector<std::int64_t>& columns, std::int64_t count,
                 Placement asked) {
  if (asked == Placement::grid && (columns.size() > 1 || has_levels(factors))) {
    throw UsageError("a grid of inducing points is for one column of numbers; use k-means or pivoted Cholesky");
  }
  if (asked == Placement::one_period && !purely_periodic(factors) && !plane_wave(factors)) {
    throw UsageError("inducing points over one period are for a periodic kernel alone on one column; use automatic");
  }
  // As many points as the rank have to be in general position, which neither a grid nor k-means promises.
  if (count >= rank_of(factors) && plane_wave(factors) && asked != Placement::pivoted_cholesky) {
    return Placement::one_period;
  }
  if (count >= rank_of(factors)) return Placement::pivoted_cholesky;
  if (asked != Placement::automatic) return asked;
  if (purely_periodic(factors)) return Placement::one_period;
  if (has_levels(factors)) return Placement::pivoted_cholesky;
  if (columns.size() <= 1) {
    // Where a repeating kernel shares the column, an even grid may fall into step with it.
    const bool mixed = factors.size() > 1 && std::any_of(factors.begin(), factors.end(), repeats);
    return mixed ? Placement::pivoted_cholesky : Placement::grid;
  }
  return Placement::kmeans;
}

at::Tensor on_grid(const at::Tensor& x, std::int64_t column, std::int64_t count) {
  const at::Tensor values = x.select(1, column);
  const double low = values.min().item<double>(), high = values.max().item<double>();
  const std::int64_t points = high > low ? count : 1;
  at::Tensor z = at::zeros({points, x.size(1)}, at::kDouble);
  z.select(1, column).copy_(points > 1 ? at::linspace(low, high, points, at::kDouble)
                                       : at::full({1}, low, at::kDouble));
  return z;
}

// Rows as the factors see them, every coordinate scaled to sd one: distances that treat them alike. (n, inputs)
at::Tensor standardised(const std::vector<Factor>& factors, const at::Tensor& rows) {
  std::vector<at::Tensor> blocks;
  for (const Factor& f : factors) {
    const at::Tensor block = Kernel::embed(f, rows);
    if (block.size(1) == 0) continue;
    // a place keeps its shape: one scale for its three coordinates
    at::Tensor scale = f.row->inputs == Inputs::place ? block.std(0, false).norm().view({1, 1}).expand({1, 3})
                                                      : block.std(0, false).unsqueeze(0);
    blocks.push_back((block - block.mean(0)) / at::where(scale > 0, scale, at::ones_like(scale)));
  }
  return blocks.empty() ? at::zeros({rows.size(0), 1}, at::kDouble) : at::cat(blocks, 1);
}

at::Tensor squared_distances(const at::Tensor& a, const at::Tensor& b) {  // (n, d), (m, d) -> (n, m)
  return (a.square().sum(1, true) + b.square().sum(1).unsqueeze(0) - 2.0 * a.matmul(b.t())).clamp_min(0.0);
}

// Index drawn in proportion to `weight` (n), or -1 when all are zero.
std::int64_t draw(const at::Tensor& weight, Random& random) {
  const at::Tensor running = weight.cumsum(0);
  const double total = running[-1].item<double>();
  if (!(total > 0.0)) return -1;
  const double* sums = running.data_ptr<double>();
  return std::min<std::int64_t>(std::upper_bound(sums, sums + running.size(0), random.uniform() * total) - sums,
                                running.size(0) - 1);
}

// k-means++ (Arthur and Vassilvitskii 2007) and Lloyd's steps; each centre gives way to the row nearest to it, so that
// points are always something that can occur: a level, a place on the surface.
at::Tensor by_kmeans(const std::vector<Factor>& factors, const at::Tensor& rows, std::int64_t count, Random& random) {
  const at::Tensor points = standardised(factors, rows);
  const std::int64_t n = points.size(0);
  if (count >= n) return rows;
  at::Tensor centres = points.narrow(0, random.below(n), 1);
  at::Tensor nearest = squared_distances(points, centres).select(1, 0).contiguous();
  while (centres.size(0) < count) {
    const std::int64_t next = draw(nearest, random);
    if (next < 0) break;
    const at::Tensor added = points.narrow(0, next, 1);
    centres = at::cat({centres, added});
    nearest = at::minimum(nearest, squared_distances(points, added).select(1, 0));
  }
  for (int step = 0; step < 25; ++step) {
    const at::Tensor owner = squared_distances(points, centres).argmin(1);
    const at::Tensor sums = at::zeros_like(centres).index_add_(0, owner, points);
    const at::Tensor sizes = at::bincount(owner, {}, centres.size(0)).to(at::kDouble).unsqueeze(1);
    const at::Tensor moved = at::where(sizes > 0, sums / sizes.clamp_min(1.0), centres);
    const double change = (moved - centres).abs().max().item<double>();
    centres = moved;
    if (change < 1e-4) break;
  }
  const at::Tensor snapped = std::get<0>(at::unique_dim(squared_distances(centres, points).argmin(1), 0));
  return rows.index_select(0, snapped);
}

// Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber 2023): the next point is drawn in proportion to the
// variance the points so far leave unexplained, with the first member's parameters. A row counts as explained when no
// more than this share of its variance is left. Where the points are to be as many as the rank of the kernel it is the
// row with the largest variance left: the last of few points matters, and a draw may put it next to the first.
at::Tensor by_pivoted_cholesky(const Kernel& product, const at::Tensor& rows, std::int64_t count, double explained,
                               Random& random) {
  const std::int64_t n = rows.size(0);
  const bool largest_first = count >= rank_of(product.terms()[0]);
  if (count >= n && !largest_first) return rows;
  at::Tensor residual = product.diagonal(rows).detach()[0].clone();  // (n)
  const double enough = 1e-12 * residual.max().item<double>();
  const at::Tensor left_over = (explained * residual).clamp_min(enough);  // (n)
  at::Tensor columns = at::zeros({n, count}, at::kDouble);                // F, K ~ F F^T
  std::vector<std::int64_t> picked;
  while (std::ssize(picked) < count) {
    const at::Tensor left_of = at::where(residual > left_over, residual, at::zeros_like(residual));
    const std::int64_t pivot = !largest_first                       ? draw(left_of, random)
                               : left_of.max().item<double>() > 0.0 ? left_of.argmax().item<std::int64_t>()
                                                                    : -1;
    if (pivot < 0) break;
    const std::int64_t done = std::ssize(picked);
    at::Tensor column = product.matrix(rows, rows.narrow(0, pivot, 1)).detach()[0].select(1, 0);
    if (done > 0) column = column - columns.narrow(1, 0, done).mv(columns[pivot].narrow(0, 0, done));
    const double left = column[pivot].item<double>();
    if (left > enough) {
      column = column / std::sqrt(left);
      columns.select(1, done).copy_(column);
      residual = (residual - column.square()).clamp_min(0.0);
      picked.push_back(pivot);
    }
    residual[pivot] = 0.0;
  }
  // What is explained with the starting parameters may not be with the learned ones: the rest is drawn evenly. One
  // point stands where the kernel is zero on all rows.
  const std::int64_t wanted = explained > 0.0 ? std::max<std::int64_t>(1, std::ssize(picked)) : std::min(count, n);
  while (std::ssize(picked) < wanted) {
    const std::int64_t row = random.below(n);
    if (std::find(picked.begin(), picked.end(), row) == picked.end()) picked.push_back(row);
  }
  return rows.index_select(0, at::tensor(picked, at::kLong));
}

}  // namespace

std::string placement_name(Placement placement) {
  switch (placement) {
    case Placement::automatic:
      return "automatic";
    case Placement::grid:
      return "grid";
    case Placement::one_period:
      return "one period";
    case Placement::kmeans:
      return "k-means";
    case Placement::pivoted_cholesky:
      return "pivoted Cholesky";
  }
  return "";
}

InducingPoints place_points(const Kernel& product, const at::Tensor& x, std::int64_t count, Placement placement,
                            std::uint64_t seed, double explained) {
  const std::vector<Factor>& factors = product.terms().at(0);
  const std::vector<std::int64_t> columns = used_columns(factors);
  if (x.size(0) == 0) throw DataError("there are no rows to place inducing points by; give at least one training row");
  if (count < 1) throw UsageError("a feature map needs at least one inducing point");
  InducingPoints points;
  points.placement = choose(factors, columns, count, placement);
  count = std::min(count, rank_of(factors));
  Random random(seed_for(seed, "inducing points"));
  switch (points.placement) {
    case Placement::automatic:
      break;
    case Placement::grid:
      points.z = columns.empty() ? at::zeros({1, x.size(1)}, at::kDouble) : on_grid(x, columns[0], count);
      break;
    case Placement::one_period: {
      const std::int64_t column = factors[0].columns[0];
      points.origin = x.select(1, column).min().item<double>();
      points.turns = at::arange(count, at::kDouble) / (plane_wave(factors) ? 4.0 : static_cast<double>(count));
      const double period =
          product.parameters().natural()[0][factors[0].first_parameter + 1].item<double>();  // variance, period, ...
      points.z = at::zeros({count, x.size(1)}, at::kDouble);
      points.z.select(1, column).copy_(points.origin + period * points.turns);
      break;
    }
    case Placement::kmeans:
      points.z = by_kmeans(factors, distinct_rows(x, columns, random), count, random);
      break;
    case Placement::pivoted_cholesky:
      points.z = by_pivoted_cholesky(product, distinct_rows(x, columns, random), count, explained, random);
      break;
  }
  return points;
}

InducingPoints restore_points(const Kernel& product, const StateReader& state, std::int64_t count, Placement placement,
                              bool trained) {
  const std::vector<Factor>& factors = product.terms().at(0);
  InducingPoints points;
  points.placement = choose(factors, used_columns(factors), count, placement);
  const bool stands_still = plane_wave(factors) && state.has("points");  // as those of a cosine did up to format 3
  if (points.placement == Placement::one_period && stands_still && !trained) points.placement = Placement::grid;
  if (points.placement == Placement::one_period && !trained) {
    points.turns = state.numbers("turns", {StateReader::kAny});
    points.origin = state.numbers("origin", {1}).item<double>();
    points.z = at::zeros({points.turns.size(0), product.inputs()}, at::kDouble);  // the period moves them from there
    return points;
  }
  StateReader::Sizes sizes = {StateReader::kAny, product.inputs()};
  if (trained) sizes.insert(sizes.begin(), product.members());
  points.z = state.numbers("points", sizes).requires_grad_(trained);
  for (const Factor& f : factors) {
    try {
      check_levels(f, points.z);
    } catch (const DataError&) {
      state.refuse("points", "holds a level that the kernel does not know");
    }
  }
  return points;
}

}  // namespace ick
