#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/network_case.h"

namespace ick {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

// tests/golden/mlp.csv, written by mlp.py beside it: for each activation and norm, f and the gradients of the loss.
std::map<std::pair<std::string, std::string>, Tensors> read_golden() {
  std::ifstream file(ICK_TESTS_DIR "/golden/mlp.csv");
  std::map<std::pair<std::string, std::string>, Tensors> cases;
  std::string line, activation, norm, name;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::getline(in, activation, ','), std::getline(in, norm, ','), std::getline(in, name, ',');
    std::vector<double> values;
    for (double each; in >> each;) values.push_back(each);
    cases[{activation, norm}][name] = at::tensor(values, at::kDouble);
  }
  return cases;
}

at::Tensor counted(at::IntArrayRef sizes) { return at::arange(c10::multiply_integers(sizes), at::kDouble).view(sizes); }

void expect_near(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.numel(), expected.numel()) << what;
  EXPECT_TRUE(at::allclose(found.detach().flatten(), expected, 1e-12, 1e-13)) << what << "\n" << found << expected;
}

TEST(MlpGolden, OutputsAndGradientsAreThoseOfPyTorch) {
  const auto golden = read_golden();
  ASSERT_EQ(golden.size(), 10u);
  for (const auto& [key, tensors] : golden) {
    const auto& [activation, norm] = key;
    SCOPED_TRACE(activation + ", norm " + norm);
    NetworkContext context;
    context.inputs = 2, context.outputs = 2, context.members = 2;
    const auto network =
        make_network("mlp(a, b, layers=[4, 3], activation=" + activation + ", norm=" + norm + ")", context);
    const std::vector<NamedTensor> parameters = network->parameters();
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const at::Tensor i = counted(parameters[k].value.sizes());
      parameters[k].value.set_data(1.1 * (1.7 * i + 1.3 * static_cast<double>(k) + 0.5).sin());
    }
    const at::Tensor x = (1.5 * (0.73 * counted({3, 2}) + 0.2).cos()).requires_grad_(true);
    const at::Tensor f = (*network)(x);
    (f * ((0.9 * counted(f.sizes())).cos() + 0.5 * f)).sum().backward();
    ASSERT_EQ(tensors.size(), parameters.size() + 2);
    expect_near(f, tensors.at("f"), "f");
    expect_near(x.grad(), tensors.at("x"), "x");
    for (const NamedTensor& each : parameters) expect_near(each.value.grad(), tensors.at(each.path), each.path);
  }
}

}  // namespace
}  // namespace ick
