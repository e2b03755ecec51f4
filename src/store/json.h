#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ick/train/fit.h"

// Plain data to JSON and back. Readers throw nlohmann's exceptions, which the caller turns into a DataError with the
// file's name.
namespace ick {

nlohmann::json to_json(const FitOptions& options);
FitOptions options_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Encoder& encoder);
Encoder encoder_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Scores& scores);  // null for scores that are not numbers
Scores scores_from_json(const nlohmann::json& json);

nlohmann::json to_json(const FitReport& report);
FitReport report_from_json(const nlohmann::json& json);

nlohmann::json to_json(const std::vector<ParameterValue>& values);

}  // namespace ick
