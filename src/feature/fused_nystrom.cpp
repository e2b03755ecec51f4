#include "feature/fused_nystrom.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "feature/fused_solve.h"

namespace ick {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Block = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
using Square = Eigen::Map<Matrix>;

}  // namespace

double jitter_of_step(int step) { return 1e-8 * std::pow(10.0, step); }

FusedNystrom::FusedNystrom(FusedProduct& product, const double* theta, const FusedPoints& points)
    : product_(product), theta_(theta), points_(points) {
  const int p = points.points, width = whole_lanes(p);
  lines_.resize(static_cast<std::size_t>(points.inputs) * width);
  for (int d = 0; d < points.inputs; ++d) {
    for (int i = 0; i < width; ++i) lines_[d * width + i] = points.z[std::min(i, p - 1) * points.inputs + d];
  }
  d_factor_.assign(static_cast<std::size_t>(p) * p, 0.0);
}

int FusedNystrom::factorise() {
  const int p = points_.points, width = whole_lanes(p);
  std::vector<double> k(static_cast<std::size_t>(p) * width);
  product_.values(theta_, points_, {lines_.data(), width}, k.data());
  const Block covariance(k.data(), p, p, Eigen::OuterStride<>(width));
  if (!covariance.allFinite()) return -1;
  const double scale = std::max(covariance.diagonal().mean(), kSmallestDiagonal);
  Matrix factor(p, p);
  for (int step = 0; step < kJitterSteps; ++step) {
    factor = covariance;
    factor.diagonal().array() += jitter_of_step(step) * scale;
    if (Eigen::LLT<Eigen::Ref<Matrix>>(factor).info() == Eigen::Success) {
      factor_.assign(factor.data(), factor.data() + factor.size());
      reciprocal_.resize(p);
      for (int i = 0; i < p; ++i) reciprocal_[i] = 1.0 / factor(i, i);
      return step_ = step;
    }
  }
  return -1;
}

void FusedNystrom::features(const FusedRows& rows, double* z) {
  product_.values(theta_, points_, rows, z);
  solve_forward(factor_.data(), reciprocal_.data(), points_.points, z, rows.width);
}

// With A = L^-T dz:  dk(Z, x) = A,  dL = -lower(A z^T).
void FusedNystrom::backward(const FusedRows& rows, const double* z, double* g, double* d_theta, double* d_z) {
  solve_backward(factor_.data(), reciprocal_.data(), points_.points, g, rows.width);
  subtract_lower_product(g, z, points_.points, rows.width, d_factor_.data());
  product_.gradient(theta_, points_, rows, g, d_theta, d_z);
}

// Cholesky (Murray 2016): dK = (S + S^T) / 2, S = L^-T phi(L^T dL) L^-1, phi keeps the lower triangle and half the
// diagonal.
void FusedNystrom::backward_factor(double* d_theta, double* d_z) {
  const int p = points_.points, width = whole_lanes(p);
  const Square factor(factor_.data(), p, p);
  const Matrix d_factor = Square(d_factor_.data(), p, p).triangularView<Eigen::Lower>();
  const Matrix inner = factor.transpose().triangularView<Eigen::Upper>() * d_factor;
  std::vector<double> buffer(static_cast<std::size_t>(p) * width, 0.0);
  Block s(buffer.data(), p, p, Eigen::OuterStride<>(width));
  s = inner.triangularView<Eigen::Lower>();
  s.diagonal() *= 0.5;
  solve_backward(factor_.data(), reciprocal_.data(), p, buffer.data(), width);
  s.transposeInPlace();
  solve_backward(factor_.data(), reciprocal_.data(), p, buffer.data(), width);
  const Matrix d_k = 0.5 * (s + s.transpose());
  s = d_k;
  s.diagonal().array() += jitter_of_step(step_) * d_k.trace() / p;  // the jitter follows the mean diagonal

  // Points at fixed fractions of a period keep their covariances when the period changes.
  const double d_period = points_.follows >= 0 ? d_theta[points_.follows] : 0.0;
  std::vector<double> d_first(d_z == nullptr ? 0 : static_cast<std::size_t>(p) * points_.inputs, 0.0);
  product_.gradient(theta_, points_, {lines_.data(), width}, buffer.data(), d_theta,
                    d_z == nullptr ? nullptr : d_first.data());
  if (points_.follows >= 0) d_theta[points_.follows] = d_period;
  std::fill(d_factor_.begin(), d_factor_.end(), 0.0);
  for (std::size_t i = 0; i < d_first.size(); ++i) d_z[i] += 2.0 * d_first[i];  // each point stands on both sides
}

}  // namespace ick
