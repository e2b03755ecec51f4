#pragma once

#include <string>

#include "ick/evaluate/cross_validation.h"

// What `ick cv` and `ick compare` say.
namespace ick {

std::string plan_text(
    const FoldPlan& plan);  // "5 folds by group(station), as asked; 320 rows to learn from, 80 to test"
bool is_share(const std::string& score);
// "4.1", "-" for what is not known; of shares percent.
std::string score_text(const std::string& score, double value);
// "3.30 +- 0.24": two digits of the error, and as many places of the mean; "+" before it where a `sign` is asked for.
std::string with_error(const std::string& score, const Estimate& estimate, bool sign = false);
std::string score_label(const ScoreKind& kind, double level);  // "rmse", "90% covers"
const char* error_text();                                      // what standard errors are

void print_folds(const CrossValidation& all, const std::string& formula);            // stdout
void print_optimism(const CrossValidation& blocked, const CrossValidation& random);  // stdout
std::string folds_csv(const CrossValidation& all);

}  // namespace ick
