#include "inference/neighbour_process.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/memory.h"
#include "ick/base/parallel.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/inference/direct.h"
#include "inference/engines.h"
#include "model/lower_factor.h"

namespace ick {

namespace {

constexpr std::int64_t kRowsAtOnce = 4096;  // that are whitened, or whose features are found
constexpr double kLeastVariance = 1e-12;    // of rows drawn before, which have no noise
constexpr std::int64_t kFewColumns = 3;

// Of the first product that has a distance, at the kernel's present parameters.
Coordinates coordinates_of(const NeighbourKernel& kernel, const at::Tensor& x) {
  const std::vector<double> theta = kernel.theta();
  Coordinates points;
  for (const std::vector<Factor>& product : kernel.kernel.terms()) {
    points = coordinates_of(product, theta.data(), x);
    if (points.size > 0) break;
  }
  return points;
}

at::Tensor order_of(const NeighbourKernel& kernel, const at::Tensor& x, std::uint64_t seed) {
  const std::uint64_t own = seed_for(seed, "order of neighbours");
  return at::tensor(order_in_halves(coordinates_of(kernel, x), x.size(0), own), at::kLong);
}

// Features that can be taken off: what a Nystrom map leaves of a kernel is a covariance.
bool leaves_covariance(const Model& model) {
  const auto& terms = model.spec().terms;
  return std::all_of(terms.begin(), terms.end(), [](const TermSpec& term) { return term.map == MapKind::nystrom; });
}

}  // namespace

at::Tensor NeighbourProcess::rows_at(const at::Tensor& all, const std::vector<std::int64_t>& rows) {
  at::Tensor index = at::empty({static_cast<std::int64_t>(rows.size())}, at::kLong);
  std::transform(rows.begin(), rows.end(), index.data_ptr<std::int64_t>(),
                 [](std::int64_t row) { return std::max<std::int64_t>(row, 0); });
  return all.index_select(0, index);
}

int NeighbourProcess::most_before() const { return x_.size(1) <= kFewColumns ? 30 : 50; }
int NeighbourProcess::most() const { return x_.size(1) <= kFewColumns ? 50 : 100; }

// In few columns near rows tell nearly everything: 1 to 128 features predicted alike and 512 worse. So there are few,
// and a row costs the same however many there are. In many columns no row is near, and up to 512 features predicted
// better: as many as n P^2 multiplications and n P numbers allow.
double NeighbourProcess::features_for(double rows, double columns, double terms) {
  constexpr double kOfTerm = 32.0, kMost = 512.0, kMostWork = 2e10, kMostBytes = 4e8;
  const double most = columns <= kFewColumns ? kOfTerm * terms : std::min(kMost, std::sqrt(kMostWork / rows));
  return std::max(terms, std::min({most, kMostBytes / bytes_of_features(0.0) / rows, rows / 4.0}));
}

NeighbourProcess::NeighbourProcess(std::shared_ptr<const Model> model, const at::Tensor& x, const at::Tensor& y,
                                   const at::Tensor& noise_variance, std::uint64_t seed,
                                   const std::function<void()>& tick, Smooth smooth)
    : NeighbourProcess(model, x, y, noise_variance,
                       order_of(NeighbourKernel(model->kernel(), model->spec().share()), x, seed), tick, smooth) {}

NeighbourProcess::NeighbourProcess(std::shared_ptr<const Model> model, const at::Tensor& x, const at::Tensor& y,
                                   const at::Tensor& noise_variance, const at::Tensor& order,
                                   const std::function<void()>& tick, Smooth smooth)
    : model_(std::move(model)), kernel_(model_->kernel(), model_->spec().share()), order_(order) {
  features_ = smooth == Smooth::features && leaves_covariance(*model_) ? model_->features() : 0;
  x_ = at::empty({0, x.size(1)}, at::kDouble);
  y_ = noise_ = at::empty({0}, at::kDouble);
  learned_.mean = at::zeros({features_ + 1}, at::kDouble);
  learned_.factor = at::eye(features_ + 1, at::kDouble);
  take(x, y, noise_variance, tick);
}

NeighbourProcess::NeighbourProcess(const NeighbourProcess& before, std::shared_ptr<const Model> model,
                                   const at::Tensor& x, const at::Tensor& y, const at::Tensor& noise_variance,
                                   std::uint64_t seed, const std::function<void()>& tick)
    : model_(std::move(model)),
      kernel_(model_->kernel(), model_->spec().share()),
      features_(before.features_),
      order_(order_of(kernel_, x, seed)),
      x_(before.x_),
      y_(before.y_),
      noise_(before.noise_),
      phi_(before.phi_),
      learned_(before.learned_) {
  take(x, y, noise_variance, tick);
}

// With A and w before, and u, v of the new rows:  A' = A + V'V,   w' = w + A'^-1 V'(u - V w),
//   log p(u) = -(n log 2 pi + sum log d + |u - V w|^2 - |A'^-1/2 V'(u - V w)|^2 + log |A'| - log |A|) / 2
void NeighbourProcess::take(const at::Tensor& x, const at::Tensor& y, const at::Tensor& noise_variance,
                            const std::function<void()>& tick) {
  const at::NoGradGuard no_grad;
  const std::int64_t known = size(), added = x.size(0);
  x_ = at::cat({x_, x.index_select(0, order_)});
  y_ = at::cat({y_, y.to(at::kDouble).index_select(0, order_)});
  noise_ = at::cat({noise_, noise_variance.to(at::kDouble).expand({added}).index_select(0, order_)});
  prepare();

  const NeighbourSearch before(kernel_, x_, /*ordered=*/true);
  at::Tensor precision = learned_.factor.matmul(learned_.factor.t()), right = at::zeros({features_ + 1}, at::kDouble);
  double squares = 0.0, log_d = 0.0;
  const double log_factor = learned_.factor.diagonal().log().sum().item<double>();
  for (std::int64_t first = known; first < size(); first += kRowsAtOnce) {
    if (tick) tick();
    const Whitened block = whiten(before, at::arange(first, std::min(first + kRowsAtOnce, size()), at::kLong));
    const at::Tensor left = block.y - block.features.mv(learned_.mean);
    precision += block.features.t().matmul(block.features);
    right += block.features.t().mv(left);
    squares += left.square().sum().item<double>();
    log_d += block.log_d;
  }
  learned_.factor = at::linalg_cholesky(precision);
  const at::Tensor half = at::linalg_solve_triangular(learned_.factor, right.unsqueeze(1), false);  // L^-1 V'(u - V w)
  learned_.mean = learned_.mean + at::linalg_solve_triangular(learned_.factor.t(), half, true).squeeze(1);
  log_likelihood_ = -0.5 * (static_cast<double>(added) * std::log(2.0 * std::numbers::pi) + log_d + squares -
                            half.square().sum().item<double>()) -
                    learned_.factor.diagonal().log().sum().item<double>() + log_factor;
  learned_.residual = y_ - phi_.mv(learned_.mean);
  weights_ = at::zeros({model_->features() + 1}, at::kDouble);
  weights_.narrow(0, model_->features() - features_, features_ + 1).copy_(learned_.mean);
  search_ = std::make_unique<NeighbourSearch>(kernel_, x_, /*ordered=*/false);
}

NeighbourProcess::NeighbourProcess(std::shared_ptr<const Model> model, const TensorState& tensors)
    : model_(std::move(model)), kernel_(model_->kernel(), model_->spec().share()) {
  const at::NoGradGuard no_grad;
  const auto find = [&](const char* name, std::int64_t dims) {
    const at::Tensor found = find_tensor(tensors, std::string("neighbours.") + name);
    if (!found.defined() || found.dim() != dims || found.scalar_type() != at::kDouble) {
      throw DataError(std::string("it does not hold the rows that predictions need (neighbours.") + name + ")");
    }
    return found.contiguous();
  };
  x_ = find("x", 2), y_ = find("y", 1), noise_ = find("noise", 1);
  learned_.mean = find("mean", 1), learned_.factor = find("factor", 2);
  features_ = learned_.mean.size(0) - 1;
  const std::int64_t n = x_.size(0);
  const bool fits = n > 0 && x_.size(1) == model_->kernel().inputs() && y_.size(0) == n && noise_.size(0) == n &&
                    (features_ == 0 || features_ == model_->features()) && learned_.factor.size(0) == features_ + 1 &&
                    learned_.factor.size(1) == features_ + 1;
  if (!fits) throw DataError("the rows that predictions need do not fit together");
  prepare();
  learned_.residual = y_ - phi_.mv(learned_.mean);
  search_ = std::make_unique<NeighbourSearch>(kernel_, x_, /*ordered=*/false);
}

TensorState NeighbourProcess::tensors() const {
  return {{"neighbours.x", x_},
          {"neighbours.y", y_},
          {"neighbours.noise", noise_},
          {"neighbours.mean", learned_.mean},
          {"neighbours.factor", learned_.factor}};
}

at::Tensor NeighbourProcess::phi_of(const at::Tensor& x) const {
  if (features_ == 0) return at::ones({x.size(0), 1}, at::kDouble);
  at::Tensor phi = at::empty({x.size(0), features_ + 1}, at::kDouble);
  for (std::int64_t first = 0; first < x.size(0); first += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, x.size(0) - first);
    phi.narrow(0, first, count).copy_(model_->linear_features(x.narrow(0, first, count))[0]);
  }
  return phi;
}

