#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// Rows that belong together, by keys: what split.cpp sets apart and split_blocks.cpp reports. Tables have many rows, so
// nothing is kept for a row but the number of its group. Everywhere `rows(use)` calls use(row) for each row in
// question, and `value(row)` is a number of it.
namespace ick::detail {

template <typename Rows, typename Value>
auto sorted_distinct(std::size_t most, const Rows& rows, const Value& value) {
  std::vector<decltype(value(std::size_t{0}))> all;
  all.reserve(most);
  rows([&](std::size_t row) { all.push_back(value(row)); });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.shrink_to_fit();
  return all;
}

// All rows are one group, until they are divided. Groups are in the order of their keys.
class Groups {
 public:
  explicit Groups(std::size_t rows) : group_(rows, 0) {}

  // Each group by the values of a further column. Takes 12 bytes a row, and n log n.
  template <typename Rows, typename Value>
  void divide(const Rows& rows, const Value& value) {
    const auto place = [](const auto& sorted, auto number) {
      return static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin());
    };
    std::vector<double> values = sorted_distinct(group_.size(), rows, value);
    if (columns_ == 0) {
      rows([&](std::size_t row) { group_[row] = place(values, value(row)); });
      keys_ = std::move(values);
    } else {
      const auto pair = [&](std::size_t row) {
        return std::uint64_t{group_[row]} * values.size() + place(values, value(row));
      };
      const std::vector<std::uint64_t> pairs = sorted_distinct(group_.size(), rows, pair);
      rows([&](std::size_t row) { group_[row] = place(pairs, pair(row)); });
      std::vector<double> keys;
      for (const std::uint64_t each : pairs) {
        const double* const old = keys_.data() + each / values.size() * columns_;
        keys.insert(keys.end(), old, old + columns_);
        keys.push_back(values[each % values.size()]);
      }
      keys_ = std::move(keys);
    }
    ++columns_;
  }

  std::uint32_t of(std::size_t row) const { return group_[row]; }
  std::size_t count() const { return columns_ == 0 ? 1 : keys_.size() / columns_; }
  double key(std::size_t group, std::size_t column) const { return keys_[group * columns_ + column]; }

  template <typename Rows>
  std::vector<std::size_t> sizes(const Rows& rows) const {
    std::vector<std::size_t> all(count(), 0);
    rows([&](std::size_t row) { ++all[group_[row]]; });
    return all;
  }

 private:
  std::vector<std::uint32_t> group_;  // of each row
  std::size_t columns_ = 0;
  std::vector<double> keys_;  // (groups, columns)
};

// Which of `along` equal steps from the least to the greatest value a value is in: 0 .. along - 1.
struct Grid {
  double low = std::numeric_limits<double>::infinity(), high = -low, along = 1.0;

  template <typename Rows, typename Value>
  Grid(double steps, const Rows& rows, const Value& value) : along(steps) {
    rows([&](std::size_t row) {
      low = std::min(low, value(row));
      high = std::max(high, value(row));
    });
  }
  double step(double value) const {
    const double place = high > low ? (value - low) / (high - low) : 0.0;
    return std::min(std::floor(place * along), along - 1.0);
  }
};

}  // namespace ick::detail
