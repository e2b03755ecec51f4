#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/net/network.h"
#include "trees/xgboost.h"

namespace ick {

// What trees read: these columns, as networks do, and the hour, the day of the week and the day of the year of times
// where these vary.
void read_tree_columns(const Table& table, const std::vector<std::string>& columns, EncoderPlan& plan);

// Periods of the calendar that times of each column of x show in the rows in `use`, as shares of which trees read them:
// (K, 2) column, period.
at::Tensor calendar_of(const Table& table, const Encoder& encoder, const std::vector<bool>& use);
at::Tensor tree_values(const Dataset& rows, const at::Tensor& calendar);  // (n, F) in float32

// Sums of trees: one, or one for each class, with the calendar that they read.
class TreeSums {
 public:
  TreeSums(std::vector<Trees> sums, at::Tensor calendar);

  std::vector<at::Tensor> at(const Dataset& rows) const;  // of each sum
  int rounds() const { return sums_[0].rounds(); }
  const at::Tensor& calendar() const { return calendar_; }
  std::string text() const;  // "143 rounds, time of the day"

  TensorState tensors() const;
  static TreeSums restore(const TensorState& tensors, const Encoder& encoder);  // DataError when it is not whole

 private:
  std::vector<Trees> sums_;
  at::Tensor calendar_;
};

}  // namespace ick
