#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ick/base/error.h"
#include "ick/evaluate/comparison.h"
#include "ick/evaluate/cross_validation.h"
#include "ick/evaluate/effects.h"
#include "ick/fit/baselines.h"
#include "ick/fit/control.h"
#include "ick/fit/report.h"
#include "ick/fit/update_report.h"
#include "ick/look/look.h"
#include "ick/predict/predictor.h"
#include "ick/rows/future.h"
#include "ick/rows/grid.h"
#include "ick/rows/map.h"
#include "ick/store/load_options.h"
#include "ick/suggest/suggest.h"
#include "ick/table/csv.h"
#include "ick/table/split.h"
#include "ick/table/table.h"
#include "ick/train/options.h"

// The whole library for its users, free of torch: a table, a formula, a model that predicts.
//
//   const ick::Table table = ick::read_table("air.csv");  // or Table::from columns in memory
//   const ick::Fitted fitted = ick::fit(table, "pm25 ~ mlp(wind) * periodic(date, period=1y)");
//   fitted.save("air.model");
//   const ick::Prediction p = ick::load("air.model")->predict(ick::read_table("tomorrow.csv"));
//
// How well it predicts rows that it has not seen: ick::cross_validate(table, formula), in evaluate/cross_validation.h.
// Whether it predicts better than others, and than simpler models: ick::compare(table, formulas), in
// evaluate/comparison.h.
// Rows that do not exist yet, of what a model remembers of those it has seen (remembered(folder), or
// fitted.report().summary): ick::future_rows, ick::grid_rows and, as a file, ick::write_map, in rows/.
namespace ick {

// What a fit gives.
class Fitted {
 public:
  const Predictor& model() const;
  const Predictor* operator->() const { return &model(); }
  const FitReport& report() const;

  // A folder that load() and the program read, as a whole or not at all. UsageError when there is anything but an older
  // model at `folder`. `source` says where the table came from, for people to read.
  void save(const std::string& folder, const std::string& source = "") const;

 private:
  struct State;
  friend Fitted fit(const Table&, const std::string&, const FitOptions&, const FitControl&);
  explicit Fitted(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Trains a model: the composite model of the formula, or the baseline that options.model names. UsageError, DataError or NumericError with a whole sentence when that cannot be.
Fitted fit(const Table& table, const std::string& formula, const FitOptions& options = {},
           const FitControl& control = {});

// DataError when a file is missing, damaged or of a newer format.
std::shared_ptr<const Predictor> load(const std::string& folder, const LoadOptions& options = {});

// What the model of a folder remembers of the rows that it has seen: how far they reach, which series there are.
// UsageError for models of versions that remembered nothing: summarise() makes it of the table that they were fitted on.
DataSummary remembered(const std::string& folder, const LoadOptions& options = {});

// What an update gives.
class Updated {
 public:
  const Predictor& model() const;
  const Predictor* operator->() const { return &model(); }
  const UpdateReport& report() const;
  void save(const std::string& folder) const;  // as Fitted::save(); the folder of the old model may be replaced

 private:
  struct State;
  friend Updated update(const std::string&, const Table&, const std::string&, const LoadOptions&);
  explicit Updated(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// The model of a folder given further rows at the parameters it has: the same as conditioned on old and new rows
// together, and what the new rows say of the model before. The folder stays as it is. `source` says where the rows came
// from, for people to read. UsageError for models that keep nothing that rows could be added to (all but those of
// kernels only with Gaussian noise); DataError for rows that do not fit it, or that it knows.
Updated update(const std::string& folder, const Table& rows, const std::string& source = "",
               const LoadOptions& options = {});

}  // namespace ick
