#pragma once

#include <string>
#include <vector>

#include "ick/dataset/summary.h"

namespace ick::detail {

// Which of two columns is x and which is y.
struct Place {
  std::string x, y;
  bool degrees = false;  // longitude and latitude
};

// By their names (table/place_names.h), else x is the first.
Place place_of(const std::vector<std::string>& columns);

// The columns of a place that the model reads: latitude and longitude, northing and easting, x and y. UsageError when
// there are none, or not all are read.
Place find_place(const DataSummary& summary, const std::vector<std::string>& columns);

// UsageError for a latitude beyond a pole, a longitude beyond two turns.
void check_range(const Place& place, double x_low, double x_high, double y_low, double y_high);

}  // namespace ick::detail
