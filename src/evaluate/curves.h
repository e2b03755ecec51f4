#pragma once

#include <string>
#include <vector>

#include "ick/evaluate/effects.h"

// What effects of one column and of two have in common: rows, points, and what the model says where columns are changed.
namespace ick {

constexpr double kGoTogether = 0.5;  // rank correlation from which a partial effect averages over what does not occur

// A question about these columns of a table. UsageError for columns that the model does not read, or of text, for
// classes, and for options that make no sense; DataError where the table has no complete row.
struct EffectQuestion {
  const Predictor& model;
  const EffectOptions& options;
  std::vector<std::string> columns;  // that change
  Table table;                       // with what is held
  std::vector<std::int64_t> all;     // rows that can be predicted and have a value of each
  std::vector<std::int64_t> rows;    // drawn of them

  EffectQuestion(const Predictor& model, const Table& table, std::vector<std::string> columns,
                 const EffectOptions& options);

  // DataError where there is one only. `codes` of levels; values else.
  EffectPoints points(const std::string& column, std::vector<double>& codes) const;
  // Columns that what is asked for reads, beside those that change or are held.
  std::vector<ColumnInfo> others() const;

  struct Answer {
    std::vector<double> mean;
    std::vector<std::vector<double>> draws;  // without noise; empty: not to be had
  };
  // Rows of the table, with values[c][i] in the place of columns[c] of row i.
  Answer ask(const std::vector<std::int64_t>& of_rows, const std::vector<std::vector<double>>& values) const;

 private:
  std::size_t component() const;  // the one that is asked for
  bool has_draws() const;
};

// Rank correlation of two columns of numbers or times, where both have a value: at least 0.
double together(const Column& a, const Column& b);

std::vector<std::int64_t> some_of(std::vector<std::int64_t> rows, std::int64_t most, std::uint64_t seed);
std::vector<double> centred(std::vector<double> values);
double sample_quantile(const std::vector<double>& sorted, double p);  // between its two nearest values

// The band of the draws, moved from their mean to that of the predictions.
void add_band(const std::vector<std::vector<double>>& draws, double level, const std::vector<double>& mean,
              std::vector<double>& lower, std::vector<double>& upper);

}  // namespace ick
