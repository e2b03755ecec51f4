#pragma once

#include <cstdint>
#include <span>
#include <vector>

// What a report asks of residuals and probabilities, as functions of plain numbers.
namespace ick {

double chi_squared_tail(double x, double degrees);  // P(X > x)

// Residuals at times, of one series or several.
struct SeriesRows {
  std::vector<std::int64_t> series;  // of each row
  std::vector<double> time, value;
};

// Correlation of values k steps apart within a series, over the pairs of rows that are there, so that gaps do no harm:
//   r_k = (1/n_k sum over pairs of v_i v_j) / (1/n sum_i v_i^2),   v less its mean, t_j - t_i within half a step of k steps
// Ljung and Box (1978) for such pairs; of a series without gaps it is theirs:
//   Q = (n + 2)/n sum_(k <= m) n_k r_k^2,   chi-squared with m degrees of freedom where nothing is left to predict
struct Autocorrelation {
  double step = 0.0;
  std::int64_t rows = 0;
  std::vector<double> value;        // of lags 1, 2, ...; not a number without pairs
  std::vector<std::int64_t> pairs;  // n_k
  std::int64_t tested = 0;          // m: lags in Q that have pairs
  double q = 0.0, p = 1.0;
};
Autocorrelation autocorrelation_of(const SeriesRows& rows, double step, std::int64_t lags, std::int64_t tested);

// Values at places; `group` (may be empty): only pairs of one group count, as of one instant.
struct PlacedRows {
  bool sphere = false;  // degrees of latitude and longitude, distances in km; else the plane
  std::vector<double> north, east, value;
  std::vector<std::int64_t> group;
};
double distance_between(const PlacedRows& rows, std::size_t i, std::size_t j);

// gamma(h) = 1/2 mean (v_i - v_j)^2 over pairs about h apart (Matheron 1962), in bins up to `most`, a distance.
struct Variogram {
  std::vector<double> distance, semivariance;  // of bins that have pairs: means
  std::vector<std::int64_t> pairs;
  double variance = 0.0;  // of the values: where it levels off when far apart is independent
};
// Of all pairs, or so many drawn at random.
Variogram variogram_of(const PlacedRows& rows, std::int64_t bins, double most, std::int64_t most_pairs,
                       std::uint64_t seed);

// Do near places have values alike? I = sum_i v_i mean of v at the k nearest of i / sum_i v_i^2, v less its mean (Moran
// 1950, weights of rows one); about -1/(n - 1) where not. p: share of `deals` of the values among the places, and this
// one, with an I as large.
struct MoranTest {
  double index = 0.0, expected = 0.0, p = 1.0;
  std::int64_t places = 0;
};
MoranTest moran_test(const PlacedRows& rows, std::int64_t nearest, std::int64_t deals, std::uint64_t seed);

// One value for each place: the mean of its rows.
PlacedRows means_of_places(const PlacedRows& rows);

// Rows in bins of about equally many, in the order of x: means of both.
struct BinnedMeans {
  std::vector<double> x, y, error;  // error: standard error of y
  std::vector<std::int64_t> rows;
};
BinnedMeans binned_means(std::span<const double> x, std::span<const double> y, std::int64_t bins);

// Of a sample in any order, between its two nearest values (type 7); not a number of none.
double quantile_of(std::vector<double> values, double p);

// `most` of the rows 0 .. rows - 1, drawn with a seed, in order; all where there are no more.
std::vector<std::int64_t> some_rows_of(std::int64_t rows, std::int64_t most, std::uint64_t seed);

// Which of the values, in their order, tell the course of all: of each of most / 2 runs the least and the largest.
std::vector<std::int64_t> outline_of(std::span<const double> values, std::int64_t most);

}  // namespace ick
