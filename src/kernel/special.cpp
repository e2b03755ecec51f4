#include "kernel/special.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr double kNormalShape = 1e6;  // a gamma variable of larger shape is a cubed normal one to 1e-8

// x^a e^-x / Gamma(a)
double gamma_weight(double a, double x) { return std::exp(a * std::log(x) - x - std::lgamma(a)); }

}  // namespace

double lower_gamma(double a, double x) {
  if (x <= 0.0) return 0.0;
  if (x < a + 1.0) {  // series: x^a e^-x / Gamma(a + 1) sum_k x^k / ((a + 1) ... (a + k))
    double term = 1.0 / a, total = term;
    for (int k = 1; k < 100000 && term > total * 1e-17; ++k) total += (term *= x / (a + k));
    return total * gamma_weight(a, x);
  }
  // continued fraction of the upper tail, Lentz
  constexpr double kTiny = 1e-300;
  double b = x + 1.0 - a, c = 1.0 / kTiny, d = 1.0 / b, fraction = d;
  for (int k = 1; k < 100000; ++k) {
    const double an = -k * (k - a);
    b += 2.0;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1.0 / d;
    const double factor = d * c;
    fraction *= factor;
    if (std::abs(factor - 1.0) < 1e-16) break;
  }
  return 1.0 - fraction * gamma_weight(a, x);
}

double unit_gamma_quantile(double u, double shape) {
  // Wilson and Hilferty's cube of a normal, or the leading term of the series near zero, then bracketed Newton in log
  // x.
  const double third = 1.0 / (9.0 * shape);
  const double cube = 1.0 - third + normal_quantile(u) * std::sqrt(third);
  if (shape > kNormalShape) return std::pow(cube, 3.0);
  double log_x = cube > 0.1 ? std::log(shape) + 3.0 * std::log(cube) : (std::log(u) + std::lgamma(shape + 1.0)) / shape;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 200; ++i) {
    if (log_x < -700.0) return std::max(std::exp(log_x), std::numeric_limits<double>::min()) / shape;
    const double x = std::exp(log_x), miss = lower_gamma(shape, x) - u;
    (miss > 0.0 ? high : low) = log_x;
    // far out in a tail the density says nothing, and Newton would leave for good
    double next = log_x - std::clamp(miss / gamma_weight(shape, x), -4.0, 4.0);
    if (!(next > low && next < high)) {
      next = std::isinf(low) ? log_x - 1.0 : std::isinf(high) ? log_x + 1.0 : 0.5 * (low + high);
    }
    if (std::abs(next - log_x) < 1e-14) return std::exp(next) / shape;
    log_x = next;
  }
  return std::exp(log_x) / shape;
}

// P(shape, shape x) = u stays put:  dx/dshape = -x ((dP/dshape) / (dP/dlog x) + 1 / shape), the first by fourth-order
// differences of log P, which bends on the scale of the shape or, when that is large, of its root.
double unit_gamma_slope(double x, double shape) {
  if (shape > kNormalShape) return -(x - 1.0) / (2.0 * shape);  // x - 1 is normal with variance 1 / shape
  const double h = 2e-3 * std::min(shape, std::sqrt(shape));
  const auto log_p = [&](double steps) { return std::log(lower_gamma(shape + steps * h, shape * x)); };
  const double by_shape = (8.0 * (log_p(1.0) - log_p(-1.0)) - (log_p(2.0) - log_p(-2.0))) / (12.0 * h);
  const double slope = -x * (by_shape * lower_gamma(shape, shape * x) / gamma_weight(shape, shape * x) + 1.0 / shape);
  return std::isfinite(slope) ? slope : 0.0;
}

// Miller: the recurrence I_{j-1} = I_{j+1} + (2 j / k) I_j runs stably downwards from any start far enough up, and
// I_0 + 2 sum_j I_j = e^k sets the scale.
std::vector<double> scaled_bessel(double k, int count) {
  std::vector<double> bessel(count, 0.0);
  if (count == 0) return bessel;
  if (k < 1e-12) {  // I_0 = 1, I_1 = k / 2, the rest below 1e-24
    bessel[0] = 1.0;
    if (count > 1) bessel[1] = 0.5 * k;
    return bessel;
  }
  if (k > 1e8) {  // leading term for large k, relative error below 1 / (8 k) while j^2 << k
    for (int j = 0; j < count; ++j) bessel[j] = std::exp(-0.5 * j * j / k) / std::sqrt(2.0 * std::numbers::pi * k);
    return bessel;
  }
  const int top = count + 20 + static_cast<int>(8.0 * std::sqrt(k + count));
  double above = 0.0, here = 1e-280, total = 0.0;
  for (int j = top; j >= 0; --j) {
    if (j < count) bessel[j] = here;
    total += j == 0 ? here : 2.0 * here;
    const double below = above + 2.0 * j / k * here;
    above = here;
    here = below;
    if (here > 1e250) {
      here *= 1e-250, above *= 1e-250, total *= 1e-250;
      for (double& each : bessel) each *= 1e-250;
    }
  }
  for (double& each : bessel) each /= total;
  return bessel;
}

}  // namespace ick
