#include "neighbour/search.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ick/base/parallel.h"

namespace ick {

std::vector<FusedProduct> fused_products(const std::vector<std::vector<Factor>>& terms) {
  std::vector<FusedProduct> products;
  int inputs = 0;
  for (const std::vector<Factor>& factors : terms) {
    std::vector<FusedFactor> fused;
    for (const Factor& f : factors) {
      fused.push_back({f.row->index, f.structure, static_cast<int>(f.first_parameter), inputs});
      inputs += f.structure.inputs;
    }
    products.emplace_back(std::move(fused));
  }
  return products;
}

at::Tensor fused_inputs(const std::vector<std::vector<Factor>>& terms, const at::Tensor& x) {
  std::vector<at::Tensor> columns;
  for (const std::vector<Factor>& factors : terms) {
    for (const Factor& f : factors) {
      check_levels(f, x);
      columns.push_back(Kernel::embed(f, x));
    }
  }
  return at::cat(columns, 1).to(at::kDouble).contiguous();
}

bool fuses(const Kernel& kernel) {
  return std::all_of(kernel.terms().begin(), kernel.terms().end(), [](const std::vector<Factor>& factors) {
    return std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.row->fuses(); });
  });
}

NeighbourKernel::NeighbourKernel(const Kernel& of, double share)
    : kernel(of), conditionals(fused_products(of.terms()), share) {
  for (const std::vector<Factor>& factors : kernel.terms()) {
    for (const Factor& f : factors) inputs += f.structure.inputs;
  }
}

std::vector<double> NeighbourKernel::inputs_of(const at::Tensor& x) const {
  const at::Tensor all = fused_inputs(kernel.terms(), x);
  return {all.data_ptr<double>(), all.data_ptr<double>() + all.numel()};
}

std::vector<double> NeighbourKernel::theta() const {
  const at::Tensor natural = kernel.parameters().natural().detach()[0].contiguous();
  return {natural.data_ptr<double>(), natural.data_ptr<double>() + natural.numel()};
}

NeighbourSearch::NeighbourSearch(const NeighbourKernel& kernel, const at::Tensor& x, bool ordered)
    : kernel_(kernel), theta_(kernel.theta()), count_(x.size(0)) {
  const auto& products = kernel.kernel.terms();
  for (std::size_t t = 0; t < products.size(); ++t) {
    Coordinates points = coordinates_of(products[t], theta_.data(), x);
    if (points.size == 0) continue;
    Part& part = parts_.emplace_back();
    part.points = std::move(points);
    part.product = t;
  }
  parallel(static_cast<int>(parts_.size()), [&](int task, int) {
    Part& part = parts_[static_cast<std::size_t>(task)];
    if (ordered) {
      part.ordered = std::make_unique<OrderedIndex>(part.points, count_);
    } else {
      part.all = std::make_unique<NeighbourIndex>(part.points, count_);
    }
  });
  if (parts_.size() > 1) inputs_ = kernel.inputs_of(x);
}

double NeighbourSearch::covariance(const double* a, const double* b) const {
  double sum = 0.0;
  int input = 0;
  for (const std::vector<Factor>& factors : kernel_.kernel.terms()) {
    double product = 1.0;
    for (const Factor& f : factors) {
      product *= f.row->value(f.structure, theta_.data() + f.first_parameter, a + input, b + input);
      input += f.structure.inputs;
    }
    sum += product;
  }
  return sum;
}

NeighbourSearch::Found NeighbourSearch::operator()(const at::Tensor& x, int most,
                                                   const std::vector<std::int64_t>& before,
                                                   const Admits& admits) const {
  const std::int64_t count = x.size(0);
  Found found{std::vector<std::int64_t>(static_cast<std::size_t>(count * most), -1),
              std::vector<int>(static_cast<std::size_t>(count))};
  std::vector<Coordinates> at;
  for (const Part& part : parts_) at.push_back(coordinates_of(kernel_.kernel.terms()[part.product], theta_.data(), x));
  const std::vector<double> inputs = parts_.size() > 1 ? kernel_.inputs_of(x) : std::vector<double>();

  const auto admitted = [&](const Part& part, const double* place, std::int64_t q) {
    const std::int64_t limit = before.empty() ? count_ : before[static_cast<std::size_t>(q)];
    // a row far by one product may be near by another: several look further
    const std::int64_t wanted = parts_.size() > 1 ? 4 * most : most;
    for (std::int64_t ask = wanted;; ask *= 2) {
      std::vector<std::int64_t> rows =
          part.ordered != nullptr ? part.ordered->nearest(place, limit, ask) : part.all->nearest(place, ask);
      const bool ended = std::ssize(rows) < ask || ask >= limit;
      if (admits) std::erase_if(rows, [&](std::int64_t row) { return !admits(q, row); });
      if (std::ssize(rows) >= wanted) rows.resize(static_cast<std::size_t>(wanted));
      if (ended || std::ssize(rows) == wanted) return rows;
    }
  };
  constexpr std::int64_t kQueries = 64;  // a task
  parallel(static_cast<int>((count + kQueries - 1) / kQueries), [&](int task, int) {
    for (std::int64_t q = task * kQueries; q < std::min(count, (task + 1) * kQueries); ++q) {
      std::vector<std::int64_t> rows;
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        const std::vector<std::int64_t> more = admitted(parts_[p], at[p].at.data() + q * at[p].size, q);
        rows.insert(rows.end(), more.begin(), more.end());
      }
      if (parts_.size() > 1) {  // those with the largest covariance of all that any product has near
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        std::vector<std::pair<double, std::int64_t>> ranked;
        for (const std::int64_t row : rows) {
          const double* const own = inputs.data() + q * kernel_.inputs;
          ranked.emplace_back(-std::abs(covariance(own, inputs_.data() + row * kernel_.inputs)), row);
        }
        std::sort(ranked.begin(), ranked.end());
        rows.clear();
        for (const auto& [covariance, row] : ranked) rows.push_back(row);
      }
      const std::int64_t kept = std::min<std::int64_t>(most, std::ssize(rows));
      std::copy_n(rows.begin(), kept, found.rows.begin() + q * most);
      found.counts[static_cast<std::size_t>(q)] = static_cast<int>(kept);
    }
  });
  return found;
}

}  // namespace ick
