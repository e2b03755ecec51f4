#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ick/dataset/notes.h"
#include "ick/likelihood/predictive.h"
#include "ick/predict/calibration.h"
#include "ick/predict/kernel_view.h"
#include "ick/predict/prediction.h"
#include "ick/table/table.h"

namespace ick {

// Anything that has been fitted and can predict the rows of a table: what the program, the store and comparisons see.
// Free of torch; immutable, and safe to use from several threads.
class Predictor {
 public:
  virtual ~Predictor() = default;

  virtual std::string_view kind() const = 0;  // by which it is stored: a row of the table of ick/store/predictor_kind.h
  virtual std::string formula() const = 0;    // or a description
  virtual const ColumnInfo& target() const = 0;
  virtual std::vector<ColumnInfo> columns() const = 0;          // that predict() reads
  virtual std::vector<ColumnInfo> scoring_columns() const = 0;  // and those that evaluate() reads, target and weights
  virtual const std::vector<std::string>& classes() const = 0;  // text of each; empty for a target of numbers
  virtual Predictive predictive() const = 0;                    // distribution of an observation of numbers
  virtual const Calibration& interval_calibration() const = 0;  // calibration of intervals, or of sets of classes
  virtual Moments training_moments() const = 0;                 // mean and sd of the (transformed) training targets

  // A set of classes holds those of probability at least 1 - threshold(level), and the most probable one. Sets hold the
  // class of a further row with probability at least `level` (split conformal prediction); all of them where there are
  // too few rows to calibrate on.
  double threshold(double level) const;

  // DataError when a column is missing or of another type.
  virtual Prediction predict(const Table& table, const PredictOptions& options = {},
                             EncodingNotes* notes = nullptr) const = 0;
  // Categories of which it knows only the levels of its training rows: `levels` are these.
  virtual std::vector<ColumnInfo> known_levels() const { return {}; }
  virtual bool reads_images() const { return false; }                    // which a table only names
  virtual std::int64_t rows_at_once() const { return 8192; }             // to read, predict and write, that suit it
  virtual std::vector<std::string> support_names() const { return {}; }  // sources that support is told for

  // What a prediction is the sum of, beside a constant. Empty: it is no such sum.
  virtual std::vector<ComponentName> component_names() const { return {}; }
  // What is added up: "pm25", "log(pm25)"; with a link "log mean of cases".
  virtual std::string component_scale() const { return ""; }

  // [draw][row], in the target's units. UsageError for classes.
  virtual std::vector<std::vector<double>> draw(const Table& table, const DrawOptions& options = {}) const = 0;

  // DataError when no row can be scored, or one has a class that no training row has.
  Evaluation evaluate(const Table& table, double level = 0.9, EncodingNotes* notes = nullptr) const;

  virtual bool has_weights() const { return false; }                           // rows count differently in scores
  virtual double row_weight(const Table&, std::int64_t) const { return 1.0; }  // weight of a row of the table

  virtual std::vector<ParameterValue> parameters() const { return {}; }  // learned kernel parameters
  ParameterValue parameter(std::string_view path) const;                 // UsageError with the nearest path
  // Standard deviation of the observation noise in the target's units (of the transformed target); not a number where
  // it has none of one size.
  virtual double noise_sd() const = 0;

  // Learned kernels to be drawn: a curve for each term and each column of numbers or times that its kernels read; a
  // matrix for each term, between at most so many rows of the table, spread over the first column that it reads.
  virtual std::vector<KernelCurve> kernel_curves() const { return {}; }
  virtual std::vector<KernelMatrix> kernel_matrices(const Table&, std::int64_t /*most_rows*/) const { return {}; }
};

}  // namespace ick
