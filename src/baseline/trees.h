#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baseline/roles.h"

// Trees that XGBoost grows and adds up (Chen and Guestrin 2016).
namespace ick {

// From so many rows on, boosting is compared with unasked, below it a forest: on few rows boosting needs tuning, on many
// a forest takes its time.
inline constexpr std::int64_t kManyForForest = 5'000;

// Rows as XGBoost holds them.
class TreeRows {
 public:
  explicit TreeRows(const at::Tensor& values);                                               // (n, F), to predict
  TreeRows(const at::Tensor& values, const at::Tensor& targets, const at::Tensor& weights);  // (n) each, to learn
  void* handle() const { return handle_.get(); }
  std::int64_t size() const { return rows_; }

 private:
  std::shared_ptr<void> handle_;
  std::int64_t rows_ = 0;
};

// One thread grows them: sums of several would be added up in another order, to other bits.
class Trees {
 public:
  Trees(const std::map<std::string, std::string>& settings, const TreeRows& rows);

  void add_round(const TreeRows& rows);
  Trees first(int rounds) const;  // without the later ones
  int rounds() const;
  at::Tensor predict(const TreeRows& rows) const;  // (n), or of several classes (n, C), in float64

  at::Tensor bytes() const;                          // as uint8, which from_bytes() takes
  static Trees from_bytes(const at::Tensor& bytes);  // DataError when they are damaged

 private:
  explicit Trees(void* handle);
  std::shared_ptr<void> handle_;
};

// What trees read: all columns of the formula, as networks do, and the hour, the day of the week and the day of the year of
// its times where these vary.
void read_tree_columns(const BaselineTask& task, EncoderPlan& plan);

// Periods of the calendar that times of each column of x show, as shares of which trees read them: (K, 2) column, period.
at::Tensor calendar_of(const BaselineTask& task, const Encoder& encoder);
at::Tensor tree_values(const Dataset& rows, const at::Tensor& calendar);  // (n, F) in float32

// A rule of one sum of trees, or of one for each class.
class TreesRule : public BaselineRule {
 public:
  using Combine = at::Tensor (*)(const std::vector<at::Tensor>& found);  // of each sum to mean or probabilities

  TreesRule(std::vector<Trees> trees, at::Tensor calendar, Combine combine);
  at::Tensor at(const Dataset& rows) const override;
  TensorState tensors() const override;
  std::string text() const override;
  int rounds() const { return trees_[0].rounds(); }

 private:
  std::vector<Trees> trees_;
  at::Tensor calendar_;
  Combine combine_;
};
std::shared_ptr<const BaselineRule> restore_trees(const TensorState& tensors, const Encoder& encoder,
                                                  TreesRule::Combine combine);

}  // namespace ick
