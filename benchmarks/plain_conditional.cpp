#include "plain_conditional.h"

#include <Eigen/Cholesky>
#include <Eigen/Dense>
#include <cmath>
#include <numbers>

namespace ick {

namespace {

const double kRoot3 = std::sqrt(3.0);

double matern(const double* theta, const double* a, const double* b, int columns) {
  double sum = 0.0;
  for (int d = 0; d < columns; ++d) {
    const double apart = (a[d] - b[d]) / theta[1 + d];
    sum += apart * apart;
  }
  const double r = kRoot3 * std::sqrt(sum);
  return theta[0] * (1.0 + r) * std::exp(-r);
}

// dk / dlengthscale_d = 3 variance exp(-sqrt(3) r) (x_d - x_d')^2 / lengthscale_d^3
double matern_slopes(const double* theta, const double* a, const double* b, int columns, double* slopes) {
  double sum = 0.0;
  for (int d = 0; d < columns; ++d) {
    const double apart = (a[d] - b[d]) / theta[1 + d];
    slopes[1 + d] = apart * apart / theta[1 + d];
    sum += apart * apart;
  }
  const double r = kRoot3 * std::sqrt(sum), e = std::exp(-r);
  slopes[0] = (1.0 + r) * e;
  for (int d = 0; d < columns; ++d) slopes[1 + d] *= 3.0 * theta[0] * e;
  return theta[0] * slopes[0];
}

}  // namespace

double plain_conditional(const PlainRows& rows, const double* theta, const double* own, const std::int64_t* neighbours,
                         int m, double* weights) {
  Eigen::MatrixXd k(m, m);
  Eigen::VectorXd cross(m);
  for (int i = 0; i < m; ++i) {
    const double* const x = rows.x + neighbours[i] * rows.columns;
    for (int j = 0; j < i; ++j) k(i, j) = matern(theta, x, rows.x + neighbours[j] * rows.columns, rows.columns);
    k(i, i) = theta[0] + rows.noise;
    cross(i) = matern(theta, x, own, rows.columns);
  }
  const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> factor(k);
  Eigen::Map<Eigen::VectorXd> c(weights, m);
  c = factor.solve(cross);
  return theta[0] - cross.dot(c);
}

// With c = C^-1 k, a = C^-1 y_N, r = y - c'y_N, d = k_** - c'k + s^2:
//   d'_p = dk_** - 2 c'dk + c'dC c,   r'_p = -(dk - dC c)'a,   cost = (log(2 pi d) + r^2 / d) / 2
double plain_cost(const PlainRows& rows, const double* theta, std::int64_t i, const std::int64_t* neighbours, int m,
                  double* d_theta, double& d_noise) {
  const int parameters = rows.columns + 1;
  Eigen::MatrixXd k(m, m), slopes(parameters, m * m), cross_slopes(parameters, m);
  Eigen::VectorXd cross(m), y(m), slope(parameters);
  const double* const own = rows.x + i * rows.columns;
  for (int a = 0; a < m; ++a) {
    const double* const x = rows.x + neighbours[a] * rows.columns;
    for (int b = 0; b < a; ++b) {
      k(a, b) = matern_slopes(theta, x, rows.x + neighbours[b] * rows.columns, rows.columns, slope.data());
      slopes.col(a * m + b) = slope;
    }
    k(a, a) = theta[0] + rows.noise;
    cross(a) = matern_slopes(theta, x, own, rows.columns, slope.data());
    cross_slopes.col(a) = slope;
    y(a) = rows.y[neighbours[a]];
  }
  const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> factor(k);
  const Eigen::VectorXd c = factor.solve(cross), alpha = factor.solve(y);
  const double d = theta[0] - cross.dot(c) + rows.noise, r = rows.y[i] - c.dot(y);
  const double by_d = 0.5 * (1.0 / d - r * r / (d * d)), by_r = r / d;
  Eigen::VectorXd of_d = -2.0 * cross_slopes * c, of_r = -(cross_slopes * alpha);
  of_d(0) += 1.0 + c.squaredNorm();
  of_r(0) += c.dot(alpha);
  for (int a = 0; a < m; ++a) {
    for (int b = 0; b < a; ++b) {
      of_d += 2.0 * c(a) * c(b) * slopes.col(a * m + b);
      of_r += (c(a) * alpha(b) + c(b) * alpha(a)) * slopes.col(a * m + b);
    }
  }
  for (int p = 0; p < parameters; ++p) d_theta[p] += by_d * of_d(p) + by_r * of_r(p);
  d_noise += by_d * (1.0 + c.squaredNorm()) + by_r * c.dot(alpha);
  return 0.5 * (std::log(2.0 * std::numbers::pi * d) + r * r / d);
}

}  // namespace ick
