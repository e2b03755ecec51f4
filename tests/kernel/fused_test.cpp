#include "kernel/fused.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/values.h"
#include "support/law.h"

namespace ick {
namespace {

// FusedProduct on tensors: points z (p, inputs), rows x (n, inputs), which are turned and padded with the last one.
class Fused {
 public:
  Fused(std::vector<FusedFactor> factors, const at::Tensor& z, const at::Tensor& x)
      : product_(std::move(factors)), z_(z.detach().contiguous()), rows_(x.size(0)) {
    const std::int64_t padding = whole_lanes(static_cast<int>(rows_)) - rows_;
    x_ = at::cat({x, x.narrow(0, rows_ - 1, 1).expand({padding, -1})}).t().contiguous();
    points_.z = z_.data_ptr<double>();
    points_.points = static_cast<int>(z.size(0));
    points_.inputs = static_cast<int>(z.size(1));
  }

  void follow(int parameter, const at::Tensor& velocity) {
    velocity_ = velocity.contiguous();
    points_.follows = parameter;
    points_.velocity = velocity_.data_ptr<double>();
  }

  // (p, n); theta (P)
  at::Tensor values(const at::Tensor& theta, std::int64_t rows = -1) {
    rows = rows < 0 ? rows_ : rows;
    const std::int64_t width = whole_lanes(static_cast<int>(rows));
    const at::Tensor some = x_.narrow(1, 0, width).contiguous();
    const at::Tensor k = at::full({z_.size(0), width}, std::nan(""), at::kDouble), parameters = theta.contiguous();
    product_.values(parameters.data_ptr<double>(), points_, {some.data_ptr<double>(), static_cast<int>(width)},
                    k.data_ptr<double>());
    EXPECT_TRUE(k.isfinite().all().item<bool>()) << "every number is written";
    return k.narrow(1, 0, rows);
  }

  // Adds the gradient of sum g (p, n) k to d_theta (P) and, when defined, to d_z (p, inputs).
  void gradient(const at::Tensor& theta, const at::Tensor& g, const at::Tensor& d_theta, const at::Tensor& d_z) {
    const at::Tensor weights = at::constant_pad_nd(g, {0, x_.size(1) - rows_}).contiguous();
    const at::Tensor parameters = theta.contiguous();
    product_.gradient(parameters.data_ptr<double>(), points_, {x_.data_ptr<double>(), static_cast<int>(x_.size(1))},
                      weights.data_ptr<double>(), d_theta.data_ptr<double>(),
                      d_z.defined() ? d_z.data_ptr<double>() : nullptr);
  }