void NeighbourProcess::prepare() {
  inputs_ = kernel_.inputs_of(x_);
  theta_ = kernel_.theta();
  const std::int64_t known = phi_.defined() ? phi_.size(0) : 0;
  const at::Tensor more = phi_of(x_.narrow(0, known, size() - known));
  phi_ = known > 0 ? at::cat({phi_, more}) : more;
}

NeighbourRows NeighbourProcess::rows_of(const std::vector<double>& inputs, const at::Tensor& phi,
                                        const at::Tensor& noise) const {
  return {inputs.data(),  phi.data_ptr<double>(),      noise.data_ptr<double>(),
          kernel_.inputs, static_cast<int>(features_), features_ + 1};
}

std::pair<at::Tensor, at::Tensor> NeighbourProcess::condition(const NeighbourRows& rows, const at::Tensor& x,
                                                              const at::Tensor& phi,
                                                              const NeighbourSearch::Found& found, int most) const {
  const std::int64_t count = x.size(0);
  const std::vector<double> own = kernel_.inputs_of(x);
  at::Tensor weights = at::empty({count, most}, at::kDouble), variance = at::empty({count}, at::kDouble);
  constexpr std::int64_t kRows = 32;  // a task
  parallel(static_cast<int>((count + kRows - 1) / kRows), [&](int task, int) {
    const std::int64_t first = task * kRows, many = std::min(kRows, count - first);
    std::vector<Conditional> targets;
    for (std::int64_t i = first; i < first + many; ++i) {
      targets.push_back({own.data() + i * kernel_.inputs, phi.data_ptr<double>() + i * (features_ + 1),
                         found.rows.data() + i * most, found.counts[static_cast<std::size_t>(i)]});
    }
    kernel_.conditionals(theta_.data(), rows, targets.data(), static_cast<int>(many), most,
                         weights.data_ptr<double>() + first * most, variance.data_ptr<double>() + first);
  });
  return {weights, variance};
}

