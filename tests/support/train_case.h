#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fit/choices.h"
#include "ick/base/seed.h"
#include "ick/formula/formula.h"
#include "ick/model/model.h"
#include "support/gradient_check.h"

// What the tests of training share: tables made of numbers, and a model on one.
namespace ick {

using Columns = std::vector<std::pair<std::string, std::vector<double>>>;

inline Table make_table(const Columns& columns) {
  Table table;
  for (const auto& [name, values] : columns) {
    Column& column = table.columns.emplace_back();
    column.info.name = name;
    column.values = values;
    table.rows = static_cast<std::int64_t>(values.size());
  }
  return table;
}

inline std::vector<double> normal_numbers(std::int64_t count, std::uint64_t seed) {
  Random random(seed_for(seed, "normal numbers"));
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(random.normal());
  return numbers;
}

// Columns a, b, c, t, s, u of normal numbers, and y, a smooth function of them with a fifth of noise.
inline Table generic_table(std::int64_t rows, std::uint64_t seed = 1) {
  Columns columns;
  for (const char* name : {"a", "b", "c", "t", "s", "u", "y"}) {
    columns.emplace_back(name, normal_numbers(rows, seed_for(seed, name)));
  }
  const auto at = [&](std::size_t column, std::int64_t i) { return columns[column].second[i]; };
  for (std::int64_t i = 0; i < rows; ++i) {
    const double smooth =
        std::tanh(at(0, i) - at(1, i)) * std::cos(2.0 * at(3, i)) + std::sin(at(2, i) + at(4, i)) + 0.5 * at(5, i);
    columns[6].second[i] = 3.0 + 2.0 * smooth + 0.4 * at(6, i);
  }
  return make_table(columns);
}

// A formula's model on a table, all of whose rows are training rows.
struct TrainCase {
  ModelSpec spec;
  Encoder encoder;
  Dataset rows;

  TrainCase(const Table& table, const std::string& formula) : spec(make_spec(parse_formula(formula), table.names())) {
    encoder = fit_encoder(table, encoder_plan(spec, {}), std::vector<bool>(table.rows, true));
    rows = encode(table, encoder, true);
    choose_features(spec, rows.size());
  }

  std::unique_ptr<Model> model(std::int64_t members = 1, std::uint64_t seed = 0) const {
    ModelOptions options;
    options.members = members;
    options.seed = seed;
    options.layers = {6, 4};
    return std::make_unique<Model>(spec, encoder, rows, options);
  }
};

inline std::vector<NamedTensor> all_parameters(const Model& model) {
  std::vector<NamedTensor> all = model.network_parameters();
  for (const NamedTensor& each : model.kernel_parameters()) all.push_back(each);
  return all;
}

inline at::Tensor parameter_of(const Model& model, const std::string& path) {
  for (const NamedTensor& each : all_parameters(model)) {
    if (each.path == path) return each.value;
  }
  return {};
}

// Networks in float64, where differences are exact enough to check gradients by.
inline void to_double(const Model& model) {
  for (const NamedTensor& each : model.network_parameters()) each.value.set_data(each.value.detach().to(at::kDouble));
}

// (P) true for columns of a kernel's raw parameters that are learned.
inline at::Tensor free_columns(const Kernel& kernel) {
  const at::Tensor free = at::ones({kernel.parameters().size()}, at::kBool);
  for (const Parameter& each : kernel.parameters().parameters()) {
    if (each.fixed) free.narrow(0, each.first, each.count).fill_(false);
  }
  return free;
}

inline std::map<std::string, at::Tensor> by_path(const TensorState& state) { return {state.begin(), state.end()}; }

// Whether two states hold the same tensors, bit for bit; if not, which is the first that differs.
inline std::string first_difference(const TensorState& a, const TensorState& b) {
  if (a.size() != b.size()) return "another number of tensors";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first) return a[i].first + " against " + b[i].first;
    if (!at::equal(a[i].second, b[i].second)) return a[i].first;
  }
  return "";
}

}  // namespace ick
