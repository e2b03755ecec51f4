#include "model/likelihood.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "ick/base/error.h"

namespace ick {

namespace {

// log Phi(f), without the underflow of Phi at -6 in float32
at::Tensor log_normal_cdf(const at::Tensor& f) { return at::special_log_ndtr(f); }

}  // namespace

at::Tensor surprise(Family family, Link link, const at::Tensor& f, const at::Tensor& y) {
  switch (family) {
    case Family::poisson:
      return f.exp() - y.to(f.scalar_type()) * f + at::lgamma(y + 1.0).to(f.scalar_type());
    case Family::bernoulli: {
      const at::Tensor sign = 2.0 * y.to(f.scalar_type()) - 1.0;
      return link == Link::logit ? at::softplus(-sign * f) : -log_normal_cdf(sign * f);
    }
    case Family::categorical: {
      const at::Tensor log_p = at::log_softmax(f, 2);  // (E, B, C)
      const at::Tensor code = y.to(at::kLong).expand({f.size(0), f.size(1)}).unsqueeze(2);
      return -log_p.gather(2, code).squeeze(2);
    }
    case Family::gaussian:
    case Family::student:
      break;
  }
  throw UsageError("this family has a scale of its own");
}

// -log c + log s + (nu + 1) / 2 log(1 + (r / s)^2 / nu),   c = Gamma((nu + 1) / 2) / (Gamma(nu / 2) sqrt(nu pi))
at::Tensor student_surprise(const at::Tensor& residual, const at::Tensor& log_scale) {
  constexpr double nu = kStudentDegrees;
  const double log_c = std::lgamma(0.5 * (nu + 1.0)) - std::lgamma(0.5 * nu) - 0.5 * std::log(nu * std::numbers::pi);
  const at::Tensor scale = log_scale.unsqueeze(1);  // log s^2
  const at::Tensor relative = residual.to(at::kDouble).square() * (-scale).exp();
  return 0.5 * scale - log_c + 0.5 * (nu + 1.0) * at::log1p(relative / nu);
}

at::Tensor probabilities(Family family, Link link, const at::Tensor& f, double temperature) {
  const at::Tensor cooled = f.to(at::kDouble) / temperature;
  if (family == Family::categorical) return at::softmax(cooled, 2);
  const at::Tensor both = at::stack({-cooled, cooled}, 2);  // one less a probability would lose the small ones
  return link == Link::logit ? at::sigmoid(both) : at::special_ndtr(both);
}

}  // namespace ick