// phi_i - Phi_N'c_i of rows with these neighbours
at::Tensor NeighbourProcess::less_neighbours(const at::Tensor& phi, const at::Tensor& c,
                                             const NeighbourSearch::Found& found, int most) const {
  const std::int64_t count = phi.size(0), width = features_ + 1;
  at::Tensor rest = phi.clone();
  constexpr std::int64_t kRows = 64;  // a task
  parallel(static_cast<int>((count + kRows - 1) / kRows), [&](int task, int) {
    for (std::int64_t i = task * kRows; i < std::min(count, (task + 1) * kRows); ++i) {
      take_off_rows(phi_.data_ptr<double>(), static_cast<int>(width), found.rows.data() + i * most,
                    found.counts[static_cast<std::size_t>(i)], c.data_ptr<double>() + i * most,
                    rest.data_ptr<double>() + i * width);
    }
  });
  return rest;
}

NeighbourProcess::Whitened NeighbourProcess::whiten(const NeighbourSearch& search, const at::Tensor& rows,
                                                    const NeighbourSearch::Admits& admits) const {
  const int most = static_cast<int>(std::min<std::int64_t>(most_before(), size()));
  const std::int64_t count = rows.size(0);
  const std::vector<std::int64_t> before(rows.data_ptr<std::int64_t>(), rows.data_ptr<std::int64_t>() + count);
  const at::Tensor x = x_.index_select(0, rows), phi = phi_.index_select(0, rows);
  const NeighbourSearch::Found found = search(x, most, before, admits);
  const auto [c, variance] = condition(rows_of(inputs_, phi_, noise_), x, phi, found, most);
  const at::Tensor d = variance + noise_.index_select(0, rows), scale = d.rsqrt();
  const at::Tensor y_near = rows_at(y_, found.rows).view({count, most});
  Whitened whitened;
  whitened.y = (y_.index_select(0, rows) - (c * y_near).sum(1)) * scale;
  whitened.features = less_neighbours(phi, c, found, most).mul_(scale.unsqueeze(1));
  whitened.log_d = d.log().sum().item<double>();
  return whitened;
}

