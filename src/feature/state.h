#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ick/feature/feature_map.h"

namespace ick {

// Appends a copy of the tensor, unless it is empty.
void put(MapState& state, const std::string& name, const at::Tensor& tensor);

// Numbers that a tensor may hold, ends included; never what is not finite.
struct Range {
  double low, high;
  const char* text;
};
inline constexpr double kSmallest = std::numeric_limits<double>::min(), kLargest = std::numeric_limits<double>::max();
inline constexpr Range kFinite{-kLargest, kLargest, "a finite number"};
inline constexpr Range kPositive{kSmallest, kLargest, "a positive number"};
inline constexpr Range kInsideUnit{kSmallest, 1.0 - std::numeric_limits<double>::epsilon() / 2.0,
                                   "a number between 0 and 1"};

// The tensors of a state by name, checked before a map is made of them. All that is wrong is a DataError that names the
// tensor. The state must outlive this.
class StateReader {
 public:
  explicit StateReader(const MapState& state, std::string prefix = "") : state_(state), prefix_(std::move(prefix)) {}

  StateReader part(const std::string& prefix) const { return StateReader(state_, prefix_ + prefix); }

  static constexpr std::int64_t kAny = -1;  // a size: 1 or more
  using Sizes = std::vector<std::int64_t>;

  // A copy of the float64 tensor. Where a size is 0 nothing is looked for.
  at::Tensor numbers(const std::string& name, const Sizes& sizes, const Range& range = kFinite) const;
  // The same for int64, from `low` to `high`.
  at::Tensor integers(const std::string& name, const Sizes& sizes, std::int64_t low, std::int64_t high) const;

  bool has(const std::string& name) const;

  [[noreturn]] void refuse(const std::string& name, const std::string& found) const;

 private:
  at::Tensor find(const std::string& name, at::ScalarType dtype, const Sizes& sizes) const;

  const MapState& state_;
  std::string prefix_;
};

}  // namespace ick
