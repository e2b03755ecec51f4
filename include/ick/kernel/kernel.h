#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ick/kernel/parameter.h"
#include "ick/kernel/spec.h"
#include "ick/kernel/table.h"

namespace ick {

// One kernel on its columns of x.
struct Factor {
  const KernelRow* row = nullptr;
  std::vector<std::int64_t> columns;  // which columns of x
  std::vector<double> centre;         // subtracted from each column before the formula sees it; empty: nothing
  Structure structure;
  std::int64_t first_parameter = 0;  // column of the parameter matrix
  std::int64_t parameter_count = 0;
};

struct KernelOptions {
  std::int64_t members = 1;  // E
  std::uint64_t seed = 0;
  std::vector<std::string> names = {};  // names of the products, which begin paths; else term1, term2, ...
  double target_variance = 1.0;         // what a variance that the formula states is divided by: it is in these units
};

// A kernel expression bound to columns: a sum of products of kernels, with its parameters.
//   k(x, x') = sum_t prod_f k_tf(x, x')
// Copies share their parameters.
class Kernel {
 public:
  // `inputs` says what the columns of x are, in order. A kernel that was written once keeps one set of parameters, also
  // where multiplying out has put it into several terms: a * (b + c). The scale of a product is learned once: a
  // `variance` after the first of a term is held at 1 unless the formula sets it.
  Kernel(const KernelSum& expression, const std::vector<InputSummary>& inputs, const KernelOptions& options = {});

  std::int64_t members() const { return parameters_->members(); }
  std::int64_t inputs() const { return inputs_; }  // D, columns of x
  const std::vector<std::vector<Factor>>& terms() const { return terms_; }
  ParameterSet& parameters() { return *parameters_; }
  const ParameterSet& parameters() const { return *parameters_; }

  Kernel select(const std::vector<std::size_t>& products) const;  // some products of the sum
  Kernel term(std::size_t t) const;                               // one product of the sum
  Kernel factor(std::size_t t, std::size_t f) const;              // one kernel of that product

  // The reference path: composed tensor operations in float64, differentiable in parameters and inputs.
  // x (n, D) or (E, n, D), y (m, D) or (E, m, D) -> (E, n, m)
  at::Tensor matrix(const at::Tensor& x, const at::Tensor& y) const;
  at::Tensor diagonal(const at::Tensor& x) const;  // k(x_i, x_i): (E, n)

  // Columns of x as factor `f` sees them: picked, their centre taken off where the kernel has one, and places turned
  // into points. (..., n, D) -> (..., n, structure.inputs)
  static at::Tensor embed(const Factor& f, const at::Tensor& x);

 private:
  Kernel(std::shared_ptr<ParameterSet> parameters, std::int64_t inputs, std::vector<std::vector<Factor>> terms);

  std::shared_ptr<ParameterSet> parameters_;
  std::int64_t inputs_ = 0;
  std::vector<std::vector<Factor>> terms_;
};

// Rank of a product of kernels: at most the product of theirs. As many features carry it whole, whatever its
// parameters.
inline constexpr std::int64_t kNoRank = std::numeric_limits<std::int64_t>::max();  // one of the kernels has no end
std::int64_t rank_of(const std::vector<Factor>& product);

// DataError when a column of levels that `f` reads holds anything but 0, 1, ..., levels - 1.  x (..., n, D) in float64
void check_levels(const Factor& f, const at::Tensor& x);

// Names, ranges and sizes of the columns of x (n, D). Columns in `levels` with a count above zero hold level codes.
std::vector<InputSummary> summarise(const at::Tensor& x, const std::vector<std::string>& names,
                                    const std::vector<int>& levels = {});

}  // namespace ick
