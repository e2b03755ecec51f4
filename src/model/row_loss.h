#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

// What a row costs and how that changes with the function, without tensors. The same formulas as in likelihood.h and
// Trainer::loss.
namespace ick {

inline constexpr double kStudentDegrees = 4.0;  // of Family::student

enum class RowLossKind { square, absolute, huber, gaussian, student, poisson, logistic, softmax };

inline constexpr double kHalfLogTwoPi = 0.91893853320467274178;

// Costs a row of target y and functions f (C), and sets slope (C) = d cost / df. `log_scale` is log s^2 of gaussian and
// student; the derivative in it is added to d_log_scale.
inline double row_loss(RowLossKind kind, const double* f, int outputs, double y, double log_scale, double* slope,
                       double& d_log_scale) {
  const double r = f[0] - y;
  switch (kind) {
    case RowLossKind::square:
      slope[0] = 2.0 * r;
      return r * r;
    case RowLossKind::absolute:
      slope[0] = r > 0.0 ? 1.0 : r < 0.0 ? -1.0 : 0.0;
      return std::abs(r);
    case RowLossKind::huber:
      slope[0] = std::clamp(r, -1.0, 1.0);
      return std::abs(r) < 1.0 ? 0.5 * r * r : std::abs(r) - 0.5;
    case RowLossKind::gaussian: {  // -log N(r | 0, s^2)
      const double precision = std::exp(-log_scale);
      slope[0] = r * precision;
      d_log_scale += 0.5 - 0.5 * r * r * precision;
      return kHalfLogTwoPi + 0.5 * log_scale + 0.5 * r * r * precision;
    }
    case RowLossKind::student: {
      constexpr double nu = kStudentDegrees;
      static const double log_c =
          std::lgamma(0.5 * (nu + 1.0)) - std::lgamma(0.5 * nu) - 0.5 * std::log(nu * std::numbers::pi);
      const double relative = r * r * std::exp(-log_scale) / nu;
      const double weight = 0.5 * (nu + 1.0) / (1.0 + relative);
      slope[0] = weight * 2.0 * r * std::exp(-log_scale) / nu;
      d_log_scale += 0.5 - weight * relative;
      return 0.5 * log_scale - log_c + 0.5 * (nu + 1.0) * std::log1p(relative);
    }
    case RowLossKind::poisson: {
      const double rate = std::exp(f[0]);
      slope[0] = rate - y;
      return rate - y * f[0] + std::lgamma(y + 1.0);
    }
    case RowLossKind::logistic: {  // log(1 + e^-sf), s = +-1
      const double sign = 2.0 * y - 1.0, z = -sign * f[0];
      const double size = std::exp(-std::abs(z)), p = (z > 0.0 ? 1.0 : size) / (1.0 + size);
      slope[0] = -sign * p;
      return std::max(z, 0.0) + std::log1p(size);
    }
    case RowLossKind::softmax: {
      const double top = *std::max_element(f, f + outputs);
      double sum = 0.0;
      for (int c = 0; c < outputs; ++c) sum += slope[c] = std::exp(f[c] - top);
      for (int c = 0; c < outputs; ++c) slope[c] /= sum;
      const int seen = static_cast<int>(y);
      slope[seen] -= 1.0;
      return std::log(sum) + top - f[seen];
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ick
