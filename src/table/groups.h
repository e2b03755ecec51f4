#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "ick/table/table.h"

// Rows that belong together, by keys: what split.cpp sets apart and split_blocks.cpp reports.
namespace ick::detail {

using Rows = std::vector<std::size_t>;
using Keys = std::vector<std::vector<double>>;       // of each row, one for each column
using Groups = std::map<std::vector<double>, Rows>;  // rows with the same keys

inline std::vector<double> values_of(const Column& column, const Rows& rows) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const std::size_t row : rows) values.push_back(column.values[row]);
  return values;
}

inline void append_keys(const std::vector<double>& of_column, Keys& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i].push_back(of_column[i]);
}

inline Groups gather(Keys& keys, const Rows& rows) {
  Groups groups;
  for (std::size_t i = 0; i < keys.size(); ++i) groups[std::move(keys[i])].push_back(rows[i]);
  return groups;
}

// Which of `along` equal steps from the least to the greatest each value is in: 0 .. along - 1.
inline std::vector<double> grid_steps(std::vector<double> values, double along) {
  if (values.empty()) return values;
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const double low = *least, high = *greatest;
  for (double& value : values) {
    const double place = high > low ? (value - low) / (high - low) : 0.0;
    value = std::min(std::floor(place * along), along - 1.0);
  }
  return values;
}

}  // namespace ick::detail
