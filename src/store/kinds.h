#pragma once

#include <string>

#include "ick/base/error.h"
#include "ick/formula/formula.h"
#include "ick/store/predictor_kind.h"

// What files of models have in common, whatever their kind.
namespace ick {

inline constexpr char kComposite[] = "composite";  // networks and kernels
PredictorKind composite_kind();

[[noreturn]] void damaged(const std::string& path, const std::string& reason);

// What came from elsewhere may run code of its own, which the user has to allow.
class UntrustedCode : public UsageError {
 public:
  using UsageError::UsageError;
};
void refuse_code(const Formula& formula, const std::string& path);

}  // namespace ick
