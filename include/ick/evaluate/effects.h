#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ick/predict/predictor.h"
#include "ick/predict/shares.h"
#include "ick/table/table.h"

// What a model does with a column: how its predictions change when that alone changes, or that and another one.
namespace ick {

struct EffectOptions {
  std::int64_t points = 20;  // of a curve, of a column of numbers or times
  std::int64_t rows = 200;   // drawn, that curves are averaged over
  std::int64_t draws = 100;  // of the function, whose curves give the band
  double level = 0.9;        // share of the draws' curves that a band holds at each point
  std::uint64_t seed = 0;
  std::map<std::string, std::string> at = {};  // columns held at a value, as a cell of the table would have it
  // Of a component alone, on the scale of Predictor::component_scale(): its path; "": of the prediction. It has a band
  // where no other component reads what changes, and the scale is the target.
  std::string term = {};
};

// Points of a column: quantiles of its values, each once, or its levels.
struct EffectPoints {
  std::string column;
  ColumnType type = ColumnType::number;
  std::vector<double> at;           // numbers or times
  std::vector<std::string> levels;  // categories: the text of each
  std::size_t size() const { return levels.empty() ? at.size() : levels.size(); }
};

// The effect of a column, in the target's units, centred: zero on average over the points.
//   partial (Friedman 2001): g(v) = mean_i f(x_i with v in the column)
//   accumulated local effects (Apley and Zhu 2020), where the column goes with another one, so that most combinations
//     that a partial effect averages over do not occur: rows between the quantiles v_(k-1) and v_k only,
//     g(v_k) - g(v_(k-1)) = mean_i f(x_i with v_k) - f(x_i with v_(k-1))
struct Effect : EffectPoints {
  bool accumulated = false;
  std::string goes_with;  // the other column, of an accumulated one
  std::vector<double> mean, lower,
      upper;  // of each; the band is what is not known of the function: not a number where draws are all the same
};

// UsageError for a column that the model does not read, or of text, and for classes; DataError where the table has no
// complete row, or one value of the column.
Effect effect_of(const Predictor& model, const Table& table, const std::string& column,
                 const EffectOptions& options = {});

// The effect of two columns together, on the grid of their points, centred:
//   g(u, v) = mean_i f(x_i with u in the one and v in the other),
// what is in it beside the effect of each,
//   interaction(u, v) = g(u, v) - mean_v g(u, v) - mean_u g(u, v) + mean g,
// and how much that is: H^2 = sum interaction^2 / sum (g - mean g)^2 (Friedman and Popescu 2008), here over the grid, as
// if the columns were independent. 0: effects add up; 1: neither column has an effect of its own.
struct Interaction {
  EffectPoints a, b;
  std::vector<double> effect, lower, upper, interaction;  // of each point of a with each of b, those of b in a row
  std::vector<std::int64_t> rows;                // of the table that are nearest to it: where none are, f is guessed
  double h = 0.0, h_lower = 0.0, h_upper = 0.0;  // H, and its band: that of the draws
  bool go_together = false;                      // the columns correlate: much of the grid does not occur
};
Interaction interaction_of(const Predictor& model, const Table& table, const std::string& a, const std::string& b,
                           const EffectOptions& options = {});

// How much worse predictions get when a column's values are dealt out anew among the rows (Breiman 2001): the increase of
// the root mean squared error, in the target's units; of classes that of the log loss.
struct Importance {
  std::string column;
  double increase = 0.0, error = 0.0;  // mean and standard error over deals
};
struct ImportanceOptions {
  std::int64_t rows = 2000;  // drawn, that have a target and a prediction
  std::int64_t deals = 5;
  std::uint64_t seed = 0;
};

// Of all columns that the model reads, the most important first. Rows that the model was trained on flatter what it has
// learned by heart: give others.
std::vector<Importance> importance_of(const Predictor& model, const Table& table,
                                      const ImportanceOptions& options = {});

}  // namespace ick
