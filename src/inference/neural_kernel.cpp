#include "ick/inference/neural_kernel.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "net/mlp.h"

namespace ick {

namespace {

using std::numbers::pi;

constexpr double kTiny = std::numeric_limits<double>::min();  // stands for the size of a row of zeros

// K(x, y) (n, m), K(x, x) (n), K(y, y) (m)
struct Covariance {
  at::Tensor cross, x, y;

  at::Tensor sizes() const { return at::outer(x, y).sqrt(); }
  at::Tensor correlation() const { return (cross / sizes().clamp_min(kTiny)).clamp(-1.0, 1.0); }
};

// C and D of one layer, (n, m)
struct Expectations {
  at::Tensor value, slope;
};

// Arc-cosine kernels of degree one and zero, with cos t = rho:
//   |u| |v| (sin t + (pi - t) cos t) / 2 pi,   (pi - t) / 2 pi
// Near t = 0 the arc cosine would lose half of its digits, the quotient of sine and cosine does not.
Expectations relu_expectations(const Covariance& k) {
  const at::Tensor rho = k.correlation(), sine = ((1.0 - rho) * (1.0 + rho)).sqrt();
  const at::Tensor rest = pi - at::atan2(sine, rho);
  return {k.sizes() * (sine + rest * rho) / (2.0 * pi), rest / (2.0 * pi)};
}

//   2 / pi arcsin(2 k / sqrt((1 + 2 q)(1 + 2 q'))),   4 / pi / sqrt((1 + 2 q)(1 + 2 q') - 4 k^2)
Expectations erf_expectations(const Covariance& k) {
  const at::Tensor excess = (at::outer(k.x, k.y) - k.cross.square()).clamp_min(0.0);
  const at::Tensor root = (1.0 + 2.0 * (k.x.unsqueeze(1) + k.y) + 4.0 * excess).sqrt();
  return {at::atan2(2.0 * k.cross, root) * (2.0 / pi), 4.0 / pi / root};
}

// The other activations by Mehler's formula, with normalised Hermite polynomials h_j:
//   E[f(u) f(v)] = sum_j a_j(q) a_j(q') rho^j,   a_j(q) = E[f(sqrt(q) z) h_j(z)],   sum_j a_j(q)^2 = E[f(u)^2]
// The last term is what is left of E[f^2]; so the diagonal is exact, and the matrix positive semi-definite.
// Terms are added until a share of kLeft is left in every row; kMostTerms leave no more than that for q <= 4 (3.5e-9
// for the slowest, the slope of tanh; terms double with q), and at q = 10 1e-5 for the slope of tanh, 1e-7 else.
constexpr std::int64_t kMostTerms = 256;
constexpr double kLeft = 4e-9;

using Function = at::Tensor (*)(const at::Tensor&);

// a_j(q), (n) -> (n, J), of which the last is what is left, J as large as needed. By the trapezoidal rule: h_j(z) times
// the root of the density is bounded and has frequency sqrt(j) or less, so that the integrand is below 1e-18 beyond 13.
at::Tensor hermite_coefficients(Function f, const at::Tensor& q) {
  const at::Tensor z = at::linspace(-13.0, 13.0, 521, at::kDouble);
  const at::Tensor density = at::softmax(-0.5 * z.square(), 0);
  std::vector<at::Tensor> h = {density, z * density};
  for (std::int64_t j = 1; j + 1 < kMostTerms; ++j) {
    const auto i = static_cast<double>(j);
    h.push_back((z * h[j] - std::sqrt(i) * h[j - 1]) / std::sqrt(i + 1.0));
  }
  const at::Tensor basis = at::stack(h, 1);  // (Z, J)

  constexpr std::int64_t kBlock = 4096;
  std::vector<at::Tensor> coefficients, squares;
  for (const at::Tensor& block : q.split(kBlock)) {
    const at::Tensor values = f(block.sqrt().unsqueeze(1) * z);  // (n, Z)
    coefficients.push_back(values.matmul(basis));
    squares.push_back(values.square().matmul(density));
  }
  const at::Tensor a = at::cat(coefficients), total = at::cat(squares).unsqueeze(1);
  const at::Tensor left = (total - a.square().cumsum(1)).clamp_min(0.0);  // after term j
  const std::int64_t needed = (left > kLeft * total).any(0).sum().item<std::int64_t>();
  const std::int64_t last = std::clamp<std::int64_t>(needed, 1, kMostTerms - 1);
  return at::cat({a.narrow(1, 0, last), left.narrow(1, last - 1, 1).sqrt()}, 1);
}

// sum_j a_j(q) a_j(q') rho^j by Horner's rule, in blocks of rows that stay in the cache.
at::Tensor series(Function f, const Covariance& k, const at::Tensor& rho) {
  const std::int64_t n = rho.size(0), m = rho.size(1);
  const at::Tensor both = hermite_coefficients(f, at::cat({k.x, k.y})).t().contiguous();  // (J, n + m)
  const at::Tensor a = both.narrow(1, 0, n), b = both.narrow(1, n, m);
  const std::int64_t rows = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, m));
  const at::Tensor total = at::zeros_like(rho);
  for (std::int64_t first = 0; first < n; first += rows) {
    const std::int64_t count = std::min(rows, n - first);
    const at::Tensor block = rho.narrow(0, first, count);
    at::Tensor sum = total.narrow(0, first, count);
    for (std::int64_t j = both.size(0) - 1; j >= 0; --j) sum.mul_(block).addr_(a[j].narrow(0, first, count), b[j]);
  }
  return total;
}

