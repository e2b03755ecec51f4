#include "ick/train/lasting_noise.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ick/kernel/prior.h"
#include "train/lbfgs.h"

namespace ick {

namespace {

constexpr double kLeastWhite = 1e-4;  // two rows at one time are told apart

// What the filter does at each row, whatever the values: a, p / (p + white), 1 / sqrt(p + white).
struct Steps {
  at::Tensor numbers;  // (3, n)
  double log_determinant = 0.0, variance = 0.0;
};

Steps steps_of(const LastingNoise& noise, const at::Tensor& times, const LastingState& from) {
  const at::Tensor dense = times.contiguous();
  const double* const t = dense.data_ptr<double>();
  const std::int64_t n = times.size(0);
  Steps steps{at::empty({3, n}, at::kDouble)};
  double* const number = steps.numbers.data_ptr<double>();
  const double lasting = 1.0 - noise.white;
  double p = from.mean.defined() ? from.variance : lasting, last = from.last;
  for (std::int64_t i = 0; i < n; ++i) {
    const double a = i == 0 && !from.mean.defined() ? 0.0 : std::exp(-std::max(0.0, t[i] - last) / noise.time);
    p = a * a * p + lasting * (1.0 - a * a);
    const double all = p + noise.white;
    number[i] = a, number[n + i] = p / all, number[2 * n + i] = 1.0 / std::sqrt(all);
    steps.log_determinant += std::log(all);
    p *= noise.white / all;
    last = t[i];
  }
  steps.variance = p;
  return steps;
}

// cos and sin of each wave: (n, 2 kWaves T)
at::Tensor waves_of(const std::vector<double>& periods, const at::Tensor& times) {
  std::vector<at::Tensor> columns = {at::empty({times.size(0), 0}, at::kDouble)};
  for (const double period : periods) {
    for (int h = 1; h <= NoiseSeasons::kWaves; ++h) {
      const at::Tensor phase = times * (2.0 * std::numbers::pi * h / period);
      columns.push_back(phase.cos().unsqueeze(1)), columns.push_back(phase.sin().unsqueeze(1));
    }
  }
  return at::cat(columns, 1);
}

// Values over sqrt(v): (n, c), a copy.
at::Tensor of_one_size(const NoiseSeasons& seasons, const at::Tensor& times, const at::Tensor& values) {
  if (seasons.periods.empty()) return values.contiguous().clone();
  return (values * seasonal_variance(seasons, times).rsqrt().unsqueeze(1)).contiguous();
}

// Values (n, c), in place; m (c) is moved on.
void whiten(const at::Tensor& steps, double* m, at::Tensor& values) {
  const std::int64_t n = values.size(0), columns = values.size(1);
  const double* const number = steps.data_ptr<double>();
  for (std::int64_t i = 0; i < n; ++i) {
    const double keep = number[i], gain = number[n + i], scale = number[2 * n + i];
    double* const row = values.data_ptr<double>() + i * columns;
    for (std::int64_t c = 0; c < columns; ++c) {
      const double before = keep * m[c], error = row[c] - before;
      m[c] = before + gain * error;
      row[c] = scale * error;
    }
  }
}

// L^-T g, in place: with e_i = v_i - m_i and dm_i the slope of m_i, from the last row to the first,
//   de_i = g_i scale_i + gain_i a_(i+1) dm_(i+1),   dm_i = a_(i+1) dm_(i+1) - de_i
void whiten_back(const at::Tensor& steps, at::Tensor& slopes) {
  const std::int64_t n = slopes.size(0), columns = slopes.size(1);
  const double* const number = steps.data_ptr<double>();
  std::vector<double> later(static_cast<std::size_t>(columns));  // a_(i+1) dm_(i+1)
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const double keep = number[i], gain = number[n + i], scale = number[2 * n + i];
    double* const row = slopes.data_ptr<double>() + i * columns;
    for (std::int64_t c = 0; c < columns; ++c) {
      double& ahead = later[static_cast<std::size_t>(c)];
      row[c] = row[c] * scale + gain * ahead;
      ahead = keep * (ahead - row[c]);
    }
  }
}

struct Whitened : torch::autograd::Function<Whitened> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& values,
                            const at::Tensor& steps) {
    context->save_for_backward({steps});
    at::Tensor result = values.contiguous().clone();
    std::vector<double> m(static_cast<std::size_t>(values.size(1)));
    whiten(steps, m.data(), result);
    return result;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    at::Tensor slopes = gradients[0].contiguous().clone();
    whiten_back(context->get_saved_variables()[0], slopes);
    return {slopes, at::Tensor()};
  }
};

