#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel/fused_groups.h"

// Many small Gaussian processes: a row given its neighbours. Vecchia (1988): the likelihood of a process is a product of
// such conditionals. kLaneWidth of them are computed at once. Torch-free, in float64.
namespace ick {

// The covariance of rows i and j: share sum_t k_t(x_i, x_j) - z_i . z_j, and s_i^2 more where i = j.
struct NeighbourRows {
  const double* x = nullptr;      // (n, inputs): as the factors of all products see them, side by side
  const double* z = nullptr;      // (n, features), or null; `stride` numbers from one row to the next
  const double* noise = nullptr;  // (n) s_i^2
  int inputs = 0, features = 0;
  std::int64_t stride = features;
};

// A row that others condition. Neighbours are numbers of rows, nearest first.
struct Conditional {
  const double* x = nullptr;  // (inputs) of the row itself
  const double* z = nullptr;  // (features), or null
  const std::int64_t* neighbours = nullptr;
  int count = 0;
};

class FusedConditionals {
 public:
  // Factors of the products count their inputs from the first of NeighbourRows::x.
  FusedConditionals(std::vector<FusedProduct> products, double share) : products_(std::move(products)), share_(share) {}

  // For each of `count` conditionals, each with at most `most` neighbours:
  //   c = C_NN^-1 c_N  to weights (count, most), zero after its neighbours
  //   variance of the function given the neighbours' observations, c_** - c_N' c  to variance (count)
  void operator()(const double* theta, const NeighbourRows& rows, const Conditional* targets, int count, int most,
                  double* weights, double* variance) const;

  // The same of parts of the covariance, some of its products and features each: c_t = C_NN^-1 c_tN to weights (parts,
  // count, most) and c_t** - c_tN' c_t to variance (parts, count). Over parts with all products and features weights add
  // up to those above.
  struct Part {
    std::vector<std::size_t> products;
    int first_feature = 0, features = 0;
  };
  void parts(const double* theta, const NeighbourRows& rows, const Conditional* targets, int count, int most,
             const std::vector<Part>& parts, double* weights, double* variance) const;

  // Costs of observed rows given their neighbours, y (n, columns), summed over `count` groups of rows:
  //   r = y_i - c'y_N,  d = variance + s_i^2,  -log p = log(2 pi d) / 2 + r^2 / 2d,  the mean over columns
  // with derivatives in theta and in the noise of each row involved, as d_noise' d s^2 with d s_i^2 = noise_slope_i.
  struct Sum {
    double cost = 0.0, d_noise = 0.0;
  };
  Sum cost(const double* theta, const NeighbourRows& rows, const double* noise_slope, const double* y, int columns,
           const std::int64_t* groups, const int* sizes, int count, int most, double* d_theta) const;

 private:
  struct Space;  // of one thread
  void factorise(const double* theta, const NeighbourRows& rows, const Conditional* targets, int lanes, int most,
                 Space& space) const;

  std::vector<FusedProduct> products_;
  double share_;
};

// to (width) -= sum_j c_j row_j, of a table (n, width)
void take_off_rows(const double* table, int width, const std::int64_t* rows, int count, const double* c, double* to);

}  // namespace ick
