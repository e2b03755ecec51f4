#include "train/fused_evidence.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "ick/base/parallel.h"

namespace ick {

namespace {

// Rows of a block: some ten of them for four hundred rows, few enough to use the halves that are alike, large enough
// for products of matrices.
constexpr int kRowsOfBlock = 48;
static_assert(kRowsOfBlock % kLaneWidth == 0);

using Matrix = Eigen::MatrixXd;  // column after column; of symmetric ones the lower triangle counts
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The lower factor of C, with a little more on the diagonal if it needs it, as lower_factor() has it: this much of the
// mean. Less than zero when all fails.
double factorise(const Matrix& c, Matrix& factor) {
  double jitter = 0.0;
  for (int step = 0; step < 4; ++step) {
    factor = c;
    factor.diagonal().array() += jitter * c.diagonal().mean();
    const bool found = Eigen::LLT<Eigen::Ref<Matrix>>(factor).info() == Eigen::Success;
    if (found && factor.diagonal().allFinite()) return jitter;
    jitter = jitter == 0.0 ? 1e-10 : 100.0 * jitter;
  }
  return -1.0;
}

}  // namespace

struct FusedEvidence::Block {
  int first;  // row
  int count;  // of points
  int rest;   // rows from `first` on
  int width;  // the same in whole lanes
};

FusedEvidence::FusedEvidence(std::vector<FusedTerm> terms, int parameters, double share, const std::vector<double>& y,
                             int rows)
    : terms_(std::move(terms)),
      parameters_(parameters),
      share_(share),
      rows_(rows),
      columns_(static_cast<int>(y.size()) / rows),
      y_(y),
      lines_(terms_.size()) {
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const int inputs = terms_[t].inputs;
    for (int b = 0; b < blocks(); ++b) {
      const Block at = block(b);
      std::vector<double>& lines = lines_[t].emplace_back(static_cast<std::size_t>(inputs) * at.width);
      for (int d = 0; d < inputs; ++d) {
        for (int j = 0; j < at.width; ++j) {
          lines[d * at.width + j] = terms_[t].x[std::min(at.first + j, rows - 1) * inputs + d];
        }
      }
    }
  }
}

int FusedEvidence::blocks() const { return (rows_ + kRowsOfBlock - 1) / kRowsOfBlock; }

FusedEvidence::Block FusedEvidence::block(int number) const {
  const int first = number * kRowsOfBlock, rest = rows_ - first;
  return {first, std::min(kRowsOfBlock, rest), rest, whole_lanes(rest)};
}

FusedPoints FusedEvidence::points(const FusedTerm& term, const Block& at) const {
  FusedPoints points;
  points.z = term.x.data() + static_cast<std::size_t>(at.first) * term.inputs;
  points.points = at.count;
  points.inputs = term.inputs;
  return points;
}

FusedRows FusedEvidence::lines(std::size_t term, const Block& at) const {
  return {lines_[term][at.first / kRowsOfBlock].data(), at.width};
}

std::optional<FusedEvidence::Value> FusedEvidence::operator()(const double* theta, double log_noise) const {
  const int n = rows_;
  const double noise = std::exp(log_noise);
  Matrix c(n, n);
  parallel(blocks(), [&](int task, int) {
    const Block at = block(task);
    RowMajor k(at.count, at.width), sum = RowMajor::Zero(at.count, at.width);
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      terms_[t].product.values(theta, points(terms_[t], at), lines(t, at), k.data());
      sum += k;
    }
    c.block(at.first, at.first, at.rest, at.count) = share_ * sum.leftCols(at.rest).transpose();
  });
  c.diagonal().array() += noise;
  Matrix factor;
  const double jitter = factorise(c, factor);
  if (jitter < 0.0) return std::nullopt;

  Matrix a = Eigen::Map<const RowMajor>(y_.data(), n, columns_);
  factor.triangularView<Eigen::Lower>().solveInPlace(a);
  Value value;
  value.cost = 0.5 * std::log(2.0 * std::numbers::pi) +
               (factor.diagonal().array().log().sum() + 0.5 * a.squaredNorm() / columns_) / n;
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(a);

  // C^-1 = L^-T L^-1. Columns of L^-1 are zero above the diagonal.
  Matrix inverse_factor(n, n);
  parallel(blocks(), [&](int task, int) {
    const Block at = block(task);
    auto columns = inverse_factor.block(at.first, at.first, at.rest, at.count);
    columns.setIdentity();
    factor.bottomRightCorner(at.rest, at.rest).triangularView<Eigen::Lower>().solveInPlace(columns);
  });

  // Each block: W = d/dC, through the kernels to their parameters. Pairs with j > i stand for two.
  std::vector<std::vector<double>> d_theta(blocks(), std::vector<double>(parameters_));
  std::vector<double> traces(blocks());
  const auto weights = [&](const Block& at) {  // (count, width): of rows from `first` on, zero for j < i
    RowMajor w = RowMajor::Zero(at.count, at.width);
    for (int first = at.first; first < n; first += kRowsOfBlock) {
      const Block other = block(first / kRowsOfBlock);
      w.middleCols(first - at.first, other.count).noalias() =
          inverse_factor.block(first, at.first, other.rest, at.count).transpose() *
          inverse_factor.block(first, first, other.rest, other.count);
    }
    w.leftCols(at.rest).noalias() -= a.middleRows(at.first, at.count) * a.bottomRows(at.rest).transpose() / columns_;
    w *= 1.0 / n;
    for (int i = 0; i < at.count; ++i) {
      w.row(i).head(i).setZero();
      w(i, i) *= 0.5;
    }
    return w;
  };
  std::vector<RowMajor> w(blocks());
  parallel(blocks(), [&](int task, int) {
    w[task] = weights(block(task));
    traces[task] = w[task].diagonal().sum();
  });
  double trace = 0.0;
  for (const double each : traces) trace += each;
  value.d_log_noise = noise * trace * (1.0 + jitter);
  parallel(blocks(), [&](int task, int) {
    const Block at = block(task);
    w[task].diagonal().array() += jitter * trace / n;
    w[task] *= share_;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      terms_[t].product.gradient(theta, points(terms_[t], at), lines(t, at), w[task].data(), d_theta[task].data(),
                                 nullptr);
    }
  });
  value.d_theta.assign(parameters_, 0.0);
  for (const std::vector<double>& part : d_theta) {
    for (int i = 0; i < parameters_; ++i) value.d_theta[i] += part[i];
  }
  return value;
}

}  // namespace ick
