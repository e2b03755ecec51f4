#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ick/kernel/kernel.h"
#include "neighbour/fused_conditional.h"
#include "neighbour/index.h"

namespace ick {

// Products of kernels for the fast path, and what their factors see of rows x (n, D), side by side: (n, inputs).
std::vector<FusedProduct> fused_products(const std::vector<std::vector<Factor>>& terms);
at::Tensor fused_inputs(const std::vector<std::vector<Factor>>& terms, const at::Tensor& x);

// A kernel as the conditionals need it: products, and rows as their factors see them. `kernel` has one member, whose
// formulas are the library's own (fuses()).
struct NeighbourKernel {
  NeighbourKernel(const Kernel& kernel, double share);

  std::vector<double> inputs_of(const at::Tensor& x) const;  // (n, inputs) of x (n, D)
  std::vector<double> theta() const;                         // natural parameters, as they are now

  Kernel kernel;
  FusedConditionals conditionals;
  int inputs = 0;
};

// Every formula of the kernel is one of the library's, which can be fused.
bool fuses(const Kernel& kernel);

// Rows of a table that tell most about a row: those with the largest covariance, found among the nearest by each
// product of the kernel.
class NeighbourSearch {
 public:
  // At the kernel's present parameters. x (n, D) in float64. `ordered`: rows before a row are asked for.
  NeighbourSearch(const NeighbourKernel& kernel, const at::Tensor& x, bool ordered);

  // Which rows may be neighbours of query q; all when empty.
  using Admits = std::function<bool(std::int64_t q, std::int64_t row)>;

  // For each row of x (B, D): the most telling `most` rows, (B, most) filled up with -1, and how many they are. `before`
  // (B): only rows before this one, of an ordered search. On all workers; the same for any number of them.
  struct Found {
    std::vector<std::int64_t> rows;
    std::vector<int> counts;
  };
  Found operator()(const at::Tensor& x, int most, const std::vector<std::int64_t>& before = {},
                   const Admits& admits = {}) const;

 private:
  struct Part {  // a product that has a distance
    Coordinates points;
    std::unique_ptr<NeighbourIndex> all;
    std::unique_ptr<OrderedIndex> ordered;
    std::size_t product = 0;
  };
  double covariance(const double* a, const double* b) const;

  const NeighbourKernel& kernel_;
  std::vector<double> theta_;
  std::int64_t count_;
  std::vector<double> inputs_;  // (n, inputs): to rank by covariance where there are several products
  std::vector<Part> parts_;
};

}  // namespace ick
