#include "trees/xgboost.h"

#include <ATen/ATen.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "ick/base/error.h"

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

}  // namespace

TreeRows::TreeRows(const at::Tensor& values) : handle_(new_rows(values), XGDMatrixFree), rows_(values.size(0)) {}

TreeRows::TreeRows(const at::Tensor& values, const at::Tensor& targets, const at::Tensor& weights) : TreeRows(values) {
  set_numbers(handle(), "label", targets);
  set_numbers(handle(), "weight", weights);
}

Trees::Trees(void* handle) : handle_(handle, XGBoosterFree) {}

Trees::Trees(const TreeSettings& settings, const TreeRows& rows) : Trees(new_booster({rows.handle()})) {
  for (const auto& [name, value] : settings) {
    checked_call(XGBoosterSetParam(handle_.get(), name.c_str(), value.c_str()));
  }
  rounds();  // settles the number of columns, which it finds only in the thread that named the rows
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

}  // namespace ick