Expectations expectations(const Activation& phi, const Covariance& k) {
  if (phi.name == "relu") return relu_expectations(k);
  if (phi.name == "erf") return erf_expectations(k);
  const at::Tensor rho = k.correlation();
  return {series(phi.value, k, rho), series(phi.slope, k, rho)};
}

const Activation& activation_of(const DensePrior& prior) {
  const Activation* found = find_activation(prior.activation);
  if (!found) throw UsageError("no kernel is known of networks with activation \"" + prior.activation + "\"");
  if (prior.layers.empty()) throw UsageError("a network without a layer has no kernel; give it one for the output");
  return *found;
}

at::Tensor rows_of(const at::Tensor& x) {
  if (x.dim() != 2 || x.size(1) < 1) throw UsageError("inputs of a neural kernel must be rows of one column or more");
  return x.detach().to(at::kDouble);
}

// The variance of units over their sd: one, or zero for a row of zeros.
at::Tensor normed(const at::Tensor& q) { return q / q.clamp_min(kTiny); }

// Products of matrices round by where an element stands.
at::Tensor symmetric(const at::Tensor& k) { return 0.5 * (k + k.t()); }

}  // namespace

NeuralKernels neural_kernels(const DensePrior& prior, const at::Tensor& x, const at::Tensor& y) {
  const Activation& phi = activation_of(prior);
  const at::Tensor u = rows_of(x), v = rows_of(y);
  if (u.size(1) != v.size(1)) {
    throw UsageError("a neural kernel is of rows with the same columns, but one has " + std::to_string(u.size(1)) +
                     " and the other " + std::to_string(v.size(1)));
  }
  const at::NoGradGuard no_gradient;
  const bool same = at::equal(u, v);
  Covariance k{u.matmul(v.t()) / static_cast<double>(u.size(1)), u.square().mean(1), v.square().mean(1)};
  if (same) k.cross = symmetric(k.cross);
  at::Tensor ntk, slope;
  for (std::size_t l = 0;; ++l) {
    const auto [weight, bias] = prior.layers[l];
    k = {weight * k.cross + bias, weight * k.x + bias, weight * k.y + bias};
    if (same) k.cross.diagonal().copy_(k.x);  // correlation one without a rounding error, whose root would show in D
    ntk = l == 0 ? k.cross : k.cross + weight * ntk * slope;
    if (l + 1 == prior.layers.size()) break;
    if (prior.layer_norm) k = {k.correlation(), normed(k.x), normed(k.y)};
    Expectations next = expectations(phi, k);
    if (same) next = {symmetric(next.value), symmetric(next.slope)};
    k = {next.value, mean_square(phi, k.x), mean_square(phi, k.y)};
    slope = next.slope;
  }
  return {k.cross, prior.layer_norm ? at::Tensor() : ntk};
}

at::Tensor nngp_diagonal(const DensePrior& prior, const at::Tensor& x) {
  const Activation& phi = activation_of(prior);
  const at::NoGradGuard no_gradient;
  at::Tensor q = rows_of(x).square().mean(1);
  for (std::size_t l = 0;; ++l) {
    q = prior.layers[l].weight * q + prior.layers[l].bias;
    if (l + 1 == prior.layers.size()) return q;
    q = mean_square(phi, prior.layer_norm ? normed(q) : q);
  }
}

}  // namespace ick
