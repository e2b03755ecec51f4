#pragma once

#include <string>

#include "ick/base/error.h"
#include "ick/formula/formula.h"
#include "ick/store/predictor_kind.h"

// What files of models have in common, whatever their kind.
namespace ick {

inline constexpr char kComposite[] = "composite";  // networks and kernels
PredictorKind composite_kind();

PredictorKind baseline_kind();

// Calibration: numbers in the JSON, and scores as a tensor, which is not there when there are none.
void calibration_json(const Calibration& calibration, nlohmann::json& json);
void add_scores(const Calibration& calibration, TensorState& state);
Calibration read_calibration(const nlohmann::json& json, const TensorState& state, const std::string& path);

[[noreturn]] void damaged(const std::string& path, const std::string& reason);

// What came from elsewhere may run code of its own, which the user has to allow.
class UntrustedCode : public UsageError {
 public:
  using UsageError::UsageError;
};
void refuse_code(const Formula& formula, const std::string& path);

}  // namespace ick
