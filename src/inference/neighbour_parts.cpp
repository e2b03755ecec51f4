#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "ick/base/parallel.h"
#include "inference/neighbour_process.h"
#include "inference/parts.h"

namespace ick {

// With c_t = C_NN^-1 cov(r_N, r_t(x)): mean phi_t'w + c_t'(y_N - Phi_N w), variance as that of the whole, with c_t and
// phi_t in place of c and phi. Rows have neighbours as in at(), of the whole kernel.
FunctionParts NeighbourProcess::parts(const at::Tensor& x) const {
  const at::NoGradGuard no_grad;
  const int most = static_cast<int>(std::min<std::int64_t>(this->most(), size()));
  const std::int64_t count = x.size(0), width = features_ + 1;
  const NeighbourSearch::Found found = (*search_)(x, most);
  const at::Tensor phi = phi_of(x);
  const std::vector<std::pair<std::int64_t, std::int64_t>> ranges = feature_ranges(*model_);
  const auto terms = static_cast<std::int64_t>(ranges.size());
  std::vector<FusedConditionals::Part> parts;
  std::size_t product = 0;
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    FusedConditionals::Part& part = parts.emplace_back();
    for (std::size_t k = 0; k < model_->spec().terms[t].kernels.size(); ++k) part.products.push_back(product++);
    if (features_ > 0) part.first_feature = static_cast<int>(ranges[t].first);
    if (features_ > 0) part.features = static_cast<int>(ranges[t].second);
  }
  const NeighbourRows rows = rows_of(inputs_, phi_, noise_);
  const std::vector<double> own = kernel_.inputs_of(x);
  at::Tensor weights = at::empty({terms, count, most}, at::kDouble), variance = at::empty({terms, count}, at::kDouble);
  constexpr std::int64_t kRows = 32;  // a task
  parallel(static_cast<int>((count + kRows - 1) / kRows), [&](int task, int) {
    const std::int64_t first = task * kRows, many = std::min(kRows, count - first);
    std::vector<Conditional> targets;
    for (std::int64_t i = first; i < first + many; ++i) {
      targets.push_back({own.data() + i * kernel_.inputs, phi.data_ptr<double>() + i * width,
                         found.rows.data() + i * most, found.counts[static_cast<std::size_t>(i)]});
    }
    std::vector<double> c(static_cast<std::size_t>(terms * many * most)), v(static_cast<std::size_t>(terms * many));
    kernel_.conditionals.parts(theta_.data(), rows, targets.data(), static_cast<int>(many), most, parts, c.data(),
                               v.data());
    for (std::int64_t t = 0; t < terms; ++t) {
      std::copy_n(c.data() + t * many * most, many * most, weights.data_ptr<double>() + (t * count + first) * most);
      std::copy_n(v.data() + t * many, many, variance.data_ptr<double>() + t * count + first);
    }
  });
  const at::Tensor residual_near = rows_at(learned_.residual, found.rows).view({count, most});
  std::vector<at::Tensor> means, variances;
  for (std::int64_t t = 0; t < terms; ++t) {
    at::Tensor features = at::zeros({count, width}, at::kDouble);  // phi_t
    if (features_ > 0) {
      const auto [first, many] = ranges[static_cast<std::size_t>(t)];
      features.narrow(1, first, many).copy_(phi.narrow(1, first, many));
    }
    const at::Tensor c = weights[t], left = less_neighbours(features, c, found, most);
    means.push_back(features.mv(learned_.mean) + (c * residual_near).sum(1));
    variances.push_back(variance[t] + at::linalg_solve_triangular(learned_.factor, left.t(), false).square().sum(0));
  }
  return {at::stack(means), at::stack(variances), learned_.mean[-1].expand({count})};
}

}  // namespace ick
