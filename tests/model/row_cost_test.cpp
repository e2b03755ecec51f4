#include "model/row_cost.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/gradient_check.h"
#include "support/likelihoods.h"
#include "support/network_case.h"

namespace ick {
namespace {

class RowCost : public testing::TestWithParam<const Likelihood*> {
 protected:
  const Likelihood& of() const { return *GetParam(); }
  at::Tensor functions() const { return of().link == Link::softmax ? normals({2, 3, 3}, 8) : 0.8 * normals({2, 3}, 7); }
  at::Tensor targets() const {
    const bool shares = of().target == TargetKind::proportion, counts = of().target == TargetKind::count;
    return shares   ? at::tensor({0.2, 0.93, 0.5}, at::kDouble)
           : counts ? at::tensor({4.0, 0.0, 1.0}, at::kDouble)
                    : at::tensor({1.0, 0.0, 1.0}, at::kDouble) + (of().target == TargetKind::positive ? 0.3 : 0.0);
  }
  at::Tensor log_scale() const { return of().learns_scale ? at::tensor({0.4, -0.6}, at::kDouble) : at::Tensor(); }
};

// What is on tensors is what the table says of each row.
TEST_P(RowCost, IsTheTables) {
  const at::Tensor f = functions(), y = targets(), scale = log_scale();
  const at::Tensor found = row_costs(of(), f, y, scale);
  const int outputs = f.dim() == 3 ? 3 : 1;
  for (std::int64_t e = 0; e < 2; ++e) {
    for (std::int64_t i = 0; i < 3; ++i) {
      double slope[3];
      const double own = scale.defined() ? scale[e].item<double>() : 0.0;
      const double expected =
          of().cost(f[e][i].contiguous().data_ptr<double>(), outputs, y[i].item<double>(), own, slope, nullptr);
      EXPECT_DOUBLE_EQ(found[e][i].item<double>(), expected);
    }
  }
}

TEST_P(RowCost, GradientsAreThoseOfDifferences) {
  const at::Tensor weight = normals({2, 3}, 6), y = targets() + (of().name == "mae" ? 0.3 : 0.0), f = functions();
  const at::Tensor scale = log_scale(), error = at::tensor({0.0, 0.7, 0.2}, at::kDouble);
  const auto expect = [](const GradientCheck& check) {
    EXPECT_LT(check.error, 1e-6);
    EXPECT_GT(check.largest, 1e-2);
  };
  for (const at::Tensor& known : {at::Tensor(), error}) {
    expect(
        check_gradient([&](const at::Tensor& at) { return (weight * row_costs(of(), at, y, scale, known)).sum(); }, f));
    if (!scale.defined()) continue;
    expect(
        check_gradient([&](const at::Tensor& at) { return (weight * row_costs(of(), f, y, at, known)).sum(); }, scale));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowCost, testing::ValuesIn(likelihoods()), likelihood_name);

// A known error of variance v is a Gaussian noise of variance s^2 + v.
TEST(RowCosts, KnownErrorsAreAddedToTheNoise) {
  const Likelihood& of = likelihood_named("gaussian_nll");
  const at::Tensor f = normals({1, 2}, 3), y = at::tensor({0.4, -1.0}, at::kDouble);
  const at::Tensor found =
      row_costs(of, f, y, at::full({1}, std::log(0.5), at::kDouble), at::tensor({0.0, 2.0}, at::kDouble));
  for (std::int64_t i = 0; i < 2; ++i) {
    const double sd = std::sqrt(i == 0 ? 0.5 : 2.5);
    const double expected = -of.log_density(y[i].item<double>(), {f[0][i].item<double>(), sd});
    EXPECT_NEAR(found[0][i].item<double>(), expected, 1e-12);
  }
}

TEST(RowCosts, ProbabilitiesAreThoseOfTheLink) {
  const at::Tensor f = 2.0 * normals({2, 5}, 1), several = 2.0 * normals({2, 3, 4}, 2);
  for (const char* name : {"bernoulli", "probit"}) {
    const at::Tensor p = probabilities(likelihood_named(name), f, 2.5);
    for (std::int64_t e = 0; e < 2; ++e) {
      for (std::int64_t i = 0; i < 5; ++i) {
        const double at = f[e][i].item<double>() / 2.5;
        const double second = name[0] == 'b' ? 1.0 / (1.0 + std::exp(-at)) : 0.5 * std::erfc(-at / std::sqrt(2.0));
        EXPECT_NEAR(p[e][i][1].item<double>(), second, 1e-14);
        EXPECT_NEAR(p[e][i][0].item<double>(), 1.0 - second, 1e-14);
      }
    }
  }
  const at::Tensor p = probabilities(likelihood_named("categorical"), several, 2.5);
  for (std::int64_t i = 0; i < 3; ++i) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < 4; ++c) sum += std::exp(several[1][i][c].item<double>() / 2.5);
    for (std::int64_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(p[1][i][c].item<double>(), std::exp(several[1][i][c].item<double>() / 2.5) / sum, 1e-14);
    }
  }
}

}  // namespace
}  // namespace ick
