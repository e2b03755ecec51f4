#pragma once

#include "ick/fit/fit.h"
#include "ick/inference/engine.h"

namespace ick {

// Columns of the table that the formula may read. `.` does not stand for those that say which rows are set apart: rows
// to be predicted differ from all that are learned from by these. `left_out`: those it would have stood for.
std::vector<std::string> columns_for(const Formula& formula, const Table& table, const FitOptions& options,
                                     std::vector<std::string>* left_out = nullptr);

// The likelihood of the target, if the options do not say; UsageError or DataError when it does not go with the others.
void choose_likelihood(const Table& table, const Formula& formula, const std::vector<bool>& use, FitPlan& plan);
// All other options that are left open, for so many training rows.
void choose_options(const ModelSpec& spec, std::int64_t rows, FitPlan& plan);

// What a fit's tensors take, about.
FitBytes bytes_of(const FitPlan& plan);
// Features alone where neighbours would take more than `free` bytes and were not asked for, with a remark.
void choose_for_memory(FitPlan& plan, double free);
// UsageError when that is more than `free` bytes: how many members would fit.
void check_memory(const FitPlan& plan, double free);

}  // namespace ick
