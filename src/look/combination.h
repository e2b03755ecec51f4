#pragma once

#include <span>
#include <string>
#include <vector>

namespace ick::detail {

// Two or three columns as one number: sum_j weight_j x_j, or prod_j |x_j|^weight_j with the sign of the product.
struct Combination {
  std::vector<std::size_t> columns;  // ascending
  std::vector<double> weights;       // the first of a sum is 1, and the least of a product 1 or -1
  bool product = false;
  double r2 = 0.0;  // of the ranks of y, by a curve of the combination, on rows left out
};

struct CombinationSearch {
  std::vector<std::vector<double>> columns;  // numbers; rows in an order of no meaning
  std::vector<double> single;                // R2 of each column alone
  std::vector<double> target;
  double known = 0.0;  // R2 of what tells y without these columns
  double least = 0.0;  // R2 of what is found
};

// Combinations y is nearly an ascending or descending function of, the best of overlapping ones, best first. A column
// counts where leaving it out would double what is left unexplained.
std::vector<Combination> find_combinations(const CombinationSearch& search);

// "a + b", "a - 0.5 b", "a * b / c^2"
std::string combination_text(const Combination& found, std::span<const std::string> names);

}  // namespace ick::detail
