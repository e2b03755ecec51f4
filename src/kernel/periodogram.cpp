#include "ick/kernel/periodogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <numeric>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr std::size_t kMostRows =
    4096;  // a seeded draw of more: uneven places show frequencies beyond half their own density
constexpr std::size_t kMostSteps = (1 << 17) - 1;  // of the frequency grid: a day in 70 years; 2^20 places
constexpr double kStepsPerCycle = 5.0;             // grid steps within 1 / span, the width of a peak

// y less its least-squares line over x
void remove_line(const std::vector<double>& x, std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double x_mean = std::accumulate(x.begin(), x.end(), 0.0) / n,
               y_mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0.0, xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  for (std::size_t i = 0; i < x.size(); ++i) y[i] -= y_mean + xy / xx * (x[i] - x_mean);
}

// Half the sampling frequency, by the median gap between distinct x.
double highest_frequency(std::vector<double> x, double span) {
  std::sort(x.begin(), x.end());
  x.erase(std::unique(x.begin(), x.end()), x.end());
  std::vector<double> gaps;
  for (std::size_t i = 1; i < x.size(); ++i) gaps.push_back(x[i] - x[i - 1]);
  std::nth_element(gaps.begin(), gaps.begin() + std::ssize(gaps) / 2, gaps.end());
  return std::min(0.5 / gaps[gaps.size() / 2], static_cast<double>(kMostSteps) / (kStepsPerCycle * span));
}

struct Complex {
  double re = 0.0, im = 0.0;
};

// to_k = sum_j from_j e^(-2 pi i j k / n) for n a power of two, the even places and then the odd ones (Cooley and Tukey
// 1965). `turns` holds e^(-2 pi i k / N), every `stride`th of which is one of n.
void transform(const Complex* from, std::size_t stride, Complex* to, std::size_t n, const Complex* turns) {
  if (n == 1) {
    *to = *from;
    return;
  }
  const std::size_t half = n / 2;
  transform(from, 2 * stride, to, half, turns);
  transform(from + stride, 2 * stride, to + half, half, turns);
  for (std::size_t k = 0; k < half; ++k) {
    const Complex turn = turns[k * stride], odd = to[k + half], even = to[k];
    const Complex turned = {turn.re * odd.re - turn.im * odd.im, turn.re * odd.im + turn.im * odd.re};
    to[k] = {even.re + turned.re, even.im + turned.im};
    to[k + half] = {even.re - turned.re, even.im - turned.im};
  }
}

// sum_j (a_j + i b_j) e^(-2 pi i k t_j), 0 <= t_j < 1, for k from 0 to `most` and, from the end on, from -1 to -`most`:
// each number is spread over its neighbourhood by a bell whose own transform is divided out again (Greengard and Lee
// 2004). Exact to some 1e-12 of sum_j |a_j + i b_j|.
std::vector<Complex> uneven_transform(const std::vector<double>& t, const std::vector<double>& a,
                                      const std::vector<double>& b, std::size_t most) {
  constexpr int kReach = 12;  // places to either side
  const std::size_t size = std::max<std::size_t>(64, std::bit_ceil(4 * (most + 1)));
  const auto places = static_cast<double>(size);
  const double pi = std::numbers::pi, half = places / 2.0;
  const double width = pi * kReach / (half * half * 3.0);  // tau, for twice as many places as frequencies
  std::vector<Complex> grid(size), turns(size / 2), found(size);
  for (std::size_t j = 0; j < t.size(); ++j) {
    const auto home = static_cast<std::int64_t>(t[j] * places);
    for (std::int64_t place = home - kReach + 1; place <= home + kReach; ++place) {
      const double off = 2.0 * pi * (t[j] - static_cast<double>(place) / places);
      const double bell = std::exp(-off * off / (4.0 * width));
      Complex& at = grid[static_cast<std::size_t>(place) & (size - 1)];
      at.re += bell * a[j];
      at.im += bell * b[j];
    }
  }
  for (std::size_t k = 0; k < turns.size(); ++k) {
    const double angle = 2.0 * pi * static_cast<double>(k) / places;
    turns[k] = {std::cos(angle), -std::sin(angle)};
  }
  transform(grid.data(), 1, found.data(), size, turns.data());
  const double unit = std::sqrt(pi / width) / places;
  for (std::size_t k = 0; k <= most; ++k) {
    const double scale = unit * std::exp(width * static_cast<double>(k) * static_cast<double>(k));
    found[k].re *= scale, found[k].im *= scale;
    if (k > 0) found[size - k].re *= scale, found[size - k].im *= scale;
  }
  return found;
}

}  // namespace

