#include "train/neighbour_evidence.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/seed.h"
#include "train/evidence.h"
#include "train/known_slopes.h"

namespace ick {

namespace {

// Equal numbers for rows with equal values in these columns of x (n, D), and how many there are.
std::pair<std::vector<std::int64_t>, std::int64_t> numbers_by_value(const at::Tensor& x,
                                                                    const std::vector<std::int64_t>& columns) {
  const at::Tensor values = x.index_select(1, at::tensor(columns, at::kLong)).contiguous();  // (n, d)
  const std::size_t d = columns.size();
  const double* const at = values.data_ptr<double>();
  std::map<std::vector<double>, std::int64_t> known;
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const std::vector<double> row(at + static_cast<std::size_t>(i) * d, at + static_cast<std::size_t>(i + 1) * d);
    numbers.push_back(known.try_emplace(row, std::ssize(known)).first->second);
  }
  return {std::move(numbers), std::ssize(known)};
}

// Columns that factors read, where there are several sets of them, and rows share values of a set; with `apart` only those
// among these. Levels are not among them: another level is not predicted.
std::vector<std::vector<std::int64_t>> shared_inputs(const Kernel& kernel, const at::Tensor& x,
                                                     const std::vector<std::int64_t>& apart) {
  constexpr std::int64_t kEach = 4;  // rows that share a value, at least, on average
  std::vector<std::vector<std::int64_t>> sets, shared;
  for (const std::vector<Factor>& factors : kernel.terms()) {
    for (const Factor& f : factors) {
      const bool known = std::find(sets.begin(), sets.end(), f.columns) != sets.end();
      if (!known && !f.columns.empty() && f.row->inputs != Inputs::level) sets.push_back(f.columns);
    }
  }
  for (const std::vector<std::int64_t>& columns : sets) {
    if (sets.size() < 2) break;
    const bool of_these = std::all_of(columns.begin(), columns.end(), [&](std::int64_t column) {
      return apart.empty() || std::find(apart.begin(), apart.end(), column) != apart.end();
    });
    if (!of_these) continue;
    auto [numbers, count] = numbers_by_value(x, columns);
    if (count > 1 && kEach * count <= x.size(0)) shared.push_back(std::move(numbers));
  }
  return shared;
}

}  // namespace

NeighbourEvidence::NeighbourEvidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y,
                                     const at::Tensor& weights, const at::Tensor& error, std::uint64_t seed,
                                     const std::vector<std::int64_t>& apart)
    : kernel_(kernel, share), columns_(y.dim() == 1 ? 1 : static_cast<int>(y.size(1))) {
  const at::Tensor order = at::tensor(shuffled(x.size(0), seed_for(seed, "order of rows")), at::kLong);
  x_ = x.index_select(0, order).contiguous();
  inputs_ = kernel_.inputs_of(x_);
  y_ = numbers_of(y.index_select(0, order));
  const at::Tensor slope = weights.defined() ? weights.index_select(0, order).to(at::kDouble).reciprocal()
                                             : at::ones({x.size(0)}, at::kDouble);
  const at::Tensor known = error.defined() ? error.index_select(0, order).to(at::kDouble) : at::zeros_like(slope);
  slope_ = numbers_of(slope);
  known_ = numbers_of(known * slope);
  shared_ = shared_inputs(kernel, x_, apart);
  all_differ_ = !apart.empty() && !shared_.empty();
  if (shared_.empty() && !apart.empty()) shared_ = shared_inputs(kernel, x_, {});
}

void NeighbourEvidence::draw(std::int64_t count, int most, std::uint64_t seed) {
  const std::int64_t n = x_.size(0);
  most_ = static_cast<int>(std::min<std::int64_t>(most, n - 1));
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(n));
  std::iota(drawn.begin(), drawn.end(), 0);
  Random random(seed_for(seed, "conditionals"));
  count = std::min(count, n);
  for (std::int64_t i = 0; i < count && count < n; ++i) std::swap(drawn[i], drawn[i + random.below(n - i)]);
  drawn.resize(static_cast<std::size_t>(count));
  std::sort(drawn.begin(), drawn.end());

  const NeighbourSearch search(kernel_, x_, /*ordered=*/true);
  NeighbourSearch::Admits differs;
  if (!shared_.empty()) {
    differs = [&](std::int64_t q, std::int64_t row) {
      const auto part = static_cast<std::size_t>(q) % (shared_.size() + (all_differ_ ? 0 : 1));
      if (part == shared_.size()) return true;
      const std::vector<std::int64_t>& number = shared_[part];
      return number[static_cast<std::size_t>(row)] !=
             number[static_cast<std::size_t>(drawn[static_cast<std::size_t>(q)])];
    };
  }
  const NeighbourSearch::Found found = search(x_.index_select(0, at::tensor(drawn, at::kLong)), most_, drawn, differs);
  groups_.assign(static_cast<std::size_t>(count * (most_ + 1)), 0);
  sizes_ = found.counts;
  for (std::int64_t g = 0; g < count; ++g) {
    std::copy_n(found.rows.begin() + g * most_, found.counts[g], groups_.begin() + g * (most_ + 1));
    groups_[g * (most_ + 1) + most_] = drawn[g];
  }
}

at::Tensor NeighbourEvidence::operator()(const at::Tensor& log_noise) const {
  const std::vector<double> theta = kernel_.theta();
  const double variance = std::exp(log_noise.item<double>());
  std::vector<double> noise(slope_.size());
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = variance * slope_[i] + known_[i];
  const NeighbourRows rows{inputs_.data(), nullptr, noise.data(), kernel_.inputs, 0};

  constexpr int kGroups = 16;  // a task
  const int count = static_cast<int>(sizes_.size()), tasks = (count + kGroups - 1) / kGroups;
  std::vector<FusedConditionals::Sum> sums(static_cast<std::size_t>(tasks));
  std::vector<std::vector<double>> slopes(static_cast<std::size_t>(tasks), std::vector<double>(theta.size()));
  parallel(tasks, [&](int task, int) {
    const int first = task * kGroups, many = std::min(kGroups, count - first);
    sums[task] = kernel_.conditionals.cost(theta.data(), rows, slope_.data(), y_.data(), columns_,
                                           groups_.data() + static_cast<std::int64_t>(first) * (most_ + 1),
                                           sizes_.data() + first, many, most_, slopes[task].data());
  });
  double cost = 0.0, d_noise = 0.0;
  std::vector<double> d_theta(theta.size());
  for (int task = 0; task < tasks; ++task) {
    cost += sums[task].cost, d_noise += sums[task].d_noise;
    for (std::size_t i = 0; i < theta.size(); ++i) d_theta[i] += slopes[task][i];
  }
  if (!std::isfinite(cost)) {
    throw NumericError("a covariance of neighbouring rows has no Cholesky factor; bound the kernel's parameters");
  }
  for (double& each : d_theta) each /= count;
  return known_slopes(kernel_.kernel.parameters(), log_noise, cost / count, d_theta, variance * d_noise / count);
}

}  // namespace ick
