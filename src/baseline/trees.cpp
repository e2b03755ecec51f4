#include "baseline/trees.h"

#include <ATen/ATen.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "baseline/kinds.h"
#include "baseline/season.h"
#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

void checked_call(int status) {
  if (status == 0) return;
  std::string reason = XGBGetLastError();
  reason = reason.substr(0, reason.find('\n'));
  throw NumericError("XGBoost could not go on: " + reason);
}

// The library never prints.
void* new_booster(const std::vector<DMatrixHandle>& rows) {
  checked_call(XGBSetGlobalConfig(R"({"verbosity": 0})"));
  BoosterHandle handle = nullptr;
  checked_call(XGBoosterCreate(rows.data(), rows.size(), &handle));
  checked_call(XGBoosterSetParam(handle, "nthread", "1"));
  return handle;
}

void* new_rows(const at::Tensor& values) {
  checked_call(XGBSetGlobalConfig(R"({"verbosity": 0})"));
  const at::Tensor dense = values.contiguous();
  DMatrixHandle handle = nullptr;
  checked_call(XGDMatrixCreateFromMat_omp(dense.data_ptr<float>(), static_cast<bst_ulong>(dense.size(0)),
                                          static_cast<bst_ulong>(dense.size(1)),
                                          std::numeric_limits<float>::quiet_NaN(), &handle, 1));
  return handle;
}

void set_numbers(void* handle, const char* field, const at::Tensor& numbers) {
  const at::Tensor dense = numbers.to(at::kFloat).contiguous();
  checked_call(XGDMatrixSetFloatInfo(handle, field, dense.data_ptr<float>(), static_cast<bst_ulong>(dense.numel())));
}

std::string tree_name(std::size_t i) { return "trees" + std::to_string(i); }

}  // namespace

TreeRows::TreeRows(const at::Tensor& values) : handle_(new_rows(values), XGDMatrixFree), rows_(values.size(0)) {}

TreeRows::TreeRows(const at::Tensor& values, const at::Tensor& targets, const at::Tensor& weights) : TreeRows(values) {
  set_numbers(handle(), "label", targets);
  set_numbers(handle(), "weight", weights);
}

Trees::Trees(void* handle) : handle_(handle, XGBoosterFree) {}

Trees::Trees(const std::map<std::string, std::string>& settings, const TreeRows& rows)
    : Trees(new_booster({rows.handle()})) {
  for (const auto& [name, value] : settings) {
    checked_call(XGBoosterSetParam(handle_.get(), name.c_str(), value.c_str()));
  }
}

void Trees::add_round(const TreeRows& rows) {
  checked_call(XGBoosterUpdateOneIter(handle_.get(), rounds(), rows.handle()));
}

int Trees::rounds() const {
  int count = 0;
  checked_call(XGBoosterBoostedRounds(handle_.get(), &count));
  return count;
}

Trees Trees::first(int count) const {
  BoosterHandle part = nullptr;
  checked_call(XGBoosterSlice(handle_.get(), 0, count, 1, &part));
  return Trees(part);
}

at::Tensor Trees::predict(const TreeRows& rows) const {
  if (rows.size() == 0) return at::empty({0}, at::kDouble);
  checked_call(XGBSetGlobalConfig(R"({"verbosity": 0})"));
  const bst_ulong* shape = nullptr;
  bst_ulong axes = 0;
  const float* found = nullptr;
  checked_call(XGBoosterPredictFromDMatrix(
      handle_.get(), rows.handle(),
      R"({"type": 0, "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": true})", &shape,
      &axes, &found));
  const auto n = static_cast<std::int64_t>(shape[0]);
  const std::int64_t groups = axes > 1 ? static_cast<std::int64_t>(shape[1]) : 1;
  const at::Tensor all = at::empty({n, groups}, at::kFloat);
  std::copy_n(found, n * groups, all.data_ptr<float>());
  return (groups == 1 ? all.select(1, 0) : all).to(at::kDouble);
}

at::Tensor Trees::bytes() const {
  bst_ulong size = 0;
  const char* from = nullptr;
  checked_call(XGBoosterSaveModelToBuffer(handle_.get(), R"({"format": "ubj"})", &size, &from));
  at::Tensor all = at::empty({static_cast<std::int64_t>(size)}, at::kByte);
  std::memcpy(all.data_ptr(), from, size);
  return all;
}

