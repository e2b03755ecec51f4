#pragma once

#include <nlohmann/json.hpp>

#include "ick/evaluate/cross_validation.h"

// What folds gave, as text: from process to process, in the files of an interrupted run, and for --json.
namespace ick {

nlohmann::json to_json(const FoldResult& result);  // every digit
FoldResult fold_result_from_json(const nlohmann::json& json);

nlohmann::ordered_json to_json(const CrossValidation& all);  // without rows
nlohmann::ordered_json to_json(const Estimate& estimate);

nlohmann::json finite_json(double value);  // what is not a number is null

}  // namespace ick
