#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ick {

// A value of a function of two numbers, from another library.
struct GoldenValue {
  double first = 0.0, second = 0.0, value = 0.0;
};

// The lines of one function in tests/golden/FILE.csv, written by FILE.py beside it.
inline std::vector<GoldenValue> golden(const std::string& file_name, const std::string& function) {
  std::ifstream file(ICK_TESTS_DIR "/golden/" + file_name + ".csv");
  std::vector<GoldenValue> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(function + ",")) continue;
    std::istringstream in(line.substr(function.size() + 1));
    GoldenValue row;
    char comma = 0;
    in >> row.first >> comma >> row.second >> comma >> row.value;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace ick
