#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ick/fit/fit.h"
#include "ick/store/load_options.h"
#include "ick/store/predictor_kind.h"

namespace ick {

// A model on disk: a folder with
//   model.json            format version, formula, settings, columns with units and levels, scalings, kernels, scores
//   weights.safetensors   parameters and inducing points
//   posterior.safetensors what variances, intervals and support need
//   golden.csv            rows with their predictions, for verify_model; of models that read images golden.safetensors
//                         with what networks and kernels read of the rows, pixels included, and the functions
//   train.log.jsonl       one line for each epoch
// It appears whole or not at all. Nothing else is needed to predict.
inline constexpr int kModelFormat = 5;

// Rows that were taken in after the fit, parameters held.
struct DataUpdate {
  std::string path;  // as given
  std::int64_t rows = 0;
  std::uint32_t fingerprint = 0;
};

struct DataOrigin {
  std::string path;  // as given
  std::vector<std::string> columns;
  std::uint32_t fingerprint = 0;  // checksum of the table
  std::vector<DataUpdate> updates = {};

  std::int64_t rows_added() const;
};

// UsageError when there is something else than a model at `directory`, or anything beside its files in it: that is
// never replaced. Fails before anything is trained when called first.
void check_model_place(const std::string& directory);

// `table` is what it was fitted on, or some of its rows: a few are kept with their predictions.
void save_model(const Predictor& model, const FitReport& report, const std::string& directory, const Table& table,
                const DataOrigin& origin, const std::string& log = "");
inline void save_model(const Fit& fit, const std::string& directory, const Table& table, const DataOrigin& origin,
                       const std::string& log = "") {
  save_model(fit.model, fit.report, directory, table, origin, log);
}

struct StoredModel {
  std::shared_ptr<const Predictor> model;
  FitReport report;  // settings and scores of the fit
  DataOrigin origin;
  int format = kModelFormat;
  std::string version;  // version of the program that wrote it
  std::string json;     // model.json as it stands
  std::string directory;

  // For what only models of networks and kernels have; UsageError that `what` is for those when it is another.
  const CompositePredictor& composite(const std::string& what) const;
};

// DataError when a file is missing, damaged or of a newer format.
StoredModel load_model(const std::string& directory, const LoadOptions& options = {});

struct Verification {
  std::int64_t rows = 0;
  double largest_difference = 0.0;  // difference of mean and sd, over the sd
  bool passed = false;              // below kVerifyTolerance
};
inline constexpr double kVerifyTolerance = 1e-3;  // in predictive sds: float32 on another machine
Verification verify_model(const std::string& directory, const LoadOptions& options = {});

// A fit under way, as one file.
struct StoredCheckpoint {
  Checkpoint checkpoint;
  Formula formula;
  FitOptions options;   // as given to fit()
  std::string data;     // path of the table
  std::string request;  // what else the caller wants to find again: JSON
  std::uint32_t fingerprint = 0;
};
void save_checkpoint(const StoredCheckpoint& checkpoint, const std::string& path);
StoredCheckpoint load_checkpoint(const std::string& path, const LoadOptions& options = {});

}  // namespace ick
