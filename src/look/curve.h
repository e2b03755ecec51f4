#pragma once

#include <cstdint>
#include <span>
#include <vector>

// How well one thing tells another, on rows that it was not learned from. Rows come in an order of no meaning: each half
// is predicted by what the other half says.
namespace ick::detail {

// Places of values in their order, ties in the middle of theirs, as (place + 1/2) / count: 0 .. 1.
std::vector<double> ranks_of(std::span<const double> values);

// Share of the variance of y that a curve of x explains on the rows left out: means of y over up to 200 spans of x with
// about equally many rows, and lines between their middles. At most 1; below 0 when the mean is better.
// x and y are ranks.
double curve_r2(std::span<const double> x, std::span<const double> y);

// The same for levels: the mean of y at each level of x, the mean of all where a level is new. `levels` codes from 0.
double level_r2(std::span<const std::uint32_t> x, std::span<const double> y);

// Share of the classes y that x tells beyond the most frequent class, (hits - most) / (1 - most), where each row left
// out gets the commonest class at the nearest x; codes of levels may stand for x.
double nearest_gain(std::span<const double> x, std::span<const std::uint32_t> y);

}  // namespace ick::detail
