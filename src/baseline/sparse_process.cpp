#include "baseline/sparse_process.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "model/lower_factor.h"

namespace ick {

namespace {

// Rows of a block of a product: blocks are shared out among workers and skip what is zero in a triangle.
constexpr std::int64_t kBlock = 64;

template <class Run>
void blocks_of(std::int64_t rows, const Run& run) {
  const auto blocks = static_cast<int>((rows + kBlock - 1) / kBlock);
  parallel(blocks, [&](int task, int) {
    const std::int64_t first = (blocks - 1 - task) * kBlock;  // the longest of a lower triangle begin
    run(first, std::min(kBlock, rows - first));
  });
}

void multiply(at::Tensor to, const at::Tensor& a, const at::Tensor& b) { at::mm_out(to, a, b); }

// l b, l (p, p) lower
at::Tensor lower_times(const at::Tensor& l, const at::Tensor& b) {
  at::Tensor all = at::empty_like(b);
  blocks_of(l.size(0), [&](std::int64_t i, std::int64_t count) {
    multiply(all.narrow(0, i, count), l.narrow(0, i, count).narrow(1, 0, i + count), b.narrow(0, 0, i + count));
  });
  return all;
}

// l' b, l (p, p) lower
at::Tensor lower_transposed_times(const at::Tensor& l, const at::Tensor& b) {
  const std::int64_t p = l.size(0);
  at::Tensor all = at::empty({p, b.size(1)}, b.options());
  blocks_of(p, [&](std::int64_t i, std::int64_t count) {
    multiply(all.narrow(0, i, count), l.narrow(0, i, p - i).narrow(1, i, count).t(), b.narrow(0, i, p - i));
  });
  return all;
}

at::Tensor times(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor all = at::empty({a.size(0), b.size(1)}, b.options());
  blocks_of(a.size(0),
            [&](std::int64_t i, std::int64_t count) { multiply(all.narrow(0, i, count), a.narrow(0, i, count), b); });
  return all;
}

// The lower triangle of a b, in whole blocks; zero above.
at::Tensor lower_of_product(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor all = at::zeros({a.size(0), b.size(1)}, b.options());
  blocks_of(a.size(0), [&](std::int64_t i, std::int64_t count) {
    multiply(all.narrow(0, i, count).narrow(1, 0, i + count), a.narrow(0, i, count), b.narrow(1, 0, i + count));
  });
  return all;
}

at::Tensor both_triangles(const at::Tensor& lower) {  // of a symmetric matrix
  const at::Tensor below = lower.tril(-1);
  return below + below.t() + lower.diagonal().diag();
}

// l^-1 of a lower triangle: columns of a block are zero above it.
at::Tensor lower_inverse(const at::Tensor& l) {
  const std::int64_t p = l.size(0);
  at::Tensor all = at::zeros({p, p}, at::kDouble);
  blocks_of(p, [&](std::int64_t i, std::int64_t count) {
    const at::Tensor right = at::eye(p - i, count, at::kDouble);
    all.narrow(0, i, p - i)
        .narrow(1, i, count)
        .copy_(at::linalg_solve_triangular(l.narrow(0, i, p - i).narrow(1, i, p - i), right, false));
  });
  return all;
}

// S, m and log|S^-1| of q
struct OfNatural {
  at::Tensor covariance, mean;
  double log_precision;