FunctionMoments NeighbourProcess::predict(const at::Tensor& x, const NeighbourSearch::Found& found, int most,
                                          const Weights& weights) const {
  const std::int64_t count = x.size(0);
  const at::Tensor phi = phi_of(x);
  const auto [c, variance] = condition(rows_of(inputs_, phi_, noise_), x, phi, found, most);
  const at::Tensor residual_near = rows_at(weights.residual, found.rows).view({count, most});
  const at::Tensor mean = phi.mv(weights.mean) + (c * residual_near).sum(1);
  const at::Tensor own = less_neighbours(phi, c, found, most);
  return {mean, variance + at::linalg_solve_triangular(weights.factor, own.t(), false).square().sum(0)};
}

FunctionMoments NeighbourProcess::at(const at::Tensor& x, const NeighbourSearch::Admits& admits) const {
  const at::NoGradGuard no_grad;
  const int most = static_cast<int>(std::min<std::int64_t>(this->most(), size()));
  if (admits) return predict(x, (*search_)(x, most, {}, admits), most, learned_);
  // Rows next to each other have neighbours in common, which are at hand then.
  const at::Tensor order = at::tensor(order_along_curve(coordinates_of(kernel_, x), x.size(0)), at::kLong);
  const at::Tensor own = x.index_select(0, order);
  FunctionMoments found = predict(own, (*search_)(own, most), most, learned_);
  at::Tensor back = at::empty_like(order);
  back.index_put_({order}, at::arange(order.size(0), at::kLong));
  return {found.mean.index_select(0, back), found.variance.index_select(0, back)};
}

NeighbourProcess::Sums NeighbourProcess::sums_of(const NeighbourSearch& search, const at::Tensor& rows,
                                                 const NeighbourSearch::Admits& admits) const {
  const std::int64_t width = features_ + 1;
  Sums sums{at::zeros({width, width}, at::kDouble), at::zeros({width}, at::kDouble)};
  for (std::int64_t first = 0; first < rows.size(0); first += kRowsAtOnce) {
    const auto of_block = [&](std::int64_t q, std::int64_t row) { return admits(first + q, row); };
    const Whitened block = whiten(search, rows.narrow(0, first, std::min(kRowsAtOnce, rows.size(0) - first)),
                                  admits ? NeighbourSearch::Admits(of_block) : admits);
    sums.precision += block.features.t().matmul(block.features);
    sums.right += block.features.t().mv(block.y);
  }
  return sums;
}

