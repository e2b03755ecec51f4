#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

// Errors that last, as weather does: of the sd s, errors e = s u have
//   cov(u_i, u_j) = (1 - white) exp(-|t_i - t_j| / time) + white [i = j]
// an Ornstein-Uhlenbeck process, which is a first-order autoregression at any times, and white noise. In the order of
// time, L L' the covariance of u, values are whitened by a Kalman filter of one number, O(n):
//   m <- a m,  p <- a^2 p + (1 - white)(1 - a^2)      a = exp(-(t_i - t_(i-1)) / time); at first m = 0, p = 1 - white
//   (L^-1 v)_i = (v_i - m) / sqrt(p + white);  m <- m + p / (p + white) (v_i - m),  p <- p white / (p + white)
namespace ick {

// The variance of errors by the season: s^2 v(t) in place of s^2, in predictions.
//   log v(t) = centre + sum_T sum_h a_Th cos(2 pi h t / T) + b_Th sin(2 pi h t / T)
struct NoiseSeasons {
  static constexpr int kWaves = 2;  // h of each period: summer and winter, and one rise or fall faster than the other

  std::vector<double> periods;  // T, in the unit of the times; none: v = 1
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

// Where the filter stands after some rows: later rows go on from there.
struct LastingState {
  double last = 0.0, variance = 0.0;  // t, p
  at::Tensor mean;                    // m, (c); undefined before the first row
};

// L^-1 v of rows in the order of time: times (n), values (n, c), both in float64. Moves `state` on.
at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values, LastingState& state);
// The same from the first row on, differentiable in the values.
at::Tensor whitened(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& values);
// log|L L'|
double log_determinant(const LastingNoise& noise, const at::Tensor& times);

// L z of normal numbers z (n), at times in any order: a draw of u. (n)
at::Tensor drawn_errors(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& normals);
// cov(u) itself, of rows in any order: (n, n). O(n^2).
at::Tensor covariance_of(const LastingNoise& noise, const at::Tensor& times);

// The most likely noise of residuals in the order of time, (n), or (n, c) whose squares count together, s^2 unknown,
// under weak priors in the units of the data: `time` hardly below the distance of neighbouring rows, hardly above a tenth
// of the range. From `start`, or the mode of the priors.
LastingNoise likely_noise(std::int64_t column, const at::Tensor& times, const at::Tensor& residuals,
                          const LastingNoise& start = {});

at::Tensor seasonal_variance(const NoiseSeasons& seasons, const at::Tensor& times);  // v(t), (n) in float64

// Smallest and largest sd over one period, the others left aside.
struct SeasonalRange {
  double period, low, high;
};
std::vector<SeasonalRange> seasonal_ranges(const NoiseSeasons& seasons);

// The most likely seasons of the squares of errors (n) that last like `noise`, of those periods that the rows have seen
// once, without those that are likelier to have none. Squares count as independent ones, but for less: as their
// correlation, which is that of errors squared, leaves. Prior of weights: normal, of an sd of a half over h.
NoiseSeasons likely_seasons(const LastingNoise& noise, const at::Tensor& times, const at::Tensor& squares,
                            const std::vector<double>& periods);

}  // namespace ick
