#include "store/golden.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/net/safetensors.h"
#include "ick/table/csv.h"
#include "store/model_files.h"

namespace ick {

namespace {

constexpr std::int64_t kGoldenRows = 20;
constexpr double kGoldenLevel = 0.9;

// A number that reads back as the same; none where a log-normal mean is out of range.
std::string number_cell(double value) { return std::isfinite(value) ? number_text(value) : ""; }

// One cell of a table as text that reads back as the same value.
std::string cell_text(const Column& column, std::int64_t row) {
  if (column.info.type == ColumnType::text) return column.text[row];
  const double value = column.values[row];
  if (column.info.type != ColumnType::category) return number_cell(value);
  return value >= 0.0 ? column.info.levels[static_cast<std::size_t>(value)] : "";
}

// mean, sd, lower and upper, of classes their probabilities, or what they are called where a column of the model has
// that name.
std::vector<std::string> golden_names(const CompositePredictor& model) {
  std::vector<std::string> names = {"mean", "sd", "lower", "upper"};
  if (model.likelihood->has_classes()) {
    names.clear();
    for (const std::string& each : model.encoder.classes) names.push_back("p_" + each);
  }
  const std::vector<ColumnInfo> columns = model.columns();
  for (std::string& name : names) {
    const auto is_taken = [&](const ColumnInfo& info) { return info.name == name; };
    while (std::any_of(columns.begin(), columns.end(), is_taken)) name = "predicted_" + name;
  }
  return names;
}

std::vector<const std::vector<double>*> golden_numbers(const Prediction& p) {
  if (p.probability.empty()) return {&p.mean, &p.sd, &p.lower, &p.upper};
  std::vector<const std::vector<double>*> numbers;
  for (const std::vector<double>& each : p.probability) numbers.push_back(&each);
  return numbers;
}

bool reads_images(const CompositePredictor& model) {
  const auto& networks = model.encoder.networks;
  return std::any_of(networks.begin(), networks.end(),
                     [](const NetworkInputs& each) { return each.image.has_value(); });
}

// Rows spread over those with a target.
Dataset golden_rows(const CompositePredictor& model, const Table& table) {
  const Dataset all = open_rows(table, model.encoder, std::vector<bool>(table.rows, true));
  const at::Tensor shape = model.noise_shape_of(table, all);  // where a column of the noise's model is missing: NaN
  const at::Tensor known = shape.defined() ? shape.isfinite() : at::ones({all.size()}, at::kBool);
  const at::Tensor index = known.nonzero().select(1, 0).contiguous();
  const std::int64_t step = std::max<std::int64_t>(1, index.size(0) / kGoldenRows);
  const std::int64_t end = std::min(index.size(0), step * kGoldenRows);
  return all.select(index.slice(0, 0, end, step).contiguous());
}

[[noreturn]] void not_finite(std::int64_t row) {
  throw NumericError("the trained model predicts no finite number for row " + std::to_string(row + 1) +
                     " of the table; lower the learning rate or clip gradients");
}

// As the model reads them, with their predictions. Times are days since 1970, so that no digit is lost.
std::string golden_text(const CompositePredictor& model, const Table& table) {
  const std::vector<std::int64_t> picked = golden_rows(model, table).rows;
  const Table all = select_rows(table, picked);
  Table golden;
  golden.rows = all.rows;
  for (const ColumnInfo& info : model.columns()) golden.columns.push_back(all.column(info.name));
  const Prediction p = model.predict(golden, {kGoldenLevel});
  const std::vector<const std::vector<double>*> numbers = golden_numbers(p);
  std::string text;
  for (const Column& column : golden.columns) text += csv_cell(column.info.name, ',') + ",";
  const std::vector<std::string> names = golden_names(model);
  for (std::size_t c = 0; c < names.size(); ++c) text += (c > 0 ? "," : "") + csv_cell(names[c], ',');
  text += "\n";
  for (std::int64_t i = 0; i < golden.rows; ++i) {
    for (const Column& column : golden.columns) text += csv_cell(cell_text(column, i), ',') + ",";
    const bool finite = p.probability.empty() ? std::isfinite(p.location[i]) && std::isfinite(p.scale[i])
                                              : std::isfinite(p.probability[0][i]);
    if (!finite) not_finite(picked[i]);
    for (std::size_t c = 0; c < numbers.size(); ++c) text += (c > 0 ? "," : "") + number_cell((*numbers[c])[i]);
    text += "\n";
  }
  return text;
}

// What the model reads of some rows, and its functions there.
TensorState golden_state(const CompositePredictor& model, const Table& table) {
  const Dataset rows = golden_rows(model, table);
  const Batch batch = batch_of(rows, 0, rows.size());
  TensorState state = {{"x", batch.x}};
  for (std::size_t a = 0; a < batch.networks.size(); ++a) {
    state.emplace_back("network" + std::to_string(a + 1), batch.networks[a]);
  }
  const at::NoGradGuard no_grad;
  const at::Tensor functions = model.model()(batch);
  if (!functions.isfinite().all().item<bool>()) not_finite(rows.rows[0]);
  state.emplace_back("functions", functions);
  return state;
}

// Differences in units of the functions' sd.
Verification verify_functions(const CompositePredictor& model, const TensorState& state) {
  Batch batch;
  at::Tensor expected;
  for (const auto& [name, tensor] : state) {
    if (name == "x") batch.x = tensor;
    if (name.starts_with("network")) batch.networks.push_back(tensor);
    if (name == "functions") expected = tensor;
  }
  const at::NoGradGuard no_grad;
  const at::Tensor found = model.model()(batch);
  Verification result;
  result.rows = batch.x.size(0);
  const double difference = (found - expected).abs().max().item<double>() / (expected.std().item<double>() + 1e-6);
  result.largest_difference = std::isnan(difference) ? HUGE_VAL : difference;
  result.passed = result.largest_difference <= kVerifyTolerance;
  return result;
}

// A table as golden_text() made it.
Verification verify_rows(const CompositePredictor& model, const std::string& path) {
  ReadOptions options;
  options.known = model.columns();
  for (ColumnInfo& info : options.known) {
    if (info.type == ColumnType::time) info = {info.name, ColumnType::number, "", {}};
  }
  const std::vector<std::string> names = golden_names(model);
  for (const std::string& name : names) options.known.push_back({name, ColumnType::number, "", {}});
  Table golden = read_table(path, options);
  for (const ColumnInfo& info : model.columns()) {
    for (Column& column : golden.columns) {
      if (column.info.name == info.name) column.info.type = info.type;
    }
  }
  const Prediction p = model.predict(golden, {kGoldenLevel});
  Verification result;
  result.rows = golden.rows;
  const std::vector<const std::vector<double>*> predicted = golden_numbers(p);
  const bool classes = model.likelihood->has_classes();
  for (std::size_t c = 0; c < names.size(); ++c) {
    const Numbers& expected = golden.column(names[c]).values;
    for (std::int64_t i = 0; i < golden.rows; ++i) {
      const double found = (*predicted[c])[i];
      if (std::isnan(expected[i]) && !std::isfinite(found)) continue;
      const double scale = classes ? 1.0 : golden.column(names[1]).values[i];
      const double difference = std::abs(found - expected[i]) / scale;
      result.largest_difference = std::max(result.largest_difference, std::isnan(difference) ? HUGE_VAL : difference);
    }
  }
  result.passed = result.largest_difference <= kVerifyTolerance;
  return result;
}

}  // namespace

GoldenFile golden_file(const CompositePredictor& model, const Table& table) {
  if (!reads_images(model)) return {golden_name(model), golden_text(model, table)};
  return {golden_name(model), safetensors_bytes(golden_state(model, table), {{"format", "ick.model"}})};
}

std::string golden_name(const CompositePredictor& model) {
  return std::string(reads_images(model) ? kGoldenTensors : kGoldenTable);
}

Verification verify_golden(const CompositePredictor& model, const std::string& path, const std::string& bytes) {
  return reads_images(model) ? verify_functions(model, parse_safetensors(bytes, path)) : verify_rows(model, path);
}

}  // namespace ick