// A and V'u less what the rows left out had added to them; rows that had some of these for neighbours are whitened again
// with others; then neighbours among the rows that stay.
std::vector<FunctionMoments> NeighbourProcess::left_out(const std::vector<std::int64_t>& cell_of,
                                                        const std::vector<LeftOut>& folds) const {
  constexpr std::int64_t kFew = 4096;  // rows left out that a search can step over; else it has a tree without them
  const at::NoGradGuard no_grad;
  if (!order_.defined() || order_.size(0) != size()) return {};  // restored, or given further rows
  const auto n = static_cast<std::size_t>(size());
  std::vector<std::int64_t> place(n), cell(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(order_.data_ptr<std::int64_t>()[i]);
    place[row] = static_cast<std::int64_t>(i);
    cell[i] = cell_of[row];
  }
  const NeighbourSearch before(kernel_, x_, /*ordered=*/true);
  const std::vector<at::Tensor> cells = rows_of_cells(cell);
  std::vector<Sums> sums;
  for (const at::Tensor& rows : cells) sums.push_back(sums_of(before, rows));
  // rows that have neighbours in a cell, for each cell: in order
  std::vector<std::vector<std::int64_t>> told_by(cells.size());
  const int most_told = static_cast<int>(std::min<std::int64_t>(most_before(), size()));
  for (std::int64_t first = 0; first < size(); first += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, size() - first);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), first);
    const NeighbourSearch::Found found = before(x_.narrow(0, first, count), most_told, numbers);
    for (std::int64_t i = 0; i < count; ++i) {
      for (int j = 0; j < found.counts[static_cast<std::size_t>(i)]; ++j) {
        const std::int64_t of = cell[static_cast<std::size_t>(found.rows[static_cast<std::size_t>(i * most_told + j)])];
        if (of < 0) continue;
        std::vector<std::int64_t>& told = told_by[static_cast<std::size_t>(of)];
        if (told.empty() || told.back() != first + i) told.push_back(first + i);
      }
    }
  }
  const at::Tensor all = learned_.factor.matmul(learned_.factor.t()), right = all.mv(learned_.mean);
  std::vector<FunctionMoments> found;
  for (const LeftOut& fold : folds) {
    std::vector<bool> out(cells.size(), false);
    for (const std::int64_t each : fold.cells) out.at(static_cast<std::size_t>(each)) = true;
    const auto stays = [&](std::int64_t i) {
      const std::int64_t of = cell[static_cast<std::size_t>(i)];
      return of < 0 || !out[static_cast<std::size_t>(of)];
    };
    at::Tensor a = all.clone(), b = right.clone();
    std::int64_t left = 0;
    std::vector<std::int64_t> again;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (!out[c]) continue;
      a -= sums[c].precision, b -= sums[c].right;
      left += cells[c].size(0);
      std::copy_if(told_by[c].begin(), told_by[c].end(), std::back_inserter(again), stays);
    }
    std::sort(again.begin(), again.end());
    again.erase(std::unique(again.begin(), again.end()), again.end());
    const auto admits = [&](std::int64_t, std::int64_t row) { return stays(row); };
    if (!again.empty()) {
      const at::Tensor rows = at::tensor(again, at::kLong);
      const Sums old = sums_of(before, rows), renewed = sums_of(before, rows, admits);
      a += renewed.precision - old.precision, b += renewed.right - old.right;
    }
    Weights weights;
    weights.factor = lower_factor(a);
    weights.mean = at::cholesky_solve(b.unsqueeze(1), weights.factor).squeeze(1);
    weights.residual = y_ - phi_.mv(weights.mean);
    std::vector<std::int64_t> places;
    for (const std::int64_t row : fold.rows) places.push_back(place.at(static_cast<std::size_t>(row)));
    const at::Tensor x = x_.index_select(0, at::tensor(places, at::kLong));
    const int most = static_cast<int>(std::min<std::int64_t>(this->most(), size() - left));
    if (left <= kFew) {
      found.push_back(predict(x, (*search_)(x, most, {}, admits), most, weights));
      continue;
    }
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < size(); ++i) {
      if (stays(i)) kept.push_back(i);
    }
    const NeighbourSearch among(kernel_, x_.index_select(0, at::tensor(kept, at::kLong)), /*ordered=*/false);
    NeighbourSearch::Found near = among(x, most);
    for (std::int64_t& row : near.rows) row = row < 0 ? row : kept[static_cast<std::size_t>(row)];
    found.push_back(predict(x, near, most, weights));
  }
  return found;
}

