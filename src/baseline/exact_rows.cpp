#include "baseline/exact_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "model/lower_factor.h"

namespace ick {

namespace {

constexpr std::int64_t kRowsOfProduct = 256;

// a v by blocks of rows, on all workers
at::Tensor matrix_vector(const at::Tensor& a, const at::Tensor& v) {
  at::Tensor all = at::empty({a.size(0)}, at::kDouble);
  const auto blocks = static_cast<int>((a.size(0) + kRowsOfProduct - 1) / kRowsOfProduct);
  parallel(blocks, [&](int task, int) {
    const std::int64_t first = task * kRowsOfProduct, count = std::min(kRowsOfProduct, a.size(0) - first);
    at::Tensor to = all.narrow(0, first, count);
    at::mv_out(to, a.narrow(0, first, count), v);
  });
  return all;
}

// P^-1 of the header
class Preconditioner {
 public:
  Preconditioner(const at::Tensor& projected, const at::Tensor& noise) : a_(projected), noise_(noise) {
    at::Tensor precision = (a_ / noise_).matmul(a_.t());
    precision.diagonal().add_(1.0);
    precision_ = precision;
    factor_ = lower_factor(precision);
  }
  at::Tensor operator()(const at::Tensor& v) const {
    const at::Tensor scaled = v / noise_;
    const at::Tensor inner = at::cholesky_solve(matrix_vector(a_, scaled).unsqueeze(1), factor_).squeeze(1);
    return scaled - a_.t().mv(inner) / noise_;
  }
  const at::Tensor& precision() const { return precision_; }

 private:
  at::Tensor a_, noise_;  // (p, n), (n)
  at::Tensor precision_, factor_;
};

}  // namespace

DenseProcess::DenseProcess(ExactRows rows) : rows_(std::move(rows)) {
  at::Tensor c = rows_.kernel.values(rows_.inputs, rows_.inputs, at::kDouble);
  c.diagonal().add_(rows_.noise);
  factor_ = lower_factor(c);
}

at::Tensor DenseProcess::solve(const at::Tensor& y) const {
  return at::cholesky_solve(y.unsqueeze(1), factor_).squeeze(1);
}

double DenseProcess::log_likelihood(const at::Tensor& y) const {
  return -0.5 * (y.dot(solve(y)).item<double>() + 2.0 * factor_.diagonal().log().sum().item<double>() +
                 static_cast<double>(rows_.size()) * std::log(2.0 * std::numbers::pi));
}

at::Tensor DenseProcess::variance(const at::Tensor& inputs) const {
  constexpr std::int64_t kRows = 256;
  at::Tensor all = at::empty({inputs.size(0)}, at::kDouble);
  const auto blocks = static_cast<int>((inputs.size(0) + kRows - 1) / kRows);
  parallel(blocks, [&](int task, int) {
    const std::int64_t first = task * kRows, count = std::min(kRows, inputs.size(0) - first);
    const at::Tensor some = inputs.narrow(0, first, count);
    const at::Tensor v =
        at::linalg_solve_triangular(factor_, rows_.kernel.values(rows_.inputs, some, at::kDouble), false);
    all.narrow(0, first, count).copy_((rows_.kernel.diagonal(some) - v.square().sum(0)).clamp_min(0.0));
  });
  return all;
}

Solved solve_by_gradients(const ExactRows& rows, const at::Tensor& y, const SparseProcess& sparse, double tolerance,
                          const std::function<void()>& tick) {
  const SparseProcess::Seen seen = sparse.see({rows.inputs, y, at::ones_like(rows.noise), rows.noise});
  const Preconditioner precondition(seen.projected, rows.noise);
  tick();
  const at::Tensor k = rows.kernel.values(rows.inputs, rows.inputs, at::kDouble);  // (n, n)
  const auto times = [&](const at::Tensor& v) { return matrix_vector(k, v) + rows.noise * v; };
  const double size = std::max(y.norm().item<double>(), 1e-300);

  at::Tensor solution = precondition(y);
  at::Tensor residual = y - times(solution);
  at::Tensor direction = precondition(residual);
  double along = residual.dot(direction).item<double>();
  Solved found{solution, 0, residual.norm().item<double>() / size,
               prediction_of(sparse, {precondition.precision(), seen.right})};
  at::Tensor way = direction;
  while (found.residual > tolerance) {
    if (found.steps == kMostConjugateSteps) {
      throw NumericError("conjugate gradients have not come to an end in " + std::to_string(found.steps) +
                         " steps: the noise is too small for the kernel; state a larger noise");
    }
    tick();
    const at::Tensor moved = times(way);
    const double length = along / way.dot(moved).item<double>();
    solution = solution + length * way;
    residual = residual - length * moved;
    direction = precondition(residual);
    const double next = residual.dot(direction).item<double>();
    way = direction + (next / along) * way;
    along = next;
    found.residual = residual.norm().item<double>() / size;
    ++found.steps;
  }
  found.solution = solution;
  return found;
}

at::Tensor mean_of(const ExactRows& rows, const at::Tensor& solution, const at::Tensor& inputs) {
  constexpr std::int64_t kRows = 512;
  at::Tensor all = at::empty({inputs.size(0)}, at::kDouble);
  for (std::int64_t first = 0; first < inputs.size(0); first += kRows) {
    const std::int64_t count = std::min(kRows, inputs.size(0) - first);
    const at::Tensor k = rows.kernel.values(inputs.narrow(0, first, count), rows.inputs, at::kDouble);  // (count, n)
    all.narrow(0, first, count).copy_(k.mv(solution));
  }
  return all;
}

}  // namespace ick
