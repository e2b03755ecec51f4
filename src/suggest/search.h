#pragma once

#include <cstdint>
#include <functional>
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
  double seconds = 0.0;  // of its fits
};

struct Folding {
  const Ingredients& from;
  std::int64_t folds = 5;
  double ratio = 0.25;  // n_test / n_train, for standard errors
};

double mean_loss(const Trial& trial);
bool is_complete(const Trial& trial, std::int64_t folds);

// How much smaller the losses of b are than those of a, over folds that both have.
Estimate gain_over(const Trial& a, const Trial& b, double ratio);

// From the mean on, in rounds: all steps from the two best formulas so far. Ends with a round that has nothing better by
// half a standard error, or when there is no time. `losses` is empty for a formula that cannot be scored. The first
// trial is the mean.
std::vector<Trial> search(const Folding& folding, const std::function<std::vector<double>(const Structure&)>& losses,
                          const std::function<bool()>& over);

// Formulas that are worth a fit, the most promising first: the simplest within one standard error of the best and the
// best, each also without one of its terms and with a network in place of lines and curves, of which a linear model says
// little, then the next best. Few when none is better than the mean.
std::vector<Structure> shortlist(const std::vector<Trial>& trials, const Folding& folding);

// Up to three formulas, as places in `trials`, the first of which is the mean; none when the mean is within one standard
// error of the best. First the simplest within one standard error of the best, then the best of the others; the third has
// a network where the first two have none.
std::vector<std::size_t> choose_three(const std::vector<Trial>& trials, const Folding& folding);

}  // namespace ick::detail
