#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

// Errors that last, as weather does, and are larger in some seasons than in others: of the sd s, errors are
//   e_i = s sqrt(v(t_i)) u_i,   cov(u_i, u_j) = (1 - white) exp(-|t_i - t_j| / time) + white [i = j]
//   log v(t) = centre + sum_T sum_h a_Th cos(2 pi h t / T) + b_Th sin(2 pi h t / T)
// u is an Ornstein-Uhlenbeck process, which is a first-order autoregression at any times, and white noise. In the order of
// time, L L' the covariance of u, values, divided by sqrt(v), are whitened by a Kalman filter of one number, O(n):
//   m <- a m,  p <- a^2 p + (1 - white)(1 - a^2)      a = exp(-(t_i - t_(i-1)) / time); at first m = 0, p = 1 - white
//   (L^-1 v)_i = (v_i - m) / sqrt(p + white);  m <- m + p / (p + white) (v_i - m),  p <- p white / (p + white)
namespace ick {

// v: how the variance of errors goes by the season; one everywhere without periods.
struct NoiseSeasons {
  static constexpr int kWaves = 2;  // h of each period: summer and winter, and one rise or fall faster than the other

  std::vector<double> periods;  // T, in the unit of the times
  std::vector<double> weights;  // a_T1, b_T1, a_T2, b_T2 of each
  double centre = 0.0;          // v averages one over the rows that it was learned from
};

struct LastingNoise {
  std::int64_t column = 0;  // of the kernels' inputs: the times
  double time = 0.0;        // in its unit; 0: errors are independent
  double white = 1.0;       // share of their variance
  NoiseSeasons seasons = {};

  bool lasts() const { return time > 0.0; }
};

// v(t), (n) in float64
at::Tensor seasonal_variance(const NoiseSeasons& seasons, const at::Tensor& times);
// Smallest and largest sd over each period, as a factor of what it is on average over that period's logarithm.
struct SeasonalRange {
  double period, low, high;
};
std::vector<SeasonalRange> seasonal_ranges(const NoiseSeasons& seasons);

// Where the filter stands after some rows: later rows go on from there.
struct LastingState {
  double last = 0.0, variance = 0.0;  // t, p
  at::Tensor mean;                    // m, (c); undefined before the first row
};

// L^-1 v of rows in the order of time: times (n), values (n, c), both in float64. Moves `state` on.
at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values, LastingState& state);
// The same from the first row on, differentiable in the values.
at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values);
// log|L L'| + sum log v
double log_determinant(const LastingNoise& noise, const at::Tensor& times);

// L z of normal numbers z (n), at times in any order: a draw of u. (n)
at::Tensor drawn_errors(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& normals);
// cov(e / s) itself, of rows in any order: (n, n). O(n^2).
at::Tensor covariance_of(const LastingNoise& noise, const at::Tensor& times);

// The most likely noise of residuals in the order of time, (n), or (n, c) whose squares count together, s^2 unknown,
// under weak priors in the units of the data: `time` hardly below the distance of neighbouring rows, hardly above a tenth
// of the range; weights of seasons with an sd of a half over h. Of `periods`, those are seasons that the rows have seen
// once and that are no shorter than a tenth of the range. From `start`, or the mode of the priors.
LastingNoise likely_noise(std::int64_t column, const at::Tensor& times, const at::Tensor& residuals,
                          const LastingNoise& start = {}, const std::vector<double>& periods = {});

}  // namespace ick