double share_of(double logit) { return kLeastWhite + (1.0 - 2.0 * kLeastWhite) / (1.0 + std::exp(-logit)); }

}  // namespace

at::Tensor seasonal_variance(const NoiseSeasons& seasons, const at::Tensor& times) {
  const at::Tensor t = times.to(at::kDouble);
  if (seasons.periods.empty()) return at::ones_like(t);
  return (seasons.centre + waves_of(seasons.periods, t).mv(at::tensor(seasons.weights, at::kDouble))).exp();
}

std::vector<SeasonalRange> seasonal_ranges(const NoiseSeasons& seasons) {
  constexpr int kSteps = 200;
  constexpr std::size_t kWeights = 2 * NoiseSeasons::kWaves;
  std::vector<SeasonalRange> ranges;
  for (std::size_t i = 0; i < seasons.periods.size(); ++i) {
    NoiseSeasons one{{seasons.periods[i]}, {}};
    const auto first = seasons.weights.begin() + static_cast<std::ptrdiff_t>(i * kWeights);
    one.weights.assign(first, first + kWeights);
    const at::Tensor sd = seasonal_variance(one, at::arange(kSteps, at::kDouble) * (one.periods[0] / kSteps)).sqrt();
    ranges.push_back({one.periods[0], sd.min().item<double>(), sd.max().item<double>()});
  }
  return ranges;
}

at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values, LastingState& state) {
  const at::NoGradGuard no_grad;
  at::Tensor result = of_one_size(noise.seasons, times, values);
  if (times.size(0) == 0) return result;
  const Steps steps = steps_of(noise, times, state);
  at::Tensor mean = state.mean.defined() ? state.mean.clone() : at::zeros({values.size(1)}, at::kDouble);
  whiten(steps.numbers, mean.data_ptr<double>(), result);
  state = {times[-1].item<double>(), steps.variance, mean};
  return result;
}

at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values) {
  return Whitened::apply(of_one_size(noise.seasons, times, values), steps_of(noise, times, {}).numbers);
}

double log_determinant(const LastingNoise& noise, const at::Tensor& times) {
  return steps_of(noise, times, {}).log_determinant +
         seasonal_variance(noise.seasons, times).log().sum().item<double>();
}

at::Tensor drawn_errors(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& normals) {
  const auto [ordered, order] = times.sort(/*stable=*/true, 0, false);
  const at::Tensor steps = steps_of(noise, ordered, {}).numbers, z = normals.index_select(0, order);
  const std::int64_t n = times.size(0);
  const double* const number = steps.data_ptr<double>();
  at::Tensor u = at::empty({n}, at::kDouble);
  double m = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = number[i] * m, error = z.data_ptr<double>()[i] / number[2 * n + i];
    m = before + number[n + i] * error;
    u.data_ptr<double>()[i] = before + error;
  }
  return at::empty({n}, at::kDouble).index_copy_(0, order, u);
}

at::Tensor covariance_of(const LastingNoise& noise, const at::Tensor& times) {
  const at::Tensor apart = (times.unsqueeze(1) - times.unsqueeze(0)).abs();
  const at::Tensor sd = seasonal_variance(noise.seasons, times).sqrt();
  const at::Tensor of_one_size =
      (1.0 - noise.white) * (-apart / noise.time).exp() + noise.white * at::eye(times.size(0), at::kDouble);
  return sd.unsqueeze(1) * sd * of_one_size;
}

