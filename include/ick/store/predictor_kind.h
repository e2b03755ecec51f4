#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ick/net/safetensors.h"
#include "ick/predict/predictor.h"

namespace ick {

// What a folder keeps of a predictor: all that is not a tensor (a part of model.json), and its tensors.
struct PredictorParts {
  nlohmann::json json = nlohmann::json::object();
  TensorState weights, posterior;  // either may be empty
};

struct PredictorPlace {
  std::vector<std::string> columns;  // of the table it was fitted on
  std::string directory;             // for messages
  bool trust = false;                // code that comes with it may run
  int format = 0;                    // that the folder was written in
};

// A kind of predictor, by the name that Predictor::kind() gives: how it is written and read. A row of a table.
struct PredictorKind {
  std::string_view name;
  PredictorParts (*write)(const Predictor& predictor) = nullptr;
  // DataError, or an exception of nlohmann, when parts are missing or do not fit together.
  std::shared_ptr<const Predictor> (*read)(const PredictorParts& parts, const PredictorPlace& place) = nullptr;
};

const PredictorKind& predictor_kind(std::string_view name);  // UsageError when there is none of that name

// For programs that bring a predictor of their own. Its name must live as long as the program; UsageError when the name
// is taken or a function is missing.
void add_predictor_kind(const PredictorKind& kind);

}  // namespace ick