 private:
  FusedProduct product_;
  at::Tensor z_, x_, velocity_;  // (p, inputs), (inputs, width), (p)
  std::int64_t rows_ = 0;
  FusedPoints points_;
};

Fused fused_of(const Factor& factor, const at::Tensor& z, const at::Tensor& x) {
  return Fused({{factor.row->index, factor.structure, 0, 0}}, z, x);
}

class FusedLaw : public Law {};

TEST_P(FusedLaw, ValuesAgreeWithThePlainLoop) {
  const Kernel kernel = law_kernel(law(), 3, 102);
  const Factor& factor = kernel.terms()[0][0];
  const at::Tensor z = law_rows(law(), 5, 0, random_), x = law_rows(law(), 7, 1, random_);
  const at::Tensor expected = law_matrix(law(), kernel, z, x), theta = kernel.parameters().natural().detach();
  Fused fused = fused_of(factor, Kernel::embed(factor, z), Kernel::embed(factor, x));
  for (int e = 0; e < 3; ++e) EXPECT_LE(relative_error(fused.values(theta[e]), expected[e]), 1e-12) << "member " << e;
}

TEST_P(FusedLaw, GradientsAgreeWithAutograd) {
  const Kernel kernel = law_kernel(law(), 3, 103);
  const Factor& factor = kernel.terms()[0][0];
  const at::Tensor x = Kernel::embed(factor, law_rows(law(), 7, 1, random_));
  const at::Tensor g = at::sin(at::arange(35, at::kDouble) + 0.3).view({5, 7});
  for (int e = 0; e < 3; ++e) {
    const at::Tensor z = Kernel::embed(factor, law_rows(law(), 5, 0, random_)).clone().requires_grad_(!has_levels());
    const at::Tensor theta = kernel.parameters().natural().detach()[e].clone().requires_grad_(true);
    const at::Tensor k =
        kernel_values(factor.row->index, factor.structure, theta.unsqueeze(0), z.unsqueeze(0), x.unsqueeze(0), false);
    (g * k.expand({1, 5, 7})[0]).sum().backward();
    const at::Tensor by_z = z.grad().defined() ? z.grad() : at::zeros_like(z);

    Fused fused = fused_of(factor, z, x);
    // Gradients are added to what is there: twice what they are.
    const at::Tensor d_theta = 2.0 * theta.grad(), d_z = 2.0 * by_z;
    fused.gradient(theta, g, d_theta, d_z);
    EXPECT_LE(relative_error(d_theta, 3.0 * theta.grad()), 1e-9);
    EXPECT_LE(relative_error(d_z, 3.0 * by_z), 1e-9);

    const at::Tensor alone = at::zeros_like(d_theta);
    fused.gradient(theta, g, alone, {});
    EXPECT_LE(relative_error(alone, theta.grad()), 1e-9) << "without the gradient of the points";
  }
}

// A root has no derivative at distance zero; the library says 0 there.
TEST_P(FusedLaw, GradientsAreFiniteWherePointsAndRowsCoincide) {
  const Kernel kernel = law_kernel(law(), 2, 110);
  const Factor& factor = kernel.terms()[0][0];
  const at::Tensor z = Kernel::embed(factor, law_rows(law(), 4, 0, random_));
  const at::Tensor theta = kernel.parameters().natural().detach()[0];
  const at::Tensor d_theta = at::zeros_like(theta), d_z = at::zeros_like(z);
  fused_of(factor, z, z).gradient(theta, at::ones({4, 4}, at::kDouble), d_theta, d_z);
  EXPECT_TRUE(d_theta.isfinite().all().item<bool>());
  EXPECT_TRUE(d_z.isfinite().all().item<bool>());
  EXPECT_GT(d_theta.abs().max().item<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Kernel, FusedLaw, testing::ValuesIn(law_cases()),
                         [](const auto& each) { return each.param.name(); });

// Three factors on columns of one joined row, with parameters in an order of their own.
TEST(FusedProduct, ValuesAndGradientsOfAProduct) {
  const auto row = [](std::string_view name) { return find_kernel(name, false, 0).index; };
  const Structure one{}, two{.inputs = 2}, level{.levels = 3, .rank = 2};
  const std::vector<FusedFactor> factors = {{row("matern32"), two, 4, 0},        // theta 4 .. 6, inputs 0 and 1
                                            {row("periodic"), one, 0, 2},        // theta 0 .. 2, input 2
                                            {row("categorical"), level, 7, 3}};  // theta 7 .. 15, input 3
  Random random(5);
  const at::Tensor theta = at::empty({16}, at::kDouble);  // 3 belongs to nobody
  for (int i = 0; i < 16; ++i) theta.data_ptr<double>()[i] = std::exp(0.4 * random.normal());
  const auto rows = [&](std::int64_t n) {
    const at::Tensor x = at::empty({n, 4}, at::kDouble);
    for (std::int64_t i = 0; i < n * 4; ++i) {
      x.data_ptr<double>()[i] = i % 4 == 3 ? static_cast<double>(random.below(3)) : random.normal();
    }
    return x;
  };
  const at::Tensor z = rows(6).requires_grad_(true), x = rows(9), leaf = theta.clone().requires_grad_(true);
  const auto part = [&](std::size_t f, std::int64_t count) {
    const FusedFactor& each = factors[f];
    const auto columns = [&](const at::Tensor& from) {
      return from.narrow(1, each.first_input, each.structure.inputs).unsqueeze(0);
    };
    return kernel_values(each.kernel, each.structure, leaf.narrow(0, each.first_parameter, count).unsqueeze(0),
                         columns(z), columns(x), false)[0];
  };
  const at::Tensor k = part(0, 3) * part(1, 3) * part(2, 9);  // (points, rows)
  const at::Tensor g = at::sin(at::arange(54, at::kDouble)).view({6, 9});
  (g * k).sum().backward();

  Fused fused(factors, z, x);
  const at::Tensor value = fused.values(theta);
  EXPECT_LE(relative_error(value, k.detach()), 1e-12);
  const at::Tensor d_theta = at::zeros_like(theta), d_z = at::zeros_like(z.detach());
  fused.gradient(theta, g, d_theta, d_z);
  EXPECT_LE(relative_error(d_theta, leaf.grad()), 1e-9);
  EXPECT_EQ(d_theta[3].item<double>(), 0.0);
  EXPECT_LE(relative_error(d_z, z.grad()), 1e-9);
  // A smaller block after a larger one: the workspace of the first leaves no trace.
  EXPECT_TRUE(fused.values(theta, 2).equal(value.narrow(1, 0, 2)));
}

// Kernels of a distance with more parameters than are carried at once: one pass has all of them.
TEST(FusedProduct, GradientsOfManyLengthscales) {
  constexpr int kInputs = 6;
  Random random(9);
  const auto rows = [&](std::int64_t n) {
    const at::Tensor x = at::empty({n, kInputs}, at::kDouble);
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<double>()[i] = random.normal();
    return x;
  };
  for (const std::string_view name : {"rbf", "matern12", "matern32", "matern52", "rational_quadratic"}) {
    const int kernel = find_kernel(name, false, 0).index;
    const Structure structure{.inputs = kInputs};
    const at::Tensor theta = (at::arange(name == "rational_quadratic" ? 8 : 7, at::kDouble) / 5.0 + 0.8);
    const at::Tensor z = rows(5).requires_grad_(true), x = rows(9), leaf = theta.clone().requires_grad_(true);
    const at::Tensor g = at::sin(at::arange(45, at::kDouble)).view({5, 9});
    const at::Tensor k = kernel_values(kernel, structure, leaf.unsqueeze(0), z.unsqueeze(0), x.unsqueeze(0), false)[0];
    (g * k).sum().backward();
    Fused fused({{kernel, structure, 0, 0}}, z.detach(), x);
    const at::Tensor d_theta = at::zeros_like(theta), d_z = at::zeros_like(z.detach());
    fused.gradient(theta, g, d_theta, d_z);
    EXPECT_LE(relative_error(d_theta, leaf.grad()), 1e-12) << name;
    EXPECT_LE(relative_error(d_z, z.grad()), 1e-12) << name;
  }
}

// Points at fixed shares of a period move with it: dz_i / dperiod = share_i.
TEST(FusedProduct, PointsFollowAPeriod) {
  const int periodic = find_kernel("periodic", false, 0).index;
  const at::Tensor theta = at::tensor({0.7, 2.9, 1.2}, at::kDouble).requires_grad_(true);
  const at::Tensor shares = at::tensor({0.02, 0.21, 0.43, 0.58, 0.83}, at::kDouble), moving = shares * theta[1];
  const at::Tensor x = at::linspace(-4.1, 7.3, 6, at::kDouble).unsqueeze(1);
  const at::Tensor g = at::cos(at::arange(30, at::kDouble)).view({5, 6});
  const at::Tensor k =
      kernel_values(periodic, {}, theta.unsqueeze(0), moving.view({1, 5, 1}), x.unsqueeze(0), false)[0];
  (g * k).sum().backward();

  Fused fused({{periodic, {}, 0, 0}}, moving.unsqueeze(1), x);
  fused.follow(1, shares);
  const at::Tensor d_theta = at::zeros({3}, at::kDouble);
  fused.gradient(theta, g, d_theta, {});
  EXPECT_LE(relative_error(d_theta, theta.grad()), 1e-9);
}

// Times far from zero, as seconds since 1970 are, lose nothing: only their differences count.
TEST(FusedProduct, PeriodicFarFromZero) {
  const KernelRow& row = find_kernel("periodic", false, 0);
  for (const double offset : {1e3, 1e6, 1e9}) {
    const at::Tensor z = offset + at::linspace(0.1, 2.7, 5, at::kDouble).unsqueeze(1);
    const at::Tensor x = offset + at::linspace(-4.1, 7.3, 6, at::kDouble).unsqueeze(1);
    const double theta[] = {0.7, 2.9, 1.2};
    const at::Tensor k = Fused({{row.index, {}, 0, 0}}, z, x).values(at::tensor({0.7, 2.9, 1.2}, at::kDouble));
    double worst = 0.0;
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 6; ++j) {
        const double exact = row.value({}, theta, z[i].data_ptr<double>(), x[j].data_ptr<double>());
        worst = std::max(worst, std::abs(k[i][j].item<double>() / exact - 1.0));
      }
    }
    EXPECT_LE(worst, 1e-12) << offset;
  }
}

}  // namespace
}  // namespace ick
