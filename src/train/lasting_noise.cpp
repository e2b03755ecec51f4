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

// cos and sin of each wave: (n, 2 kWaves T)
at::Tensor waves_of(const std::vector<double>& periods, const at::Tensor& times) {
  std::vector<at::Tensor> columns = {at::empty({times.size(0), 0}, at::kDouble)};
  for (const double period : periods) {
    for (int h = 1; h <= NoiseSeasons::kWaves; ++h) {
      const at::Tensor phase = times.to(at::kDouble) * (2.0 * std::numbers::pi * h / period);
      columns.push_back(phase.cos().unsqueeze(1)), columns.push_back(phase.sin().unsqueeze(1));
    }
  }
  return at::cat(columns, 1);
}

// As many independent squares as these rows tell as much as (Bartlett 1946): n / (1 + 2 sum_k r_k^2), r_k the
// correlation of errors k usual distances apart.
double effective_rows(const LastingNoise& noise, const at::Tensor& times) {
  const auto n = static_cast<double>(times.size(0));
  if (!noise.lasts()) return n;
  const double fades = std::exp(-2.0 * (times.max() - times.min()).item<double>() / n / noise.time);
  return n / (1.0 + 2.0 * std::pow(1.0 - noise.white, 2.0) * fades / (1.0 - fades));
}

double share_of(double logit) { return kLeastWhite + (1.0 - 2.0 * kLeastWhite) / (1.0 + std::exp(-logit)); }

}  // namespace

at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values, LastingState& state) {
  const at::NoGradGuard no_grad;
  at::Tensor result = values.contiguous().clone();
  if (times.size(0) == 0) return result;
  const Steps steps = steps_of(noise, times, state);
  at::Tensor mean = state.mean.defined() ? state.mean.clone() : at::zeros({values.size(1)}, at::kDouble);
  whiten(steps.numbers, mean.data_ptr<double>(), result);
  state = {times[-1].item<double>(), steps.variance, mean};
  return result;
}

at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values) {
  return Whitened::apply(values, steps_of(noise, times, {}).numbers);
}

double log_determinant(const LastingNoise& noise, const at::Tensor& times) {
  return steps_of(noise, times, {}).log_determinant;
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
  return (1.0 - noise.white) * (-apart / noise.time).exp() + noise.white * at::eye(times.size(0), at::kDouble);
}

LastingNoise likely_noise(std::int64_t column, const at::Tensor& times, const at::Tensor& residuals,
                          const LastingNoise& start) {
  constexpr double kLongest = 0.1;  // of the range
  const auto n = static_cast<double>(times.size(0));
  const double range = (times[-1] - times[0]).item<double>();
  if (!(range > 0.0) || n < 3.0) return {column, 0.0, 1.0};
  const double low = std::log(range / n), high = std::log(kLongest * range);
  const Prior of_time{0.5 * (low + high), 0.5 * (high - low) / kPriorTail, 0.5 * (high - low) / kPriorTail};
  const Prior of_white{0.0, 3.0, 3.0};  // of its logit: nine in ten between 1% and 99%
  const at::Tensor columns = residuals.dim() == 1 ? residuals.unsqueeze(1) : residuals;
  const auto noise_at = [&](const std::vector<double>& at) {
    return LastingNoise{column, std::exp(at[0]), share_of(at[1])};
  };
  // -log p / n, the variance at its most likely: log(mean of squares) / 2 + log|LL'| / 2n
  const auto cost = [&](const std::vector<double>& at) {
    LastingState state;
    const LastingNoise noise = noise_at(at);
    const double squares = whitened(noise, times, columns, state).square().sum().item<double>() / n;
    return 0.5 * std::log(squares) +
           (0.5 * log_determinant(noise, times) + of_time.cost(at[0]) + of_white.cost(at[1])) / n;
  };
  const auto with_slopes = [&](const std::vector<double>& at) {
    constexpr double kStep = 1e-4;
    CostAndGradient found{cost(at), {}};
    for (std::size_t i = 0; i < at.size(); ++i) {
      std::vector<double> up = at, down = at;
      up[i] += kStep, down[i] -= kStep;
      found.gradient.push_back((cost(up) - cost(down)) / (2.0 * kStep));
    }
    return found;
  };
  const double white = std::clamp(start.white, 0.01, 0.99);
  const std::vector<double> from = start.lasts() ? std::vector{std::log(start.time), std::log(white / (1.0 - white))}
                                                 : std::vector{of_time.centre, 0.0};
  return noise_at(minimise(with_slopes, from).x);
}