Trees Trees::from_bytes(const at::Tensor& bytes) {
  Trees trees(new_booster({}));
  const at::Tensor dense = bytes.contiguous();
  if (XGBoosterLoadModelFromBuffer(trees.handle_.get(), dense.data_ptr(), static_cast<bst_ulong>(dense.numel())) != 0) {
    throw DataError("its trees are not those that XGBoost has written");
  }
  checked_call(XGBoosterSetParam(trees.handle_.get(), "nthread", "1"));
  return trees;
}

void read_tree_columns(const BaselineTask& task, EncoderPlan& plan) {
  const BaselineRoles roles = roles_of(task);
  for (const std::string& name : roles.columns) {
    if (task.table.column(name).info.type == ColumnType::time) plan.kernel_columns.push_back(name);
  }
  read_all_columns(task, plan);
}

at::Tensor calendar_of(const BaselineTask& task, const Encoder& encoder) {
  std::vector<double> numbers;
  for (std::size_t c = 0; c < encoder.kernel_columns.size(); ++c) {
    BaselineRoles time;
    time.time = encoder.kernel_columns[c].info.name, time.time_unit = "d";
    for (const double period : rhythm_of(task, time, kSeenOnce).periods) {
      numbers.push_back(static_cast<double>(c)), numbers.push_back(period);
    }
  }
  return at::tensor(numbers, at::kDouble).reshape({-1, 2});
}

// A full hour is no exact share of a day: without rounding some would fall before it.
at::Tensor tree_values(const Dataset& rows, const at::Tensor& calendar) {
  std::vector<at::Tensor> columns = {rows.networks[0]};
  for (std::int64_t k = 0; k < calendar.size(0); ++k) {
    const double* const of = calendar.data_ptr<double>() + 2 * k;
    const at::Tensor turns = rows.x.select(1, static_cast<std::int64_t>(of[0])) / of[1];
    columns.push_back((turns - (turns + 1e-9).floor()).clamp_min(0.0).to(at::kFloat).unsqueeze(1));
  }
  return at::cat(columns, 1);
}

TreesRule::TreesRule(std::vector<Trees> trees, at::Tensor calendar, Combine combine)
    : trees_(std::move(trees)), calendar_(std::move(calendar)), combine_(combine) {}

at::Tensor TreesRule::at(const Dataset& rows) const {
  const TreeRows values(tree_values(rows, calendar_));
  std::vector<at::Tensor> found;
  for (const Trees& each : trees_) found.push_back(each.predict(values));
  return combine_(found);
}

TensorState TreesRule::tensors() const {
  TensorState state = {{"calendar", calendar_.reshape({-1})}};
  for (std::size_t i = 0; i < trees_.size(); ++i) state.emplace_back(tree_name(i), trees_[i].bytes());
  return state;
}

std::string TreesRule::text() const {
  std::string text = rounds() == 1 ? "" : std::to_string(rounds()) + " rounds";
  for (std::int64_t k = 0; k < calendar_.size(0); ++k) {
    const double period = calendar_.data_ptr<double>()[2 * k + 1];
    text += (text.empty() ? "" : ", ") + std::string("time of the ") + period_text(period, 1.0);
  }
  return text;
}

std::shared_ptr<const BaselineRule> restore_trees(const TensorState& tensors, const Encoder& encoder,
                                                  TreesRule::Combine combine) {
  std::vector<Trees> trees;
  for (at::Tensor bytes; (bytes = find_tensor(tensors, tree_name(trees.size()))).defined();) {
    if (bytes.scalar_type() != at::kByte) refuse_kept(tree_name(trees.size()));
    trees.push_back(Trees::from_bytes(bytes));
  }
  const std::vector<double> calendar = kept_numbers(tensors, "calendar");
  for (std::size_t k = 0; k + 1 < calendar.size(); k += 2) {
    const bool known = calendar[k] >= 0.0 && calendar[k] < static_cast<double>(encoder.kernel_columns.size());
    if (!known || !(calendar[k + 1] > 0.0)) refuse_kept("calendar");
  }
  if (trees.empty() || encoder.networks.size() != 1 || calendar.size() % 2 != 0) refuse_kept(tree_name(0));
  return std::make_shared<TreesRule>(std::move(trees), at::tensor(calendar, at::kDouble).reshape({-1, 2}), combine);
}

}  // namespace ick
