#include "trees/sums.h"

#include <ATen/ATen.h>

#include <cmath>

#include "dataset/rhythm.h"
#include "ick/base/error.h"

namespace ick {

namespace {

std::string sum_name(std::size_t i) { return "trees" + std::to_string(i); }

[[noreturn]] void refuse_trees(const std::string& name) {
  throw DataError("\"" + name + "\" of its trees is missing or makes no sense");
}

}  // namespace

void read_tree_columns(const Table& table, const std::vector<std::string>& columns, EncoderPlan& plan) {
  for (const std::string& name : columns) {
    if (table.column(name).info.type == ColumnType::time) plan.kernel_columns.push_back(name);
  }
  plan.networks = {NetworkPlan{columns}};
}

at::Tensor calendar_of(const Table& table, const Encoder& encoder, const std::vector<bool>& use) {
  std::vector<double> numbers;
  for (std::size_t c = 0; c < encoder.kernel_columns.size(); ++c) {
    const Numbers& values = table.column(encoder.kernel_columns[c].info.name).values;
    std::vector<double> times;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (use[i] && !std::isnan(values[i])) times.push_back(values[i]);
    }
    for (const double period : rhythm_of(std::move(times), 1.0, {}, kSeenOnce).periods) {
      numbers.push_back(static_cast<double>(c)), numbers.push_back(period);
    }
  }
  return at::tensor(numbers, at::kDouble).reshape({-1, 2});
}

// A full hour is no exact share of a day: without rounding some would fall before it.
at::Tensor tree_values(const Dataset& rows, const at::Tensor& calendar) {
  // What float32 cannot hold is larger than all else, which is all that trees know of it.
  constexpr double kLargest = 3e38;
  std::vector<at::Tensor> columns = {rows.networks[0].clamp(-kLargest, kLargest)};
  for (std::int64_t k = 0; k < calendar.size(0); ++k) {
    const double* const of = calendar.data_ptr<double>() + 2 * k;
    const at::Tensor turns = rows.x.select(1, static_cast<std::int64_t>(of[0])) / of[1];
    columns.push_back((turns - (turns + 1e-9).floor()).clamp_min(0.0).to(at::kFloat).unsqueeze(1));
  }
  return at::cat(columns, 1);
}

TreeSums::TreeSums(std::vector<Trees> sums, at::Tensor calendar)
    : sums_(std::move(sums)), calendar_(std::move(calendar)) {}

std::vector<at::Tensor> TreeSums::at(const Dataset& rows) const {
  const TreeRows values(tree_values(rows, calendar_));
  std::vector<at::Tensor> found;
  for (const Trees& each : sums_) found.push_back(each.predict(values));
  return found;
}

std::string TreeSums::text() const {
  std::string text = rounds() == 1 ? "" : std::to_string(rounds()) + " rounds";
  for (std::int64_t k = 0; k < calendar_.size(0); ++k) {
    const double period = calendar_.data_ptr<double>()[2 * k + 1];
    text += (text.empty() ? "" : ", ") + std::string("time of the ") + period_text(period, 1.0);
  }
  return text;
}

TensorState TreeSums::tensors() const {
  TensorState state = {{"calendar", calendar_.reshape({-1})}};
  for (std::size_t i = 0; i < sums_.size(); ++i) state.emplace_back(sum_name(i), sums_[i].bytes());
  return state;
}

TreeSums TreeSums::restore(const TensorState& tensors, const Encoder& encoder) {
  std::vector<Trees> sums;
  for (at::Tensor bytes; (bytes = find_tensor(tensors, sum_name(sums.size()))).defined();) {
    if (bytes.scalar_type() != at::kByte) refuse_trees(sum_name(sums.size()));
    sums.push_back(Trees::from_bytes(bytes));
  }
  if (sums.empty() || encoder.networks.size() != 1) refuse_trees(sum_name(0));
  const at::Tensor kept = find_tensor(tensors, "calendar");
  if (!kept.defined() || kept.dim() != 1 || kept.size(0) % 2 != 0) refuse_trees("calendar");
  const at::Tensor calendar = kept.to(at::kDouble).reshape({-1, 2}).contiguous();
  for (std::int64_t k = 0; k < calendar.size(0); ++k) {
    const double* const of = calendar.data_ptr<double>() + 2 * k;
    const bool known = of[0] >= 0.0 && of[0] < static_cast<double>(encoder.kernel_columns.size());
    if (!known || !(of[1] > 0.0) || !std::isfinite(of[1])) refuse_trees("calendar");
  }
  return {std::move(sums), calendar};
}

}  // namespace ick
