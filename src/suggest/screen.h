#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "basis.h"
#include "ick/evaluate/folds.h"
#include "ingredients.h"

namespace ick::detail {

// A formula as a linear model of the functions of its terms, by ridge regression on the rows of a fold's training part:
//   w = (X'X + c I)^-1 X'y,   the intercept nearly free
// A small part of what a fit takes, and near enough to say which formulas are worth one.
class Screen {
 public:
  // `target` [output][row], in any units: log(y), or the indicators of classes.
  Screen(const Ingredients& from, const Table& table, std::vector<std::vector<double>> target, std::vector<Fold> folds,
         std::uint64_t seed);

  bool can(const Structure& structure) const;  // images and trees it cannot
  // Root mean square of what is left in each fold's test rows, in standard deviations of the target, at the c that
  // serves best over all folds.
  std::vector<double> losses(const Structure& structure) const;

 private:
  const Ingredients& from_;
  std::vector<std::vector<double>> target_;  // standardised
  std::vector<Fold> folds_;
  std::vector<Columns> functions_;  // of each ingredient
  std::uint64_t seed_;
  std::size_t rows_;
  bool divides_ = true;  // folds divide the rows
};

}  // namespace ick::detail
