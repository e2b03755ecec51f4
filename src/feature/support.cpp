#include "feature/support.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ick/base/error.h"

namespace ick {

namespace {

// A number is finite unless its exponent is all ones; the largest exponent is found without a branch.
template <class Bits, class Number>
bool all_finite(const Number* values, std::int64_t count) {
  const Bits mask = std::bit_cast<Bits>(std::numeric_limits<Number>::infinity());
  Bits largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<Bits>(values[i]) & mask);
  return largest != mask;
}

// A kernel may make a number of what is not finite: an rbf is zero far away.
void check_finite(const at::Tensor& x, const Kernel& kernel) {
  if (all_finite<std::uint64_t>(x.data_ptr<double>(), x.numel())) return;
  for (const auto& factors : kernel.terms()) {
    for (const Factor& f : factors) {
      for (std::int64_t j = 0; j < x.size(0); ++j) {
        for (const std::int64_t d : f.columns) {
          if (std::isfinite(x.data_ptr<double>()[j * x.size(1) + d])) continue;
          throw DataError("row " + std::to_string(j + 1) + ", input " + std::to_string(d + 1) +
                          " is not finite; fill or drop missing values before a kernel reads them");
        }
      }
    }
  }
}

}  // namespace

at::Tensor checked_rows(const at::Tensor& x, const Kernel& kernel) {
  if (x.dim() != 2 || x.size(1) != kernel.inputs()) {
    throw UsageError("a feature map takes rows of " + std::to_string(kernel.inputs()) + " columns");
  }
  const at::Tensor rows = x.to(at::kDouble).contiguous();
  for (const auto& factors : kernel.terms()) {
    for (const Factor& f : factors) check_levels(f, rows);
  }
  check_finite(rows, kernel);
  kernel.parameters().check();
  return rows;
}

at::Tensor checked_features(const at::Tensor& z) {
  const at::Tensor values = z.is_non_overlapping_and_dense() ? z.detach() : z.detach().contiguous();  // in any order
  const bool finite = values.scalar_type() == at::kFloat
                          ? all_finite<std::uint32_t>(values.data_ptr<float>(), values.numel())
                          : all_finite<std::uint64_t>(values.data_ptr<double>(), values.numel());
  if (finite) return z;
  throw NumericError(
      "features are too large for their number type; rescale the inputs or bound the kernel's parameters");
}

void throw_not_positive_definite(const Kernel& kernel) {
  kernel.parameters().check();
  throw NumericError(
      "the covariance of the inducing points of " + kernel.parameters().parameters().front().path +
      " has no Cholesky factor, even with 1% of its diagonal added; bound its parameters or rescale its inputs");
}

}  // namespace ick
