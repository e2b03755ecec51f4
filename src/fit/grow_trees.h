#pragma once

#include <memory>
#include <string>

#include "ick/fit/fit.h"
#include "trees/grown.h"

// The trees of a formula are grown before its other terms are fitted, which learn what they leave.
namespace ick {

// By five folds that resemble validation rows, which are one of them: what trees predict of a row that they have not seen,
// as they have not seen those that will be predicted.
//   column_i = T_{-k(i)}(x_i) of the rows to learn from, T(x_i) of all others;  T: grown on all rows to learn from
// To learn from: training rows, and validation rows where a second training takes these, too.
struct FirstTrees {
  std::shared_ptr<const GrownTrees> trees;
  Table table;        // with the column
  double rmse = 0.0;  // of T_{-k(i)}, in the transformed target's units
  Message text;       // "boost(a, b): 143 rounds; ..."
};
FirstTrees grow_trees(const Table& table, const FitPlan& plan, const FitHooks& hooks);

// The plan for what they leave: their column is an offset.
void take_trees(const FirstTrees& first, FitPlan& plan);

// Rows of the five folds: numbers from 0, -1 for those that no fold has.
std::vector<int> folds_of_trees(const Table& table, const FitPlan& plan);

}  // namespace ick
