#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ick/base/error.h"
#include "ick/fit/fit.h"

// Plain data to JSON and back. Readers throw nlohmann's exceptions, which the caller turns into a DataError with the
// file's name.
namespace ick {

// A choice by its name; DataError when there is none of that name.
template <class Choice>
Choice choice_from(const nlohmann::json& json) {
  const auto found = find_choice<Choice>(json.get<std::string>());
  if (!found) throw DataError("no choice named \"" + json.get<std::string>() + "\"");
  return *found;
}

nlohmann::json to_json(const FitOptions& options);
FitOptions options_from_json(const nlohmann::json& json);

std::string likelihood_from(const nlohmann::json& json);  // of a model or settings up to format 3

nlohmann::json to_json(const Encoder& encoder);
Encoder encoder_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Scores& scores);  // null for scores that are not numbers
Scores scores_from_json(const nlohmann::json& json);

nlohmann::json to_json(const ClassScores& scores);
ClassScores class_scores_from_json(const nlohmann::json& json);

nlohmann::json to_json(const EpochRecord& record);
nlohmann::json to_json(const FitReport& report);
FitReport report_from_json(const nlohmann::json& json);

nlohmann::json to_json(const std::vector<ParameterValue>& values);

}  // namespace ick
