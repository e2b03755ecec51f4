#include "baseline/inducing_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "ick/base/seed.h"
#include "ick/dataset/encoder.h"

namespace ick {

at::Tensor inducing_rows(const ProcessKernel& kernel, const at::Tensor& inputs, std::int64_t count,
                         std::uint64_t seed) {
  constexpr double kExplained = 1e-6;
  const at::Tensor drawn = draw_rows(inputs.size(0), kMostInducingRows, seed_for(seed, "inducing rows"));
  const at::Tensor rows = inputs.index_select(0, drawn).contiguous();
  const std::int64_t n = rows.size(0);
  Random random(seed_for(seed, "inducing points"));
  at::Tensor left = kernel.diagonal(rows);                       // (n) variance not explained
  const at::Tensor enough = kExplained * left;                   // (n)
  const at::Tensor factor = at::zeros({count, n}, at::kDouble);  // F', K ~ F F'
  std::vector<std::int64_t> picked;
  while (std::ssize(picked) < std::min(count, n)) {
    const at::Tensor sums = at::where(left > enough, left, at::zeros_like(left)).cumsum(0);
    const double total = sums[-1].item<double>();
    if (!(total > 0.0) && !picked.empty()) break;
    const double* const from = sums.data_ptr<double>();
    const std::int64_t pivot =
        std::min<std::int64_t>(std::upper_bound(from, from + n, random.uniform() * total) - from, n - 1);
    const std::int64_t done = std::ssize(picked);
    at::Tensor row = kernel.values(rows.narrow(0, pivot, 1), rows, at::kDouble).squeeze(0);
    if (done > 0) row -= factor.narrow(0, 0, done).t().mv(factor.narrow(0, 0, done).select(1, pivot));
    picked.push_back(pivot);
    const double size = row[pivot].item<double>();
    if (!(size > 0.0)) {  // only the first, of a kernel that is zero
      if (done == 0) break;
      left[pivot] = 0.0;
      picked.pop_back();
      continue;
    }
    row /= std::sqrt(size);
    factor.select(0, done).copy_(row);
    left = (left - row.square()).clamp_min(0.0);
    left[pivot] = 0.0;
  }
  std::sort(picked.begin(), picked.end());
  return drawn.index_select(0, at::tensor(picked, at::kLong));
}

}  // namespace ick
