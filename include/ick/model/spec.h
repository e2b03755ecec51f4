#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ick/feature/feature_map.h"
#include "ick/formula/formula.h"
#include "ick/kernel/spec.h"
#include "ick/net/spec.h"
#include "ick/trees/term.h"

namespace ick {

// One term of a model: networks, multiplied element by element, times one kernel expression, mapped to features once.
//   y_t(x) = sum_k prod_a f_ak(x_a) z_k(x)
// Without kernels z_k = p^-1/2; without networks prod f = w_k, weights of its own. Either way the prior covariance is
// the product of the networks' covariances and the kernel.
struct TermSpec {
  std::vector<NetworkSpec> networks;
  KernelSum kernels;  // empty when there are none
  MapKind map = MapKind::nystrom;
  Placement placement = Placement::automatic;
  std::int64_t features = 0;     // p of each product of kernels; 0: chosen from the data
  bool stated_features = false;  // by the formula: points=...
  bool train_points = false;
};

// What the formula says, as plain data, in canonical form: nothing after this reads the syntax tree again. Terms of the
// formula that share their networks are one term here: mlp(a) * (rbf(t) + periodic(t)) is one network on the features
// of both kernels.
struct ModelSpec {
  Formula formula;
  std::vector<TermSpec> terms;
  std::optional<TreeTerm> trees;  // added to the terms, which learn what they leave
  RowTerm offset;                 // offset(...) of the formula; once trees have grown, the column of what they predict
  std::vector<DerivedColumn> derived;        // that the formula computes, behind what they are computed of
  std::vector<std::string> left_out;         // that "." of a kernel would stand for, were they numbers
  std::vector<std::string> kernel_columns;   // read by kernels, in order of appearance
  std::vector<std::string> level_columns;    // those of them that categorical() reads
  std::vector<std::string> network_columns;  // read by networks

  bool kernels_only() const;  // no networks: linear in its weights
  double share() const;       // prior variance that each product of kernels (or term without) starts with
};

// Puts a formula into canonical form. `columns` are the names the data has, for `.` and for messages; UsageError or
// DataError points at the column of the formula. With no `columns` names are not checked and "." is refused. `.` of a
// kernel stands for numbers: not for those of `columns` that are named in `not_numbers`.
ModelSpec make_spec(const Formula& formula, const std::vector<std::string>& columns,
                    const std::vector<std::string>& not_numbers = {});

// Fills in the features of terms whose formula does not say, by the number of training rows.
void choose_features(ModelSpec& spec, std::int64_t rows);

std::string print(const TermSpec& term);

}  // namespace ick
