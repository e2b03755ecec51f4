#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ick/evaluate/scores.h"
#include "ingredients.h"

// Which formula next, given the losses of others in folds.
namespace ick::detail {

struct Trial {
  Structure structure;
  std::vector<double> losses;  // of folds, from the first on; smaller is better
  std::string failure;
};

struct FoldOfTrial {
  std::size_t trial = 0;
  std::int64_t fold = 0;
};

struct SearchRequest {
  const Ingredients& from;
  std::int64_t folds = 5;
  double ratio = 0.25;  // n_test / n_train, for standard errors
  // Appends losses, or a failure, to the trials: folds of a trial in their order, as far as there is time. `share` of
  // the time that is left may be used.
  std::function<void(std::vector<Trial>& trials, const std::vector<FoldOfTrial>& folds, double share)> evaluate;
  std::function<bool()> over;  // no time is left
};

struct Search {
  std::vector<Trial> trials;  // the first is the mean
  bool finished = false;      // no step made it better, before time was over
};

// From the mean on, in rounds: all steps from the two best formulas so far are scored in two folds, and the best of
// these in the others. Ends with a round that has nothing better than before by a standard error.
Search search(const SearchRequest& request);

// How much smaller the losses of b are than those of a, over folds that both have.
Estimate gain_over(const Trial& a, const Trial& b, double ratio);

// Up to three formulas, as places in `trials`; none when the mean is within one standard error of the best. First the
// simplest within one standard error of the best, then the best of the others.
std::vector<std::size_t> choose_three(const Search& found, const SearchRequest& request);

}  // namespace ick::detail
