#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "baseline/roles.h"
#include "trees/sums.h"

namespace ick {

// From so many rows on, boosting is compared with unasked, below it a forest: on few rows boosting needs tuning, on many
// a forest takes its time.
inline constexpr std::int64_t kManyForForest = 5'000;

// All columns of the formula, as trees read them.
void read_tree_columns(const BaselineTask& task, EncoderPlan& plan);

// A baseline's settings: those of the formula's trees where they are of this kind, else the usual ones.
TreeTerm trees_of(const BaselineTask& task, std::string_view kind);

// A rule of one sum of trees, or of one for each class.
class TreeRule : public BaselineRule {
 public:
  using Combine = at::Tensor (*)(const std::vector<at::Tensor>& found);  // of each sum to mean or probabilities

  TreeRule(TreeSums sums, Combine combine) : sums_(std::move(sums)), combine_(combine) {}
  at::Tensor at(const Dataset& rows) const override { return combine_(sums_.at(rows)); }
  TensorState tensors() const override { return sums_.tensors(); }
  std::string text() const override { return sums_.text(); }
  int rounds() const { return sums_.rounds(); }

 private:
  TreeSums sums_;
  Combine combine_;
};

}  // namespace ick
