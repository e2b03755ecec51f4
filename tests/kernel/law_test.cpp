#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernel/values.h"
#include "support/gradient_check.h"
#include "support/law.h"

namespace ick {
namespace {

TEST_P(Law, TensorsAgreeWithThePlainLoop) {
  const Kernel kernel = law_kernel(law(), 3, 101);
  const at::Tensor x = law_rows(law(), 7, 0, random_), y = law_rows(law(), 6, 1, random_);
  const at::Tensor expected = law_matrix(law(), kernel, x, y);
  EXPECT_LE(relative_error(kernel.matrix(x, y).detach(), expected), 1e-12);
  EXPECT_GT((expected[0] - expected[1]).abs().max().item<double>(), 1e-3) << "members must differ";
}

TEST_P(Law, Symmetric) {
  const Kernel kernel = law_kernel(law(), 3, 104);
  const at::Tensor x = law_rows(law(), 7, 0, random_), y = law_rows(law(), 5, 1, random_);
  EXPECT_LE(relative_error(kernel.matrix(x, y).detach(), kernel.matrix(y, x).transpose(1, 2).detach()), 1e-14);
}

TEST_P(Law, PositiveSemiDefinite) {
  for (const std::uint64_t seed : {105u, 106u, 107u}) {
    const Kernel kernel = law_kernel(law(), 3, seed);
    const at::Tensor x = law_rows(law(), 30, 0, random_);
    const at::Tensor eigenvalues = at::linalg_eigvalsh(kernel.matrix(x, x).detach());  // (E, n), rising
    const at::Tensor lowest = eigenvalues.select(1, 0), highest = eigenvalues.select(1, 29);
    EXPECT_TRUE((highest > 0.0).all().item<bool>());
    EXPECT_TRUE((lowest >= -1e-10 * highest).all().item<bool>()) << lowest << highest;
  }
}

TEST_P(Law, ParameterGradientsAgreeWithDifferences) {
  const Kernel kernel = law_kernel(law(), 2, 108);
  const Factor& factor = kernel.terms()[0][0];
  const at::Tensor x = Kernel::embed(factor, law_rows(law(), 5, 0, random_)).unsqueeze(0);
  const at::Tensor y = Kernel::embed(factor, law_rows(law(), 4, 1, random_)).unsqueeze(0);
  const at::Tensor weights = at::cos(at::arange(40, at::kDouble)).view({2, 5, 4});
  const GradientCheck check = check_gradient(
      [&](const at::Tensor& theta) {
        return (weights * kernel_values(factor.row->index, factor.structure, theta, x, y, false)).sum();
      },
      kernel.parameters().natural());
  EXPECT_LT(check.error, 1e-6);
  EXPECT_GT(check.largest, 1e-5);
}

TEST_P(Law, InputGradientsAgreeWithDifferences) {
  const Kernel kernel = law_kernel(law(), 2, 109);
  const at::Tensor x = law_rows(law(), 5, 0, random_), y = law_rows(law(), 4, 1, random_);
  if (has_levels()) {
    const at::Tensor leaf = x.clone().requires_grad_(true);
    kernel.matrix(leaf, y).sum().backward();
    EXPECT_FALSE(leaf.grad().defined()) << "a code is no number to move";
    return;
  }
  const at::Tensor weights = at::cos(at::arange(40, at::kDouble)).view({2, 5, 4});
  const auto by_first = [&](const at::Tensor& moved) { return (weights * kernel.matrix(moved, y)).sum(); };
  const auto by_second = [&](const at::Tensor& moved) { return (weights * kernel.matrix(x, moved)).sum(); };
  const bool is_constant = law().row->name == "constant";
  for (const GradientCheck& check : {check_gradient(by_first, x), check_gradient(by_second, y)}) {
    EXPECT_LT(check.error, 1e-6);
    EXPECT_EQ(check.largest > 1e-5, !is_constant) << check.largest;
  }
}

// A root has no derivative at distance zero; the library says 0 there.
TEST_P(Law, GradientsAreFiniteWhereRowsCoincide) {
  const Kernel kernel = law_kernel(law(), 2, 110);
  const at::Tensor rows = law_rows(law(), 4, 0, random_);
  const at::Tensor x = at::cat({rows, rows.narrow(0, 0, 2)}).requires_grad_(true);
  kernel.matrix(x, x).sum().backward();
  const at::Tensor by_theta = kernel.parameters().raw().grad();
  EXPECT_TRUE(by_theta.isfinite().all().item<bool>());
  EXPECT_GT(by_theta.abs().max().item<double>(), 0.0);
  EXPECT_TRUE(!x.grad().defined() || x.grad().isfinite().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Kernel, Law, testing::ValuesIn(law_cases()),
                         [](const auto& each) { return each.param.name(); });

}  // namespace
}  // namespace ick
