#pragma once

#include <ATen/ATen.h>

#include <fstream>
#include <istream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ick {

using Tensors = std::map<std::string, at::Tensor>;

inline at::Tensor read_numbers(std::istream& in) {
  std::vector<double> values;
  for (double each; in >> each;) values.push_back(each);
  return at::tensor(values, at::kDouble);
}

// A file of tests/golden, "step,tensor,values": tensors by step, which are "data", "start", "1" to "10" and what else
// the script beside it writes.
inline std::map<std::string, Tensors> golden_steps(const std::string& name) {
  std::ifstream file(ICK_TESTS_DIR "/golden/" + name);
  std::map<std::string, Tensors> golden;
  std::string line, step, tensor;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::getline(in, step, ','), std::getline(in, tensor, ',');
    golden[step][tensor] = read_numbers(in);
  }
  return golden;
}

}  // namespace ick