at::Tensor seasonal_variance(const NoiseSeasons& seasons, const at::Tensor& times) {
  if (seasons.periods.empty()) return at::ones({times.size(0)}, at::kDouble);
  return (seasons.centre + waves_of(seasons.periods, times).mv(at::tensor(seasons.weights, at::kDouble))).exp();
}

std::vector<SeasonalRange> seasonal_ranges(const NoiseSeasons& seasons) {
  constexpr int kSteps = 200;
  constexpr std::ptrdiff_t kWeights = 2 * NoiseSeasons::kWaves;
  std::vector<SeasonalRange> ranges;
  for (std::size_t i = 0; i < seasons.periods.size(); ++i) {
    const auto first = seasons.weights.begin() + static_cast<std::ptrdiff_t>(i) * kWeights;
    const NoiseSeasons one{{seasons.periods[i]}, {first, first + kWeights}};
    const at::Tensor sd = seasonal_variance(one, at::arange(kSteps, at::kDouble) * (one.periods[0] / kSteps)).sqrt();
    ranges.push_back({one.periods[0], sd.min().item<double>(), sd.max().item<double>()});
  }
  return ranges;
}

namespace {

struct SeasonFit {
  std::vector<double> weights;
  double log_evidence = 0.0;
};

// s^2 at its most likely, squares q that tell as much as m, w ~ N(0, diag(sd^2)):
//   -log p(q, w) = m (log mean(q / v) + mean(log v)) / 2 + sum_w (w / sd_w)^2 / 2 + sum_w log sd_w
// and by Laplace's approximation log p(q) = log p(q, w) - log|H| / 2 at the most likely w, where, with rows i weighed by
// r_i = (q_i / v_i) / sum_j q_j / v_j,
//   H = m cov_r(waves) / 2 + diag(1 / sd^2)
SeasonFit fit_seasons(const at::Tensor& times, const at::Tensor& squares, const std::vector<double>& periods,
                      double m) {
  constexpr double kWeightSd = 0.5;  // of h = 1: nine years in ten the sd of the noise changes by less than a half
  if (periods.empty()) return {{}, -0.5 * m * squares.mean().log().item<double>()};
  std::vector<double> sds;
  for (std::size_t i = 0; i < periods.size(); ++i) {
    for (int k = 0; k < 2 * NoiseSeasons::kWaves; ++k) sds.push_back(kWeightSd / (k / 2 + 1));
  }
  const at::Tensor waves = waves_of(periods, times), sd = at::tensor(sds, at::kDouble);  // (n, w), (w)
  const double n = static_cast<double>(times.size(0));
  at::Tensor share;  // r, (n)
  const auto cost = [&](const std::vector<double>& at) {
    const at::Tensor w = at::tensor(at, at::kDouble), log_v = waves.mv(w);
    const at::Tensor relative = squares * (-log_v).exp();  // q / v
    const double value =
        0.5 * m * (relative.mean().log() + log_v.mean()).item<double>() + 0.5 * (w / sd).square().sum().item<double>();
    share = relative / relative.sum();
    const at::Tensor slopes = 0.5 * m * waves.t().mv(1.0 / n - share) + w / sd.square();
    return CostAndGradient{value, {slopes.data_ptr<double>(), slopes.data_ptr<double>() + slopes.numel()}};
  };
  SeasonFit found{minimise(cost, std::vector<double>(sds.size(), 0.0)).x};
  const double least = cost(found.weights).value;
  const at::Tensor centred = waves - waves.t().mv(share);
  const at::Tensor curvature = 0.5 * m * centred.t().matmul(centred * share.unsqueeze(1)) + sd.pow(-2).diag();
  found.log_evidence = -least - sd.log().sum().item<double>() - 0.5 * curvature.logdet().item<double>();
  return found;
}

}  // namespace

NoiseSeasons likely_seasons(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& squares,
                            const std::vector<double>& periods) {
  const double range = (times.max() - times.min()).item<double>(), m = effective_rows(noise, times);
  NoiseSeasons found;
  std::copy_if(periods.begin(), periods.end(), std::back_inserter(found.periods),
               [&](double period) { return period <= range; });
  SeasonFit fit = fit_seasons(times, squares, found.periods, m);
  for (bool dropped = true; dropped;) {
    dropped = false;
    for (std::size_t i = 0; i < found.periods.size() && !dropped; ++i) {
      std::vector<double> others = found.periods;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const SeasonFit without = fit_seasons(times, squares, others, m);
      if (without.log_evidence < fit.log_evidence) continue;
      found.periods = others, fit = without, dropped = true;
    }
  }
  found.weights = fit.weights;
  if (!found.periods.empty()) found.centre = -std::log(seasonal_variance(found, times).mean().item<double>());
  return found;
}

}  // namespace ick
