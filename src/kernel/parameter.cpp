#include "ick/kernel/parameter.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <cmath>
#include <iterator>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

// constrain() for a tensor of raw numbers, differentiable
at::Tensor constrain(const Constraint& constraint, const at::Tensor& raw) {
  switch (constraint.kind) {
    case Constraint::Kind::real:
      return raw;
    case Constraint::Kind::positive:
      return raw.exp();
    case Constraint::Kind::interval:
      break;
  }
  const at::Tensor share = raw.sigmoid();
  if (constraint.low > 0.0)
    return constraint.low * (share * (std::log(constraint.high) - std::log(constraint.low))).exp();
  return constraint.low + (constraint.high - constraint.low) * share;
}

double unconstrain_or_throw(const Parameter& parameter, double value) {
  if (!admits(parameter.constraint, value)) {
    throw UsageError(parameter.path + ": " + number_text(value) + " is not " + describe(parameter.constraint));
  }
  return unconstrain(parameter.constraint, value);
}

}  // namespace

void ParameterSet::add(Parameter parameter, const std::vector<double>& start) {
  if (std::ssize(start) != members_ * parameter.count) {
    throw UsageError(parameter.path + ": " + std::to_string(start.size()) + " starting values for " +
                     std::to_string(members_ * parameter.count) + " numbers");
  }
  at::Tensor columns = at::empty({members_, parameter.count}, at::kDouble);
  double* to = columns.data_ptr<double>();
  for (std::size_t i = 0; i < start.size(); ++i) to[i] = unconstrain_or_throw(parameter, start[i]);
  if (parameter.prior.empty()) {  // about the start of the first member
    for (std::int64_t i = 0; i < parameter.count; ++i) parameter.prior.push_back({to[i]});
  }
  parameter.first = size_;
  size_ += parameter.count;
  raw_ = (raw_.defined() ? at::cat({raw_.detach(), columns}, 1) : columns).requires_grad_(true);
  parameters_.push_back(std::move(parameter));
}

const Parameter& ParameterSet::find(std::string_view path) const {
  std::vector<std::string> paths;
  for (const Parameter& each : parameters_) {
    if (each.path == path) return each;
    paths.push_back(each.path);
  }
  throw UsageError("no parameter named \"" + std::string(path) + "\"" + did_you_mean(path, paths));
}

at::Tensor ParameterSet::natural() const {
  std::vector<at::Tensor> blocks;
  for (const Parameter& each : parameters_) {
    const at::Tensor raw = (each.fixed ? raw_.detach() : raw_).narrow(1, each.first, each.count);
    blocks.push_back(constrain(each.constraint, raw));
  }
  return blocks.empty() ? at::empty({members_, 0}, at::kDouble) : at::cat(blocks, 1);
}

at::Tensor ParameterSet::natural(std::string_view path) const {
  const Parameter& parameter = find(path);
  return natural().narrow(1, parameter.first, parameter.count);
}

void ParameterSet::set(std::string_view path, double value) { set(path, at::full({1, 1}, value, at::kDouble)); }

void ParameterSet::set(std::string_view path, const at::Tensor& values) {
  const Parameter& parameter = find(path);
  if (!at::is_expandable_to(values.sizes(), {members_, parameter.count})) {
    throw UsageError(parameter.path + " takes values of shape (" + std::to_string(members_) + ", " +
                     std::to_string(parameter.count) + "), or what broadcasts to it");
  }
  at::Tensor raw = values.detach().to(at::kDouble).expand({members_, parameter.count}).clone();
  double* number = raw.data_ptr<double>();
  for (std::int64_t i = 0; i < raw.numel(); ++i) number[i] = unconstrain_or_throw(parameter, number[i]);
  raw_.detach().narrow(1, parameter.first, parameter.count).copy_(raw);
}

std::vector<ParameterSet::Column> ParameterSet::columns() const {
  std::vector<Column> columns;
  for (const Parameter& each : parameters_) {
    for (std::int64_t i = 0; i < each.count; ++i) {
      columns.push_back({each.constraint, each.fixed, each.prior[static_cast<std::size_t>(i)]});
    }
  }
  return columns;
}

void ParameterSet::check() const {
  const at::Tensor raw = raw_.detach().contiguous();
  const double* number = raw.data_ptr<double>();
  for (std::int64_t e = 0; e < members_; ++e) {
    for (const Parameter& each : parameters_) {
      for (std::int64_t i = 0; i < each.count; ++i) {
        const double value = ick::constrain(each.constraint, number[e * size_ + each.first + i]);
        const bool above_zero = each.constraint.kind != Constraint::Kind::real && each.constraint.low >= 0.0;
        if (std::isfinite(value) && (value > 0.0 || !above_zero)) continue;
        throw NumericError(each.path + " has become " + number_text(value) + " in member " + std::to_string(e + 1) +
                           " (expected " + describe(each.constraint) +
                           "); bound it in the formula, as in bounded(start, low, high), or lower the learning rate");
      }
    }
  }
}

}  // namespace ick
