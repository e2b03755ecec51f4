#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ick/kernel/declaration.h"
#include "ick/kernel/prior.h"

namespace ick {

// One named parameter: a run of columns of the parameter matrix.
struct Parameter {
  std::string path;  // term1.date.periodic.period
  Constraint constraint;
  Unit unit = Unit::none;
  std::int64_t first = 0, count = 0;
  bool fixed = false;             // known, not learned
  bool stated = false;            // the formula says something of it
  std::vector<Prior> prior = {};  // of each raw number; when none is given, wide about the start
};

// All parameters of a kernel expression as one matrix (E, P) in float64: E members, P numbers. One leaf for the
// optimiser, one address for the fast path.
class ParameterSet {
 public:
  explicit ParameterSet(std::int64_t members) : members_(members) {}

  // `start` (E, count) row-major, in natural units. UsageError when the constraint does not admit it.
  void add(Parameter parameter, const std::vector<double>& start);

  std::int64_t members() const { return members_; }
  std::int64_t size() const { return size_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const Parameter& find(std::string_view path) const;  // UsageError with the nearest path

  at::Tensor& raw() { return raw_; }  // (E, P), a leaf that requires a gradient
  const at::Tensor& raw() const { return raw_; }

  at::Tensor natural() const;                       // (E, P), differentiable in raw; fixed columns have no gradient
  at::Tensor natural(std::string_view path) const;  // (E, count)
  void set(std::string_view path, double value);    // every member and number of the parameter
  void set(std::string_view path, const at::Tensor& values);  // (E, count) or what broadcasts to it

  // What is known of each of the P columns.
  struct Column {
    Constraint constraint;
    bool fixed = false;
    Prior prior = {};
  };
  std::vector<Column> columns() const;

  // NumericError that names the parameter when a natural value is not finite, or zero where it must be positive.
  void check() const;

 private:
  std::int64_t members_ = 1, size_ = 0;
  std::vector<Parameter> parameters_;
  at::Tensor raw_;
};

}  // namespace ick