  explicit OfNatural(const Variational& q) {
    const at::Tensor factor = lower_factor(q.precision);
    covariance = at::cholesky_inverse(factor);
    mean = covariance.mv(q.right);
    log_precision = 2.0 * factor.diagonal().log().sum().item<double>();
  }
};

at::Tensor without_identity(const at::Tensor& covariance) {  // I - S
  at::Tensor rest = -covariance;
  rest.diagonal().add_(1.0);
  return rest;
}

}  // namespace

Variational Variational::prior(std::int64_t points) {
  return {at::eye(points, at::kDouble), at::zeros({points}, at::kDouble)};
}

SparseProcess::SparseProcess(ProcessKernel kernel, at::Tensor points, double log_noise, at::ScalarType products,
                             double jitter)
    : kernel_(std::move(kernel)),
      points_(std::move(points)),
      log_noise_(log_noise),
      products_(products),
      jitter_(jitter) {
  constexpr double kMost = 1e-2;
  const at::Tensor k = kernel_.values(points_, points_, at::kDouble);
  const double size = std::max(1e-100, k.diagonal().mean().item<double>());  // a kernel may be zero everywhere
  for (; jitter_ <= kMost; jitter_ *= 10.0) {
    at::Tensor with_jitter = k.clone();
    with_jitter.diagonal().add_(jitter_ * size);
    const auto [factor, info] = at::linalg_cholesky_ex(with_jitter);
    if (info.item<int>() != 0 || !factor.diagonal().isfinite().all().item<bool>()) continue;
    inverse_ = lower_inverse(factor);
    inverse_short_ = inverse_.to(products_);
    return;
  }
  throw NumericError("the covariance of the inducing points has no Cholesky factor; bound the kernel's parameters");
}

at::Tensor SparseProcess::precision_of(const SparseBatch& batch) const {
  return batch.weights / (std::exp(log_noise_) + batch.error);
}

SparseProcess::Seen SparseProcess::see(const SparseBatch& batch) const {
  Seen seen;
  seen.projected = lower_times(inverse_short_, kernel_.values(points_, batch.inputs, products_));
  const at::Tensor beta = precision_of(batch);
  const at::Tensor scaled = seen.projected * beta.sqrt().to(products_);  // (p, B)
  seen.gram = both_triangles(lower_of_product(scaled, scaled.t())).to(at::kDouble);
  seen.right = seen.projected.mv((beta * batch.y).to(products_)).to(at::kDouble);
  return seen;
}

void SparseProcess::follow(const Seen& seen, double scale, double rate, Variational& q) {
  q.precision = (1.0 - rate) * q.precision + (rate * scale) * seen.gram;
  q.precision.diagonal().add_(rate);
  q.right = (1.0 - rate) * q.right + (rate * scale) * seen.right;
}

// With G = A beta A' and r = y - A'm:
//   d/dK_zx   = scale L^-T [m (beta r)' + (I - S) A beta]
//   E         = scale [m (A beta r)' + (I - S) G]
//   d/dK_zz   = -L^-T sym(low(E)) L^-1,   low: the lower triangle with half of the diagonal (Murray 2016)
//   d/dk_bb   = -scale beta_b / 2
//   d/dlog s^2 = scale sum_b [beta_b (r_b^2 + k_bb - a_b'(I - S) a_b) - 1] s^2 / (s^2 + e_b) / 2
double SparseProcess::bound(const Variational& q, const SparseBatch& batch, const Seen& seen, double scale,
                            Slopes* slopes) const {
  const OfNatural moments(q);
  const at::Tensor beta = precision_of(batch), rest = without_identity(moments.covariance);
  const at::Tensor residual = batch.y - seen.projected.t().mv(moments.mean.to(products_)).to(at::kDouble);
  const at::Tensor diagonal = kernel_.diagonal(batch.inputs);
  const double explained = (rest * seen.gram).sum().item<double>();  // sum_b beta_b a_b'(I - S) a_b
  const double squares = (beta * (residual.square() + diagonal)).sum().item<double>() - explained;
  const double likelihood = -0.5 * ((2.0 * std::numbers::pi / beta).log().sum().item<double>() + squares);
  const double divergence =
      0.5 * (moments.covariance.diagonal().sum().item<double>() + moments.mean.square().sum().item<double>() -
             static_cast<double>(points_.size(0)) + moments.log_precision);
  if (slopes == nullptr) return scale * likelihood - divergence;

  const at::Tensor mean = moments.mean.to(products_).unsqueeze(1), rest_short = rest.to(products_);
  const at::Tensor back = lower_transposed_times(inverse_short_, at::cat({rest_short, mean}, 1));  // (p, p + 1)
  const at::Tensor weighted =
      at::cat({seen.projected * (scale * beta).to(products_), (scale * beta * residual).to(products_).unsqueeze(0)});
  const at::Tensor by_rows = times(back, weighted);                   // d/dK_zx (p, B)
  const at::Tensor beside = seen.right - seen.gram.mv(moments.mean);  // A beta r
  const at::Tensor e =
      lower_of_product(rest_short, seen.gram.to(products_)) + mean.mm(beside.to(products_).unsqueeze(0));
  at::Tensor low = e.tril(-1) + 0.5 * e.diagonal().diag();
  low = (-0.5 * scale) * (low + low.t());
  const at::Tensor half = lower_transposed_times(inverse_short_, low);  // L^-T sym(low(E)) (p, p)
  at::Tensor by_points = lower_transposed_times(inverse_short_, half.t().contiguous());
  by_points = 0.5 * (by_points + by_points.t());
  // the jitter is a share of the mean diagonal
  by_points.diagonal().add_(by_points.diagonal().sum() * (jitter_ / static_cast<double>(points_.size(0))));

  ProcessKernel::Slopes of_rows = kernel_.gradient(points_, batch.inputs, by_rows);
  const ProcessKernel::Slopes of_points = kernel_.gradient(points_, points_, by_points);
  const std::vector<double> of_diagonal = kernel_.diagonal_gradient(batch.inputs, -0.5 * scale * beta);
  for (std::size_t i = 0; i < of_rows.theta.size(); ++i) of_rows.theta[i] += of_points.theta[i] + of_diagonal[i];
  slopes->theta = std::move(of_rows.theta);
  slopes->points = of_rows.points + 2.0 * of_points.points;  // both sides of K_zz move
  slopes->between = by_rows;
  const double noise = std::exp(log_noise_);
  if (batch.error.count_nonzero().item<std::int64_t>() == 0) {
    slopes->log_noise = 0.5 * scale * (squares - static_cast<double>(beta.size(0)));
  } else {
    const at::Tensor reduced = (times(rest_short, seen.projected) * seen.projected).sum(0).to(at::kDouble);
    const at::Tensor each = beta * (residual.square() + diagonal - reduced) - 1.0;
    slopes->log_noise = 0.5 * scale * (each * (noise / (noise + batch.error))).sum().item<double>();
  }
  return scale * likelihood - divergence;
}

at::Tensor SparseProcess::row_slopes(const SparseBatch& batch, const Slopes& slopes) const {
  return kernel_.gradient(batch.inputs, points_, slopes.between.t().contiguous()).points;
}

at::Tensor SparseProcess::back(const at::Tensor& of) const { return lower_transposed_times(inverse_, of); }

SparsePrediction prediction_of(const SparseProcess& process, const Variational& q) {
  const OfNatural moments(q);
  return {process.kernel(), process.points(), process.back(moments.mean.unsqueeze(1)).squeeze(1).contiguous(),
          process.back(process.back(without_identity(moments.covariance)).t().contiguous()).contiguous()};
}

FunctionMoments SparsePrediction::at(const at::Tensor& inputs) const {
  constexpr std::int64_t kRows = 4096;
  FunctionMoments all{at::empty({inputs.size(0)}, at::kDouble), at::empty({inputs.size(0)}, at::kDouble)};
  for (std::int64_t first = 0; first < inputs.size(0); first += kRows) {
    const std::int64_t count = std::min(kRows, inputs.size(0) - first);
    const at::Tensor some = inputs.narrow(0, first, count);
    const at::Tensor k = kernel.values(points, some, at::kDouble);  // (p, count)
    all.mean.narrow(0, first, count).copy_(k.t().mv(alpha));
    all.variance.narrow(0, first, count)
        .copy_((kernel.diagonal(some) - (times(reduction, k) * k).sum(0)).clamp_min(0.0));
  }
  return all;
}

}  // namespace ick
