#include "ick/ick.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "ick/fit/fit.h"
#include "ick/store/json.h"
#include "ick/store/model_directory.h"
#include "ick/store/update.h"

namespace ick {

namespace {

// Rows with a target, spread over the table: what a saved model is verified by.
Table some_rows(const Table& table, const std::string& target) {
  constexpr std::int64_t kRows = 20;
  const Column& column = table.column(target);
  std::vector<std::int64_t> known, picked;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (!std::isnan(column.values[i])) known.push_back(i);
  }
  const std::int64_t step = std::max<std::int64_t>(1, std::ssize(known) / kRows);
  for (std::int64_t i = 0; i < std::ssize(known) && std::ssize(picked) < kRows; i += step) picked.push_back(known[i]);
  return select_rows(table, picked);
}

// One line for each epoch, as the program writes it.
std::string log_of(const FitReport& report) {
  std::string log;
  for (const EpochRecord& each : report.history) log += to_json(each).dump() + "\n";
  return log;
}

}  // namespace

struct Fitted::State {
  PredictorFit fit;
  Table sample;
  DataOrigin origin;
};

const Predictor& Fitted::model() const { return *state_->fit.model; }
const FitReport& Fitted::report() const { return state_->fit.report; }

void Fitted::save(const std::string& folder, const std::string& source) const {
  DataOrigin origin = state_->origin;
  origin.path = source;
  save_model(model(), report(), folder, state_->sample, origin, log_of(report()));
}

Fitted fit(const Table& table, const std::string& formula, const FitOptions& options, const FitControl& control) {
  FitHooks hooks;
  hooks.progress = control.progress;
  hooks.interrupted = control.cancelled;
  hooks.planned = [&](const FitPlan& plan) {
    if (!control.remark) return;
    for (const Message& remark : plan.remarks) control.remark(remark);
  };
  PredictorFit made = fit_predictor(table, parse_formula(formula), options, hooks);
  Table sample = some_rows(table, made.model->target().name);
  DataOrigin origin{"", table.names(), fingerprint(table)};
  return Fitted(
      std::make_shared<const Fitted::State>(Fitted::State{std::move(made), std::move(sample), std::move(origin)}));
}

std::shared_ptr<const Predictor> load(const std::string& folder, const LoadOptions& options) {
  return load_model(folder, options).model;
}

DataSummary remembered(const std::string& folder, const LoadOptions& options) {
  const StoredModel stored = load_model(folder, options);
  if (stored.report.summary) return *stored.report.summary;
  throw UsageError("the model \"" + folder + "\" was written by ick " + stored.version +
                   ", which did not remember its rows; make a summary of the table that it was fitted on");
}

struct Updated::State {
  StoredUpdate stored;
  Table sample;
};

const Predictor& Updated::model() const { return state_->stored.update.model; }
const UpdateReport& Updated::report() const { return state_->stored.update.report; }
void Updated::save(const std::string& folder) const { state_->stored.save(folder, state_->sample); }

Updated update(const std::string& folder, const Table& rows, const std::string& source, const LoadOptions& options) {
  const StoredModel stored = load_model(folder, options);
  StoredUpdate made = update_stored(stored, rows, source);
  Table sample = some_rows(rows, stored.model->target().name);
  return Updated(std::make_shared<const Updated::State>(Updated::State{std::move(made), std::move(sample)}));
}

}  // namespace ick