LastingNoise likely_noise(std::int64_t column, const at::Tensor& times, const at::Tensor& residuals,
                          const LastingNoise& start, const std::vector<double>& periods) {
  constexpr double kLongest = 0.1;   // of the range
  constexpr double kWeightSd = 0.5;  // of h = 1: nine years in ten the sd of the noise changes by less than a half
  constexpr std::size_t kOwn = 2;    // log time, logit white; then weights of waves
  const auto n = static_cast<double>(times.size(0));
  const double range = (times[-1] - times[0]).item<double>();
  if (!(range > 0.0) || n < 3.0) return {column, 0.0, 1.0};
  const double low = std::log(range / n), high = std::log(kLongest * range);
  std::vector<Prior> priors = {{0.5 * (low + high), 0.5 * (high - low) / kPriorTail, 0.5 * (high - low) / kPriorTail},
                               {0.0, 3.0, 3.0}};  // of the logit: nine in ten between 1% and 99%
  std::vector<double> seen;
  for (const double period : periods) {
    // A level that lasts, times a shorter season, would have that season's shape, and pass for it.
    if (period > range || period < kLongest * range) continue;
    seen.push_back(period);
    for (int k = 0; k < 2 * NoiseSeasons::kWaves; ++k) {
      const double sd = kWeightSd / (k / 2 + 1);
      priors.push_back({0.0, sd, sd});
    }
  }
  const at::Tensor columns = (residuals.dim() == 1 ? residuals.unsqueeze(1) : residuals).contiguous();
  const at::Tensor waves = waves_of(seen, times);
  const auto noise_at = [&](const std::vector<double>& at) {
    return LastingNoise{column, std::exp(at[0]), share_of(at[1]), {seen, {at.begin() + kOwn, at.end()}}};
  };
  // -log p / n, the variance at its most likely: log(S / n) / 2 + (log|LL'| + sum log v) / 2n,   S = |L^-1 r / sqrt(v)|^2
  const auto cost = [&](const std::vector<double>& at) {
    LastingState state;
    const LastingNoise noise = noise_at(at);
    const double squares = whitened(noise, times, columns, state).square().sum().item<double>() / n;
    double of_priors = 0.0;
    for (std::size_t i = 0; i < at.size(); ++i) of_priors += priors[i].cost(at[i]);
    return 0.5 * std::log(squares) + (0.5 * log_determinant(noise, times) + of_priors) / n;
  };
  // d / d log v_i = (1 / n - sum_c w_ic (L^-T L^-1 w)_ic / S) / 2,   w = r / sqrt(v)
  const auto slopes_of_weights = [&](const std::vector<double>& at) {
    const LastingNoise noise = noise_at(at);
    const at::Tensor one_size = of_one_size(noise.seasons, times, columns);
    const at::Tensor steps = steps_of(noise, times, {}).numbers;
    at::Tensor white = one_size.clone();
    std::vector<double> m(static_cast<std::size_t>(columns.size(1)));
    whiten(steps, m.data(), white);
    const double squares = white.square().sum().item<double>();
    whiten_back(steps, white);
    const at::Tensor slopes = waves.t().mv(0.5 * (1.0 / n - (one_size * white).sum(1) / squares)).contiguous();
    return std::vector<double>(slopes.data_ptr<double>(), slopes.data_ptr<double>() + slopes.numel());
  };
  const auto with_slopes = [&](const std::vector<double>& at) {
    constexpr double kStep = 1e-4;
    CostAndGradient found{cost(at), {}};
    for (std::size_t i = 0; i < kOwn; ++i) {
      std::vector<double> up = at, down = at;
      up[i] += kStep, down[i] -= kStep;
      found.gradient.push_back((cost(up) - cost(down)) / (2.0 * kStep));
    }
    if (seen.empty()) return found;
    for (const double slope : slopes_of_weights(at)) {
      const std::size_t i = found.gradient.size();
      found.gradient.push_back(slope + priors[i].slope(at[i]) / n);
    }
    return found;
  };
  const double white = std::clamp(start.white, 0.01, 0.99);
  std::vector<double> from = {priors[0].centre, 0.0};
  if (start.lasts()) from = {std::log(start.time), std::log(white / (1.0 - white))};
  from.resize(priors.size());
  if (start.seasons.periods == seen)
    std::copy(start.seasons.weights.begin(), start.seasons.weights.end(), from.begin() + kOwn);
  LastingNoise found = noise_at(minimise(with_slopes, from).x);
  if (!seen.empty()) found.seasons.centre = -std::log(seasonal_variance(found.seasons, times).mean().item<double>());
  return found;
}

}  // namespace ick
