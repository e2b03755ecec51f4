#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ick/model/class_scores.h"
#include "ick/model/metrics.h"

namespace ick {

// Where a row lies among the training rows, as a source of the kernels sees it.
enum class Support : std::uint8_t { inside, edge, extrapolating, unknown };
std::string_view support_name(Support support);  // "inside", "edge", "extrapolating", ""

// One part of a prediction that is a sum.
struct ComponentName {
  std::string path;                       // "term1", as parameters have it; "offset"
  std::string text;                       // "periodic(date, period=1y)"
  std::vector<std::string> columns = {};  // that it reads
};
struct TermShare {
  ComponentName name;
  double share = 0.0;  // of the variance of predictions
  // By how much the rmse of rows that were not seen rises when each is predicted with the term's mean over training rows
  // for its part, the other terms as they are; with a standard error. Not a number where there were no such rows.
  double rmse_lost = std::numeric_limits<double>::quiet_NaN(), rmse_lost_error = rmse_lost;
};
// The function as a sum, constant + one component for each of Predictor::component_names(), without noise: on the scale
// of Predictor::component_scale(). Means add up to that of the function; sds do not, because what is not known of one
// term is not known of others. Terms have a mean of zero over training rows: their levels are in the constant.
struct Components {
  std::vector<std::vector<double>> mean, sd;  // [component][row]
  std::vector<double> constant;               // of each row
};

// Predictions of the rows of a table, in the target's units. sd is that of a new observation: it includes the noise.
// Not a number for rows that cannot be predicted (a kernel's column is missing).
struct Prediction {
  std::vector<double> mean, sd, lower, upper;
  std::vector<double> location, scale;  // as in Predictive: mean and sd, of the transformed target where there is one
  std::vector<double> function_sd;      // sd of the function (of a transformed target: on its scale), without the noise
  std::vector<std::vector<Support>> support;  // for each source of Predictor::support_names(), when asked for
  Components components;                      // when asked for

  // For a target of classes, instead of all numbers above: probabilities of each class, and
  // whether it is in the row's set of classes; the most probable one of each row, -1 where it cannot be predicted.
  std::vector<std::vector<double>> probability;
  std::vector<std::vector<bool>> in_set;
  std::vector<std::int64_t> most_probable;
};

// What to predict besides the mean and its standard deviation.
struct PredictOptions {
  double level = 0.9;       // share of observations that the interval, or the set of classes, is to hold
  bool support = false;     // say for each row and source whether it lies inside the training rows
  bool components = false;  // each term's part of the prediction; UsageError for models that are no sum of terms
};

struct DrawOptions {
  std::int64_t count = 100;
  std::uint64_t seed = 0;
  bool noise = true;  // draws of observations; else of the function alone
};

// Scores of a model on a table that has the target, all from one prediction of it.
struct Evaluation {
  Prediction prediction;           // all rows
  std::vector<std::int64_t> rows;  // that have a target and a prediction
  std::vector<bool> inside;        // for each row of the table: the target is in its interval or set
  Scores scores;                   // for a target of numbers
  ClassScores class_scores;        // for classes, instead
};

// One parameter in the units of the data.
struct ParameterValue {
  std::string path;
  std::vector<double> values;  // mean over members of each number
  // Ends of the 90% intervals of each number, by the curvature of its posterior where the search ended (Laplace); empty:
  // not known.
  std::vector<double> lower = {}, upper = {};
  std::string unit;      // "d", "km", "mm^2"; "" for a pure number
  bool fixed = false;    // known: stated by the formula, not learned
  bool at_edge = false;  // learned, and further out than its prior holds likely: see docs/formula.md
};

}  // namespace ick
