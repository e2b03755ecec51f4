#pragma once

#include <string>
#include <vector>

#include "ick/table/table.h"

// Learned kernels as numbers to be drawn.
namespace ick {

// The correlation that a term's kernels, at their learned parameters, say two rows have that differ in one column alone:
//   k(x, x + d) / sqrt(k(x, x) k(x + d, x + d))
// the mean over members, where it is the same for all x: lines and polynomials have none. What networks of the term add
// is not in it. Without an end of its own, as far as the training rows reach.
struct KernelCurve {
  std::string term, text;        // "term1", "periodic(date, period=1y)"
  std::string column;            // "date"; of a place on the globe both, "lat, lon"
  std::string unit;              // of the distance: "d", "km", ""
  double reach = 0.0;            // how far apart training rows are, at most
  std::vector<double> distance;  // from 0
  std::vector<double> correlation;
};

// The same between some rows, and how much of it there is: eigenvalues of the matrix of covariances, divided by their
// number, and of what the model's features have of it.
struct KernelMatrix {
  std::string term, text;
  std::vector<std::int64_t> rows;                        // of the table, in the order of the matrix
  std::vector<std::vector<double>> correlation;          // [row][row]
  std::vector<double> eigenvalues, feature_eigenvalues;  // the largest first; features: empty where there are none
  double carried = 1.0;                                  // share of the variance at these rows that features have
};

}  // namespace ick