// Generalised Lomb-Scargle (Zechmeister and Kuerster 2009), all frequencies at once: squares of waves are waves of
// twice the frequency, cos^2 u = (1 + cos 2u) / 2 and cos u sin u = sin(2u) / 2.
std::vector<double> periodogram(const std::vector<double>& x, const std::vector<double>& y, double step,
                                std::size_t steps) {
  const auto n = static_cast<double>(x.size());
  std::vector<double> turn(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) turn[i] = step * x[i] - std::floor(step * x[i]);
  const std::vector<Complex> sums = uneven_transform(turn, std::vector<double>(x.size(), 1.0), y, 2 * steps);
  // Transforms of ones and of y together: the first is the part that k and -k share, the second what they differ by.
  const auto of_ones = [&](std::size_t k) -> Complex {  // sums of cosines and sines
    const Complex &ahead = sums[k], &back = sums[sums.size() - k];
    return {0.5 * (ahead.re + back.re), 0.5 * (back.im - ahead.im)};
  };
  const auto of_y = [&](std::size_t k) -> Complex {
    const Complex &ahead = sums[k], &back = sums[sums.size() - k];
    return {0.5 * (ahead.im + back.im), 0.5 * (ahead.re - back.re)};
  };
  const double yy = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
  std::vector<double> power(steps);
  for (std::size_t f = 0; f < steps; ++f) {
    const auto [c, s] = of_ones(f + 1);
    const auto [c2, s2] = of_ones(2 * (f + 1));
    const auto [yc, ys] = of_y(f + 1);
    const double cc = 0.5 * (n + c2) - c * c / n, ss = 0.5 * (n - c2) - s * s / n, cs = 0.5 * s2 - c * s / n;
    const double determinant = cc * ss - cs * cs;
    const bool flat = determinant < 1e-9 * n * n;  // the wave is constant on the rows
    power[f] = flat ? 0.0 : (yc * yc * ss + ys * ys * cc - 2.0 * yc * ys * cs) / (determinant * yy);
  }
  return power;
}

std::vector<double> strongest_frequencies(std::span<const double> x, std::span<const double> y, int count) {
  if (x.size() != y.size()) throw UsageError("a spectrum needs as many values as places");
  std::vector<double> all;
  std::copy_if(x.begin(), x.end(), std::back_inserter(all), [](double each) { return std::isfinite(each); });
  std::vector<double> places, values;
  Random random(seed_for(0, "periodogram"));
  const double keep =
      std::min(1.0, static_cast<double>(kMostRows) / static_cast<double>(std::max<std::size_t>(1, x.size())));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || (keep < 1.0 && random.uniform() > keep)) continue;
    places.push_back(x[i]);
    values.push_back(y[i]);
  }
  if (places.size() < 4) return {};
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  const double origin = *low, span = *high - *low;
  if (!(span > 0.0)) return {};
  for (double& place : places) place -= origin;
  const double before = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  remove_line(places, values);
  if (std::inner_product(values.begin(), values.end(), values.begin(), 0.0) <= 1e-20 * before) return {};

  const double step = 1.0 / (kStepsPerCycle * span);
  const auto steps = static_cast<std::size_t>(highest_frequency(std::move(all), span) / step);
  if (steps < 3) return {};
  const std::vector<double> power = periodogram(places, values, step, steps);
  std::vector<std::size_t> peaks;
  for (std::size_t f = 1; f + 1 < steps; ++f) {
    if (power[f] > power[f - 1] && power[f] >= power[f + 1]) peaks.push_back(f);
  }
  std::sort(peaks.begin(), peaks.end(), [&](std::size_t a, std::size_t b) { return power[a] > power[b]; });
  // Noise explains more than this share at the best of independent frequencies in one case of fifty: each share is
  // about exponential with mean 2 / n.
  const double independent = static_cast<double>(steps) / kStepsPerCycle;
  const double noise = 2.0 * (std::log(independent) + 4.0) / static_cast<double>(places.size());
  std::vector<double> frequencies;
  for (const std::size_t f : peaks) {
    if (std::ssize(frequencies) >= count || power[f] < noise) break;
    // The top of the parabola through the peak and its neighbours.
    const double bend = power[f - 1] - 2.0 * power[f] + power[f + 1];
    const double shift = bend < 0.0 ? 0.5 * (power[f - 1] - power[f + 1]) / bend : 0.0;
    const double frequency = (static_cast<double>(f) + 1.0 + shift) * step;  // power[0] is the first step
    const bool apart = std::all_of(frequencies.begin(), frequencies.end(),
                                   [&](double other) { return std::abs(other - frequency) > 1.0 / span; });
    if (apart) frequencies.push_back(frequency);
  }
  return frequencies;
}

}  // namespace ick
