#include "store/golden.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

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
std::vector<std::string> golden_names(const Predictor& model) {
  std::vector<std::string> names = {"mean", "sd", "lower", "upper"};
  if (!model.classes().empty()) {
    names.clear();
    for (const std::string& each : model.classes()) names.push_back("p_" + each);
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

// Spread over the rows that have all columns, or over all where none has.
std::vector<std::int64_t> golden_rows(const Predictor& model, const Table& table) {
  std::vector<ColumnInfo> needed = model.columns();
  needed.push_back(model.target());
  std::vector<std::int64_t> whole;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    const bool known = std::all_of(needed.begin(), needed.end(), [&](const ColumnInfo& info) {
      const Column& column = table.column(info.name);
      return column.values.empty() ||
             (!std::isnan(column.values[i]) && !(column.info.type == ColumnType::category && column.values[i] < 0.0));
    });
    if (known) whole.push_back(i);
  }
  if (whole.empty()) {
    whole.resize(static_cast<std::size_t>(table.rows));
    std::iota(whole.begin(), whole.end(), 0);
  }
  const std::int64_t step = std::max<std::int64_t>(1, std::ssize(whole) / kGoldenRows);
  std::vector<std::int64_t> picked;
  for (std::int64_t i = 0; i < std::ssize(whole) && std::ssize(picked) < kGoldenRows; i += step) {
    picked.push_back(whole[i]);
  }
  return picked;
}

[[noreturn]] void not_finite(std::int64_t row) {
  throw NumericError("the trained model predicts no finite number for row " + std::to_string(row + 1) +
                     " of the table; lower the learning rate or clip gradients");
}

// As the model reads them, with their predictions. Times are days since 1970, so that no digit is lost.
std::string golden_text(const Predictor& model, const Table& table) {
  const std::vector<std::int64_t> picked = golden_rows(model, table);
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
  std::optional<Table> made;
  const Dataset all = open_rows(model.readable(table, made), model.encoder, std::vector<bool>(table.rows, true));
  const std::int64_t step = std::max<std::int64_t>(1, all.size() / kGoldenRows);
  const Dataset rows = all.select(at::arange(0, std::min(all.size(), step * kGoldenRows), step, at::kLong));
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
Verification verify_rows(const Predictor& model, const std::string& path) {
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
  const bool classes = !model.classes().empty();
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

GoldenFile golden_file(const Predictor& model, const Table& table) {
  const auto* composite = dynamic_cast<const CompositePredictor*>(&model);
  if (golden_name(model) == kGoldenTable) return {golden_name(model), golden_text(model, table)};
  return {golden_name(model), safetensors_bytes(golden_state(*composite, table), {{"format", "ick.model"}})};
}

std::string golden_name(const Predictor& model) {
  const bool tensors = model.reads_images() && dynamic_cast<const CompositePredictor*>(&model) != nullptr;
  return std::string(tensors ? kGoldenTensors : kGoldenTable);
}

Verification verify_golden(const Predictor& model, const std::string& path, const std::string& bytes) {
  if (golden_name(model) == kGoldenTable) return verify_rows(model, path);
  return verify_functions(dynamic_cast<const CompositePredictor&>(model), parse_safetensors(bytes, path));
}

}  // namespace ick
