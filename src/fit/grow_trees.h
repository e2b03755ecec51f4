#pragma once

#include <memory>
#include <vector>

#include "fit/calibrate.h"
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
  Table table;                      // with the column
  std::vector<double> others = {};  // what the other terms predicted of each row when these were grown; empty: nothing
  double rmse = 0.0;                // of T_{-k(i)} and the others, in the transformed target's units
};
// `others`, of the rows of the table in the transformed target's units, are taken off the target; empty: nothing.
FirstTrees grow_trees(const Table& table, const FitPlan& plan, const FitHooks& hooks, std::vector<double> others = {});

// The same again, on what the other terms leave, as long as that helps: backfitting (Breiman and Friedman 1985). To trees
// grown first what the others will learn is noise. Beside networks, which would have to be trained each time, they are grown once.
FirstTrees backfit_trees(const Table& table, const FitPlan& plan, const FitHooks& hooks);

// The plan for what they leave: their column is an offset.
void take_trees(const FirstTrees& first, FitPlan& plan);

// Parts of a model's rows, left out in turn, as trees predict them that were grown again without them; at most five times,
// so that futures which follow each other share trees that know none of them.
void grow_without(const Table& given, const FitPlan& plan, const FirstTrees& grown, LeftOutRows& left_out);

// Rows of the five folds: numbers from 0, -1 for those that no fold has.
std::vector<int> folds_of_trees(const Table& table, const FitPlan& plan);

}  // namespace ick
