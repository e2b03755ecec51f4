#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ick/kernel/table.h"

namespace ick {
namespace {

struct Golden {
  std::string title;
  Structure structure;
  std::vector<double> parameters, x, y;
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
      ASSERT_EQ(std::ssize(each.parameters), row.parameter_count(each.structure)) << row.title();
      const double value =
          row.value(each.structure, each.parameters.data(), embedded(row, each.x).data(), embedded(row, each.y).data());
      EXPECT_LE(std::abs(value - each.value), 1e-10 * std::abs(each.value))
          << row.title() << " with " << each.structure.inputs << " inputs: " << value << " and " << each.value;
    }
  }
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
