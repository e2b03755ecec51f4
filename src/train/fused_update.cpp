#include "train/fused_update.h"

#include <cmath>

namespace ick {

template <class Number>
void fused_adam(const AdamSettings& settings, std::int64_t count, const Number* __restrict gradient,
                Number* __restrict value, Number* __restrict first, Number* __restrict second) {
  constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;
  const auto n = static_cast<double>(settings.step);
  const auto shrink = static_cast<Number>(settings.decoupled ? 1.0 - settings.rate * settings.decay : 1.0);
  const auto coupled = static_cast<Number>(settings.decoupled ? 0.0 : settings.decay);
  const auto rate = static_cast<Number>(settings.rate / (1.0 - std::pow(kFirst, n)));
  const auto scale = static_cast<Number>(1.0 / std::sqrt(1.0 - std::pow(kSecond, n)));
  const auto b1 = static_cast<Number>(kFirst), b2 = static_cast<Number>(kSecond);
  const auto rest1 = static_cast<Number>(1.0 - kFirst), rest2 = static_cast<Number>(1.0 - kSecond);
  const auto epsilon = static_cast<Number>(kEpsilon);
  for (std::int64_t i = 0; i < count; ++i) {
    const Number g = gradient[i] + coupled * value[i];
    const Number m = b1 * first[i] + rest1 * g, v = b2 * second[i] + rest2 * g * g;
    first[i] = m;
    second[i] = v;
    value[i] = shrink * value[i] - rate * m / (std::sqrt(v) * scale + epsilon);
  }
}

template <class Number>
void fused_sgd(double rate, double momentum, double decay, std::int64_t count, const Number* __restrict gradient,
               Number* __restrict value, Number* __restrict buffer) {
  const auto step = static_cast<Number>(rate), keep = static_cast<Number>(momentum);
  const auto coupled = static_cast<Number>(decay);
  for (std::int64_t i = 0; i < count; ++i) {
    buffer[i] = keep * buffer[i] + (gradient[i] + coupled * value[i]);
    value[i] -= step * buffer[i];
  }
}

template void fused_adam(const AdamSettings&, std::int64_t, const float*, float*, float*, float*);
template void fused_adam(const AdamSettings&, std::int64_t, const double*, double*, double*, double*);
template void fused_sgd(double, double, double, std::int64_t, const float*, float*, float*);
template void fused_sgd(double, double, double, std::int64_t, const double*, double*, double*);

}  // namespace ick
