#pragma once

#include <algorithm>
#include <array>
#include <string_view>

// The files of a model's folder. This list is what save_model writes, and all that it ever takes away of an older
// model.
namespace ick {

inline constexpr std::string_view kModelJson = "model.json", kWeights = "weights.safetensors",
                                  kPosterior = "posterior.safetensors", kGoldenTable = "golden.csv",
                                  kGoldenTensors = "golden.safetensors", kTrainLog = "train.log.jsonl";
inline constexpr std::array kModelFiles = {kModelJson, kWeights, kPosterior, kGoldenTable, kGoldenTensors, kTrainLog};

inline bool is_model_file(std::string_view name) {
  return std::find(kModelFiles.begin(), kModelFiles.end(), name) != kModelFiles.end();
}

inline constexpr std::string_view kModelFormatName = "ick.model", kCheckpointFormatName = "ick.checkpoint";

}  // namespace ick
