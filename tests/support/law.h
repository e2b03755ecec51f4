#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "ick/formula/expression.h"
#include "ick/kernel/kernel.h"

// What the property tests run over: every kernel of the table, with one to three columns where it takes any number. A
// new kernel is here by being declared; one with options of its own may get further structures below.
namespace ick {

struct LawCase {
  const KernelRow* row = nullptr;
  int columns = 1;
  std::string options;  // ", degree=3"

  std::string formula() const {
    std::string text = std::string(row->name) + "(";
    for (int d = 0; d < columns; ++d) text += (d > 0 ? ", x" : "x") + std::to_string(d + 1);
    return text + options + (row->inputs == Inputs::place ? ", sphere)" : ")");
  }
  std::string name() const {
    std::string text = formula();
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
    return text;
  }
};

inline std::ostream& operator<<(std::ostream& out, const LawCase& each) { return out << each.formula(); }

inline std::vector<LawCase> law_cases() {
  std::vector<LawCase> cases;
  for (const KernelRow& row : kernel_table()) {
    if (row.inputs == Inputs::place) cases.push_back({&row, 2, ""});
    if (row.inputs == Inputs::level) cases.push_back({&row, 1, ""});
    for (int d = 1; d <= 3 && row.inputs == Inputs::numbers; ++d) cases.push_back({&row, d, ""});
    if (row.name == "polynomial") cases.push_back({&row, 2, ", degree=1"}), cases.push_back({&row, 3, ", degree=3"});
    if (row.name == "spectral_mixture") {
      cases.push_back({&row, 1, ", components=1"}), cases.push_back({&row, 2, ", components=3"});
    }
    if (row.name == "categorical") cases.push_back({&row, 1, ", rank=1"}), cases.push_back({&row, 1, ", rank=3"});
  }
  return cases;
}

constexpr int kLawLevels = 4;
constexpr double law_centre(int column) { return 0.7 - 0.4 * column; }  // among the rows, and not their mean

inline std::vector<InputSummary> law_inputs(const LawCase& each) {
  std::vector<InputSummary> inputs;
  for (int d = 0; d < each.columns; ++d) {
    InputSummary input;
    input.name = "x" + std::to_string(d + 1);
    if (each.row->inputs == Inputs::level) input.levels = kLawLevels;
    if (each.row->inputs == Inputs::numbers) input.centre = law_centre(d);
    inputs.push_back(input);
  }
  return inputs;
}

// Values around one (1500 for kilometres, 0.3 for frequencies), different for every member and number.
inline at::Tensor law_parameters(const Kernel& kernel, Random& random) {
  std::vector<at::Tensor> blocks;
  for (const Parameter& each : kernel.parameters().parameters()) {
    const at::Tensor block = at::empty({kernel.members(), each.count}, at::kDouble);
    const double centre = each.unit == Unit::kilometre ? 1500.0 : each.unit == Unit::per_input ? 0.3 : 1.0;
    for (std::int64_t i = 0; i < block.numel(); ++i) {
      const double draw = random.normal();
      const bool is_real = each.constraint.kind == Constraint::Kind::real;
      block.data_ptr<double>()[i] = is_real ? 0.3 + draw : centre * std::exp(0.4 * draw);
    }
    blocks.push_back(block);
  }
  return at::cat(blocks, 1);
}

inline Kernel law_kernel(const LawCase& each, std::int64_t members, std::uint64_t seed) {
  Kernel kernel(make_kernel_sum(parse_expression(each.formula())), law_inputs(each), {members, seed});
  Random random(seed);
  const at::Tensor values = law_parameters(kernel, random);
  for (const Parameter& parameter : kernel.parameters().parameters()) {
    kernel.parameters().set(parameter.path, values.narrow(1, parameter.first, parameter.count));
  }
  return kernel;
}

// Rows apart from each other in every column by a tenth of the range over n or more, between -2 and 2; the rows of
// another half differ from them too. Places all over the Earth but its poles. Levels cycle.
inline at::Tensor law_rows(const LawCase& each, std::int64_t n, int half, Random& random) {
  const at::Tensor x = at::empty({n, each.columns}, at::kDouble);
  double* number = x.data_ptr<double>();
  for (int d = 0; d < each.columns; ++d) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
    for (std::int64_t i = n - 1; i > 0; --i) {
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const auto cell = static_cast<double>(order[static_cast<std::size_t>(i)]);
      const double share = (cell + 0.05 + 0.5 * half + 0.4 * random.uniform()) / static_cast<double>(n);
      double value = -2.0 + 4.0 * share;
      if (each.row->inputs == Inputs::place) value *= d == 0 ? 40.0 : 90.0;
      if (each.row->inputs == Inputs::level) value = static_cast<double>((3 * i + half) % kLawLevels);
      number[i * each.columns + d] = value;
    }
  }
  return x;
}

// Row i as the formula sees it.
inline std::vector<double> embedded_row(const LawCase& each, const at::Tensor& x, std::int64_t i) {
  const double* row = x.data_ptr<double>() + i * each.columns;
  if (each.row->inputs != Inputs::place) {
    std::vector<double> numbers(row, row + each.columns);
    for (int d = 0; d < each.columns && each.row->centred; ++d) numbers[d] -= law_centre(d);
    return numbers;
  }
  std::vector<double> point(3);
  place_to_point(row[0], row[1], point.data());
  return point;
}

// The double loop that the other paths are compared with: (E, n, m).
inline at::Tensor law_matrix(const LawCase& each, const Kernel& kernel, const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor parameters = kernel.parameters().natural().detach().contiguous();
  const Factor& factor = kernel.terms()[0][0];
  const at::Tensor k = at::empty({kernel.members(), x.size(0), y.size(0)}, at::kDouble);
  double* to = k.data_ptr<double>();
  for (std::int64_t e = 0; e < kernel.members(); ++e) {
    const double* theta = parameters.data_ptr<double>() + e * parameters.size(1);
    for (std::int64_t i = 0; i < x.size(0); ++i) {
      for (std::int64_t j = 0; j < y.size(0); ++j) {
        *to++ =
            each.row->value(factor.structure, theta, embedded_row(each, x, i).data(), embedded_row(each, y, j).data());
      }
    }
  }
  return k;
}

// Largest |a - b| / max(|b|, largest b / 100): relative, but where values cross zero only rounding of the large ones
// can be asked for. Infinite when a value is not finite or shapes differ.
inline double relative_error(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || !a.isfinite().all().item<bool>()) return HUGE_VAL;
  if (a.numel() == 0) return 0.0;
  const double largest = b.abs().max().item<double>();
  if (largest == 0.0) return a.abs().max().item<double>() == 0.0 ? 0.0 : HUGE_VAL;
  return ((a - b).abs() / b.abs().clamp_min(0.01 * largest)).max().item<double>();
}

class Law : public testing::TestWithParam<LawCase> {
 protected:
  const LawCase& law() const { return GetParam(); }
  bool has_levels() const { return law().row->inputs == Inputs::level; }
  Random random_{seed_for(11, GetParam().formula())};
};

}  // namespace ick
