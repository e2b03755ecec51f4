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
using Square = Eigen::Map<const Matrix>;

void add(const std::vector<double>& from, std::vector<double>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

double jitter_of_step(int step) { return 1e-8 * std::pow(10.0, step); }

FusedNystrom::FusedNystrom(const FusedProduct& product, const double* theta, const FusedPoints& points)
    : product_(product), theta_(theta), points_(points) {
  const int p = points.points, width = whole_lanes(p);
  lines_.resize(static_cast<std::size_t>(points.inputs) * width);
  for (int d = 0; d < points.inputs; ++d) {
    for (int i = 0; i < width; ++i) lines_[d * width + i] = points.z[std::min(i, p - 1) * points.inputs + d];
  }
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

void FusedNystrom::features(const FusedRows& rows, double* z) const {
  product_.values(theta_, points_, rows, z);
  solve_forward(factor_.data(), reciprocal_.data(), points_.points, z, rows.width);
}

// With A = L^-T dz:  dk(Z, x) = A,  dL = -lower(A z^T).
void FusedNystrom::backward(const FusedRows& rows, const double* z, double* g, Sums& sums) const {
  solve_backward(factor_.data(), reciprocal_.data(), points_.points, g, rows.width);
  subtract_lower_product(g, z, points_.points, rows.width, sums.factor.data());
  product_.gradient(theta_, points_, rows, g, sums.theta.data(), sums.points.empty() ? nullptr : sums.points.data());
}

FusedNystrom::Sums FusedNystrom::nothing(std::size_t parameters, bool with_points) const {
  const auto p = static_cast<std::size_t>(points_.points);
  return {std::vector<double>(parameters), std::vector<double>(with_points ? p * points_.inputs : 0),
          std::vector<double>(p * p)};
}

void FusedNystrom::Sums::operator+=(const Sums& other) {
  add(other.theta, theta);
  add(other.points, points);
  add(other.factor, factor);
}

// Cholesky (Murray 2016): dK = (S + S^T) / 2, S = L^-T phi(L^T dL) L^-1, phi keeps the lower triangle and half the
// diagonal.
void FusedNystrom::backward_factor(Sums& sums) const {
  const int p = points_.points, width = whole_lanes(p);
  const Square factor(factor_.data(), p, p);
  const Matrix d_factor = Square(sums.factor.data(), p, p).triangularView<Eigen::Lower>();
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
  const double d_period = points_.follows >= 0 ? sums.theta[points_.follows] : 0.0;
  std::vector<double> d_first(sums.points.size(), 0.0);
  product_.gradient(theta_, points_, {lines_.data(), width}, buffer.data(), sums.theta.data(),
                    d_first.empty() ? nullptr : d_first.data());
  if (points_.follows >= 0) sums.theta[points_.follows] = d_period;
  for (std::size_t i = 0; i < d_first.size(); ++i) sums.points[i] += 2.0 * d_first[i];  // each stands on both sides
}

}  // namespace ick