// With weights w of a draw, rows of r given the residuals of training rows T and of rows D drawn before:
//   r_i = c_T'(y_T - Phi_T w) + c_D' r_D + sqrt(variance) e_i,   f_i = phi_i'w + r_i
// c and the variance are the same for all draws.
at::Tensor NeighbourProcess::draws(const at::Tensor& x, std::int64_t count, std::uint64_t seed,
                                   const at::Tensor& normals) const {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = x.size(0), n = size(), width = features_ + 1;
  const int near = static_cast<int>(std::min<std::int64_t>(most(), n)), of_drawn = most() / 2, all = near + of_drawn;
  const double needed = 8.0 * (static_cast<double>(n + 2 * rows) * static_cast<double>(width) +
                               static_cast<double>(rows) * static_cast<double>(4 * count + 3 * all));
  if (needed > free_bytes()) {
    throw UsageError(std::to_string(count) + " draws of " + std::to_string(rows) +
                     " rows that go together would take about " + number_text(std::ceil(needed / 1e8) / 10.0) +
                     " GB of memory, and " + number_text(std::floor(free_bytes() / 1e8) / 10.0) +
                     " GB are free; ask for fewer rows or draws");
  }
  // w of each draw: mean + L^-T normal
  const at::Tensor w =
      learned_.mean.unsqueeze(1) + at::linalg_solve_triangular(learned_.factor.t(),
                                                               function_normals(count, width, seed).t().contiguous(),
                                                               true);  // (F + 1, S)
  const at::Tensor order = order_of(kernel_, x, seed), own = x.index_select(0, order).contiguous();
  const at::Tensor phi = phi_of(own);
  // training rows and, after them, rows drawn
  const at::Tensor all_phi = at::cat({phi_, phi});
  const at::Tensor all_noise = at::cat({noise_, at::full({rows}, kLeastVariance, at::kDouble)});
  std::vector<double> inputs = inputs_;
  const std::vector<double> own_inputs = kernel_.inputs_of(own);
  inputs.insert(inputs.end(), own_inputs.begin(), own_inputs.end());
  const NeighbourRows everything = rows_of(inputs, all_phi, all_noise);
  const NeighbourSearch among(kernel_, own, /*ordered=*/true);

  at::Tensor residual = at::empty({rows, count}, at::kDouble);  // r
  for (std::int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const std::int64_t many = std::min(kRowsAtOnce, rows - first);
    const at::Tensor some = own.narrow(0, first, many);
    std::vector<std::int64_t> before(static_cast<std::size_t>(many));
    std::iota(before.begin(), before.end(), first);
    const NeighbourSearch::Found trained = (*search_)(some, near), drawn = among(some, of_drawn, before);
    NeighbourSearch::Found both{std::vector<std::int64_t>(static_cast<std::size_t>(many * all), -1),
                                std::vector<int>(static_cast<std::size_t>(many))};
    for (std::int64_t i = 0; i < many; ++i) {
      const auto q = static_cast<std::size_t>(i);
      std::int64_t* to = std::copy_n(trained.rows.begin() + i * near, trained.counts[q], both.rows.data() + i * all);
      std::transform(drawn.rows.begin() + i * of_drawn, drawn.rows.begin() + i * of_drawn + drawn.counts[q], to,
                     [&](std::int64_t row) { return n + row; });
      both.counts[q] = trained.counts[q] + drawn.counts[q];
    }
    const auto [c, variance] = condition(everything, some, phi.narrow(0, first, many), both, all);
    at::Tensor c_trained = at::zeros({many, near}, at::kDouble);
    for (std::int64_t i = 0; i < many; ++i) {
      std::copy_n(c.data_ptr<double>() + i * all, trained.counts[static_cast<std::size_t>(i)],
                  c_trained.data_ptr<double>() + i * near);
    }
    const at::Tensor y_near = rows_at(y_, trained.rows).view({many, near});
    const at::Tensor told = less_neighbours(at::zeros({many, width}, at::kDouble), c_trained, trained, near);
    const at::Tensor r = residual.narrow(0, first, many);
    r.copy_((c_trained * y_near).sum(1, true) + told.matmul(w));
    const at::Tensor e = normals.index_select(1, order.narrow(0, first, many)).t().contiguous();  // (b, S)
    for (std::int64_t i = 0; i < many; ++i) {
      const auto q = static_cast<std::size_t>(i);
      double* const to = r.data_ptr<double>() + i * count;
      const double* const normal = e.data_ptr<double>() + i * count;
      const double sd = std::sqrt(variance.data_ptr<double>()[i]);
      for (std::int64_t s = 0; s < count; ++s) to[s] += sd * normal[s];
      for (int j = 0; j < drawn.counts[q]; ++j) {
        const double weight = c.data_ptr<double>()[i * all + trained.counts[q] + j];
        const double* const from =
            residual.data_ptr<double>() + drawn.rows[static_cast<std::size_t>(i * of_drawn + j)] * count;
        for (std::int64_t s = 0; s < count; ++s) to[s] += weight * from[s];
      }
    }
  }
  residual += phi.matmul(w);
  return at::empty_like(residual).index_copy_(0, order, residual).t().contiguous();
}

}  // namespace ick
