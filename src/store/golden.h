#pragma once

#include <string>

#include "ick/store/model_directory.h"

// A few rows with what a model predicted when it was saved.
namespace ick {

struct GoldenFile {
  std::string name, bytes;
};

// As a table; for models that read images, what networks and kernels read of the rows, and the functions there.
// NumericError when a prediction is not finite.
GoldenFile golden_file(const Predictor& model, const Table& table);
std::string golden_name(const Predictor& model);  // of the file

// Predicts the rows again; `bytes` are those of the file at `path`.
Verification verify_golden(const Predictor& model, const std::string& path, const std::string& bytes);

}  // namespace ick
