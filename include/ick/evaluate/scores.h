#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ick {

// A number that says how good a model is. Of classes or of numbers.
struct ScoreKind {
  std::string_view name;   // "rmse", "log_loss": in JSON and for --score
  std::string_view label;  // "rmse", "log loss"
  bool of_classes = false;
  enum class Better { smaller, larger, neither } better = Better::smaller;  // neither: coverage, width
};

std::span<const ScoreKind> score_kinds();
const ScoreKind& score_kind(std::string_view name);  // UsageError with the nearest name

using ScoreValues = std::map<std::string, double>;  // by name; not a number where a score has no meaning

// Rows that a model has not seen, and what it said of them. Of classes probabilities; of numbers the rest.
struct UnseenRows {
  std::vector<std::int64_t> rows;  // of the table
  std::vector<double> weight;      // of each in every mean
  std::vector<bool> inside;        // its interval, or its set, holds what was seen

  std::vector<double> target, mean, sd, lower, upper;
  std::vector<double> nlpd, crps;  // of each row

  std::vector<std::string> classes;              // that the model knows
  std::vector<std::int64_t> seen;                // class of each row
  std::vector<std::vector<double>> probability;  // [class][row]

  bool of_classes() const { return !classes.empty(); }
  std::int64_t most_probable(std::size_t i) const;
};

// All scores of its kind: weighted means over the rows, as Predictor::evaluate has them. `some` (row numbers of the table,
// sorted) restricts them to rows that are among these. No row: not a number.
ScoreValues scores_of(const UnseenRows& rows, const std::vector<std::int64_t>* some = nullptr);

// Over folds whose training rows overlap. -----------------------------------------------------------------------------

struct Estimate {
  double mean = 0.0, error = 0.0;  // standard error; not a number of one fold
};

// Mean of k values, one for each fold, and its standard error. Models of two folds have learned from many of the same
// rows, so that values vary less than with new rows; the usual s / sqrt(k) would be too small. Nadeau and Bengio (2003,
// Inference for the generalization error, Machine Learning 52):
//   error^2 = (1/k + n_test / n_train) s^2,   s^2 = sum_i (v_i - mean)^2 / (k - 1)
// `ratio` is n_test / n_train, the mean over folds. Not a number when one of the values is not.
Estimate mean_over_folds(std::span<const double> values, double ratio);

// The t with P(T <= t) = p for Student's t distribution with so many degrees of freedom.
double student_quantile(double p, double degrees);

}  // namespace ick
