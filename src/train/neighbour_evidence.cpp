#include "train/neighbour_evidence.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/seed.h"
#include "train/known_slopes.h"

namespace ick {

namespace {

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

at::Tensor shuffled(std::int64_t count, std::uint64_t seed) {
  at::Tensor order = at::arange(count, at::kLong);
  std::int64_t* const at = order.data_ptr<std::int64_t>();
  Random random(seed);
  for (std::int64_t i = count - 1; i > 0; --i) std::swap(at[i], at[random.below(i + 1)]);
  return order;
}

}  // namespace

NeighbourEvidence::NeighbourEvidence(const Kernel& kernel, double share, const at::Tensor& x, const at::Tensor& y,
                                     const at::Tensor& weights, const at::Tensor& error, std::uint64_t seed)
    : kernel_(kernel, share), columns_(y.dim() == 1 ? 1 : static_cast<int>(y.size(1))) {
  const at::Tensor order = shuffled(x.size(0), seed_for(seed, "order of rows"));
  x_ = x.index_select(0, order).contiguous();
  inputs_ = kernel_.inputs_of(x_);
  y_ = numbers_of(y.index_select(0, order));
  const at::Tensor slope = weights.defined() ? weights.index_select(0, order).to(at::kDouble).reciprocal()
                                             : at::ones({x.size(0)}, at::kDouble);
  const at::Tensor known = error.defined() ? error.index_select(0, order).to(at::kDouble) : at::zeros_like(slope);
  slope_ = numbers_of(slope);
  known_ = numbers_of(known * slope);
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
  const NeighbourSearch::Found found = search(x_.index_select(0, at::tensor(drawn, at::kLong)), most_, drawn);
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
