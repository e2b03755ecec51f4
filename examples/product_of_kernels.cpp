// What a product of kernels has to mean, shown by numbers.
//
// Targets are drawn from a Gaussian process whose covariance is a product of kernels, one on each column. Three models
// with the true kernels predict held-out rows: the exact process; ick's one feature map of the product on the joined
// inputs; and the chain of feature maps, multiplied element by element, that the paper proposes.
#include <ATen/ATen.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ick/feature/feature_map.h"

namespace {

constexpr double kNoise = 1e-3;  // variance

// Columns x1 ~ U(0, 1), and x2 .. xM the same index rescaled, as in the paper's stress test.
at::Tensor inputs(std::int64_t rows, int sources) {
  const double high[] = {1.0, 2.0, 4.0, 4.0, 2.0};
  std::vector<at::Tensor> columns = {at::rand({rows}, at::kDouble)};
  for (int m = 1; m < sources; ++m) columns.push_back(at::linspace(0.0, high[m], rows, at::kDouble));
  return at::stack(columns, 1);
}

// Mean of the targets at `to` under y = w . z + noise, w ~ N(0, I):  z_to^T (Z^T Z + s2 I)^-1 Z^T y
at::Tensor ridge(const at::Tensor& z, const at::Tensor& y, const at::Tensor& z_to) {
  const at::Tensor normal = z.t().matmul(z) + kNoise * at::eye(z.size(1), at::kDouble);
  return z_to.matmul(at::cholesky_solve(z.t().matmul(y), at::linalg_cholesky(normal)));
}

double error(const at::Tensor& predicted, const at::Tensor& truth) {
  return (predicted - truth).square().mean().sqrt().item<double>();
}

}  // namespace

int main() {
  const at::NoGradGuard no_gradient;
  const std::string kernels[] = {"spectral_mixture(x2, components=1, weight=1.39, mean=0.69, scale=0.69)",
                                 "rbf(x3, lengthscale=0.69)", "periodic(x4, period=0.69, lengthscale=0.83)",
                                 "matern52(x5, lengthscale=0.69)"};
  const std::vector<std::string> names = {"x1", "x2", "x3", "x4", "x5"};
  std::printf("Held-out error (noise alone: %.4f) of the exact process and of two kinds of features, true kernels\n\n",
              std::sqrt(kNoise));
  std::printf("sources  exact |  one map of the product, p =     |  chained maps, p =\n");
  std::printf("               |     16      32      64     128  |     16      32      64     128\n");
  for (int sources = 2; sources <= 5; ++sources) {
    at::manual_seed(sources);
    const std::int64_t rows = 3000;
    const at::Tensor x = inputs(rows, sources);
    std::string formula = kernels[0];
    for (int m = 2; m < sources; ++m) formula += " * " + kernels[m - 1];
    const std::vector<std::string> columns(names.begin(), names.begin() + sources);
    const ick::Kernel kernel(ick::make_kernel_sum(ick::parse_expression(formula)), ick::summarise(x, columns));

    // The first source has a linear kernel, k(x1, x1') = ln 2 x1 x1', whose one feature stands where a network would.
    const at::Tensor f = std::sqrt(std::log(2.0)) * x.narrow(1, 0, 1);
    const at::Tensor covariance = f.matmul(f.t()) * kernel.matrix(x, x)[0] + kNoise * at::eye(rows, at::kDouble);
    const at::Tensor y = at::linalg_cholesky(covariance).mv(at::randn({rows}, at::kDouble)).unsqueeze(1);
    const at::Tensor order = at::randperm(rows);
    const at::Tensor train = order.narrow(0, 0, rows / 2), test = order.narrow(0, rows * 6 / 10, rows * 4 / 10);
    const at::Tensor y_train = y.index_select(0, train), y_test = y.index_select(0, test);

    const at::Tensor within = covariance.index_select(0, train).index_select(1, train);
    const at::Tensor across = covariance.index_select(0, test).index_select(1, train);
    const at::Tensor exact = across.matmul(at::cholesky_solve(y_train, at::linalg_cholesky(within)));
    std::printf("   %d    %.4f |", sources, error(exact, y_test));
    for (const bool chained : {false, true}) {
      for (const std::int64_t p : {16, 32, 64, 128}) {
        ick::MapOptions options;
        options.features = p;
        options.dtype = at::kDouble;
        const at::Tensor x_train = x.index_select(0, train);
        const auto map =
            chained ? make_chained_map(kernel, x_train, options) : make_feature_map(kernel, x_train, options);
        const at::Tensor z = f * (*map)(x)[0];
        std::printf("  %.4f", error(ridge(z.index_select(0, train), y_train, z.index_select(0, test)), y_test));
      }
      std::printf(chained ? "\n" : "  |");
    }
  }
}
