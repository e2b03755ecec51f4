#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ick/kernel/kernel.h"
#include "ick/kernel/table.h"

namespace ick {
namespace {

struct Golden {
  std::string title;
  Structure structure;
  std::vector<double> parameters, x, y, centre;
  double value = 0.0;
};

std::vector<double> numbers_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<double> numbers;
  for (double each; in >> each;) numbers.push_back(each);
  return numbers;
}

// tests/golden/kernels.csv, written by kernels.py beside it
std::map<std::string, std::vector<Golden>> read_golden() {
  std::ifstream file(ICK_TESTS_DIR "/golden/kernels.csv");
  std::map<std::string, std::vector<Golden>> cases;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    Golden golden;
    golden.title = cells.at(0) + (cells.at(1) == "1" ? " (sphere)" : "");
    golden.structure = {std::stoi(cells.at(2)), std::stoi(cells.at(3)), std::stoi(cells.at(4)), std::stoi(cells.at(5)),
                        std::stoi(cells.at(6))};
    golden.parameters = numbers_in(cells.at(7));
    golden.x = numbers_in(cells.at(8));
    golden.y = numbers_in(cells.at(9));
    golden.value = std::stod(cells.at(10));
    if (cells.size() > 11) golden.centre = numbers_in(cells[11]);
    cases[golden.title].push_back(golden);
  }
  return cases;
}

std::vector<double> embedded(const KernelRow& row, const std::vector<double>& x) {
  if (row.inputs != Inputs::place) return x;
  std::vector<double> point(3);
  place_to_point(x.at(0), x.at(1), point.data());
  return point;
}

TEST(Golden, EveryKernelOfTheTable) {
  const auto golden = read_golden();
  for (const KernelRow& row : kernel_table()) {
    const auto found = golden.find(row.title());
    if (found == golden.end()) {
      ADD_FAILURE() << row.title() << " has no golden values: add it to tests/golden/kernels.py and run that again";
      continue;
    }
    EXPECT_GE(found->second.size(), 4u) << row.title();
    for (const Golden& each : found->second) {
      if (!each.centre.empty()) continue;
      ASSERT_EQ(std::ssize(each.parameters), row.parameter_count(each.structure)) << row.title();
      const double value =
          row.value(each.structure, each.parameters.data(), embedded(row, each.x).data(), embedded(row, each.y).data());
      EXPECT_LE(std::abs(value - each.value), 1e-10 * std::abs(each.value))
          << row.title() << " with " << each.structure.inputs << " inputs: " << value << " and " << each.value;
    }
  }
}

// The centre comes with the columns, not with the parameters.
TEST(Golden, CentredKernelsOnTheirColumns) {
  int count = 0;
  for (const auto& [title, cases] : read_golden()) {
    for (const Golden& each : cases) {
      if (each.centre.empty()) continue;
      ++count;
      Call call;
      call.name = title;
      if (title == "polynomial")
        call.arguments = parse_expression("f(degree=" + std::to_string(each.structure.degree) + ")").call.arguments;
      std::vector<InputSummary> inputs(each.centre.size());
      for (std::size_t d = 0; d < inputs.size(); ++d) {
        inputs[d].name = "x" + std::to_string(d);
        inputs[d].centre = each.centre[d];
        call.columns.push_back(inputs[d].name);
      }
      Kernel kernel({{make_kernel_spec(call)}}, inputs);
      std::int64_t first = 0;
      for (const Parameter& parameter : kernel.parameters().parameters()) {
        const std::vector<double> values(each.parameters.begin() + first,
                                         each.parameters.begin() + first + parameter.count);
        kernel.parameters().set(parameter.path, at::tensor(values, at::kDouble).view({1, -1}));
        first += parameter.count;
      }
      const auto row = [](const std::vector<double>& x) { return at::tensor(x, at::kDouble).unsqueeze(0); };
      const double found = kernel.matrix(row(each.x), row(each.y)).item<double>();
      const double own = kernel.diagonal(row(each.x)).item<double>();
      EXPECT_LE(std::abs(found - each.value), 1e-10 * (std::abs(each.value) + own)) << title;
    }
  }
  EXPECT_EQ(count, 4 * (3 + 9));
}

TEST(Golden, NothingForKernelsThatAreNot) {
  for (const auto& [title, cases] : read_golden()) {
    const std::string& wanted = title;
    const auto table = kernel_table();
    EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const KernelRow& row) { return row.title() == wanted; }))
        << title << " is in tests/golden/kernels.py but not in the table";
  }
}

}  // namespace
}  // namespace ick
