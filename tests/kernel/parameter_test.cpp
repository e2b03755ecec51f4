#include "ick/kernel/parameter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ick/base/error.h"
#include "support/gradient_check.h"
#include "support/message.h"

namespace ick {
namespace {

Parameter named(const std::string& path, std::int64_t count, Constraint constraint, bool fixed = false) {
  Parameter parameter;
  parameter.path = path;
  parameter.constraint = constraint;
  parameter.count = count;
  parameter.fixed = fixed;
  return parameter;
}

// Two members, five columns.
ParameterSet some_parameters() {
  ParameterSet set(2);
  set.add(named("term1.t.rbf.variance", 1, Constraint::positive()), {1.7, 0.4});
  set.add(named("term1.t.rbf.lengthscale", 2, Constraint::interval(0.5, 8.0)), {0.6, 3.0, 7.5, 1.1});
  set.add(named("term1.site.categorical.loading", 1, Constraint::real()), {-0.3, 2.2});
  set.add(named("term2.t.periodic.period", 1, Constraint::positive(), true), {365.25, 7.0});
  return set;
}

double at_place(const at::Tensor& t, std::int64_t e, std::int64_t i) { return t[e][i].item<double>(); }

TEST(ParameterSet, KeepsNaturalValuesInOrder) {
  const ParameterSet set = some_parameters();
  EXPECT_EQ(set.members(), 2);
  EXPECT_EQ(set.size(), 5);
  const double expected[2][5] = {{1.7, 0.6, 3.0, -0.3, 365.25}, {0.4, 7.5, 1.1, 2.2, 7.0}};
  const at::Tensor natural = set.natural();
  ASSERT_EQ(natural.sizes(), (std::vector<std::int64_t>{2, 5}));
  for (int e = 0; e < 2; ++e) {
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(at_place(natural, e, i), expected[e][i], 1e-13 * std::abs(expected[e][i]));
  }
  EXPECT_EQ(set.find("term1.site.categorical.loading").first, 3);
  const at::Tensor lengthscale = set.natural("term1.t.rbf.lengthscale");
  EXPECT_EQ(lengthscale.sizes(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_NEAR(at_place(lengthscale, 1, 0), 7.5, 1e-13);
  EXPECT_TRUE(set.raw().is_leaf() && set.raw().requires_grad());
  EXPECT_EQ(set.raw().scalar_type(), at::kDouble);
}

TEST(ParameterSet, EmptyHasNoColumns) {
  const ParameterSet set(3);
  EXPECT_EQ(set.natural().sizes(), (std::vector<std::int64_t>{3, 0}));
  EXPECT_TRUE(set.columns().empty());
}

TEST(ParameterSet, ColumnsKnowTheirConstraint) {
  const std::vector<ParameterSet::Column> columns = some_parameters().columns();
  ASSERT_EQ(columns.size(), 5u);
  EXPECT_EQ(columns[3].constraint.kind, Constraint::Kind::real);  // a loading
  EXPECT_FALSE(columns[3].fixed);
  EXPECT_TRUE(columns[4].fixed);
}

TEST(ParameterSet, SetRefusesAnotherShape) {
  ParameterSet set = some_parameters();
  EXPECT_THROW(set.set("term1.t.rbf.lengthscale", at::ones({3, 7}, at::kDouble)), UsageError);
}

TEST(ParameterSet, SetByNumberOrTensor) {
  ParameterSet set = some_parameters();
  const at::Tensor before = set.raw();
  set.set("term1.t.rbf.variance", 2.5);
  set.set("term1.t.rbf.lengthscale", at::tensor({1.5, 4.0}, at::kDouble));             // broadcast over members
  set.set("term1.site.categorical.loading", at::tensor({-1.0f, 0.25f}).view({2, 1}));  // float32 is taken
  const double expected[2][4] = {{2.5, 1.5, 4.0, -1.0}, {2.5, 1.5, 4.0, 0.25}};
  for (int e = 0; e < 2; ++e) {
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(at_place(set.natural(), e, i), expected[e][i], 1e-13);
  }
  EXPECT_NEAR(at_place(set.natural(), 0, 4), 365.25, 1e-10) << "others stay";
  EXPECT_TRUE(set.raw().is_same(before)) << "an optimiser that holds the leaf sees the change";
  EXPECT_TRUE(set.raw().is_leaf() && set.raw().requires_grad());
}

TEST(ParameterSet, GradientsReachRawButNotThroughFixedColumns) {
  ParameterSet set = some_parameters();
  const at::Tensor weights = at::tensor({0.3, -1.2, 0.7, 2.0, 5.0, 1.1, 0.4, -0.8, 0.6, 3.0}, at::kDouble).view({2, 5});
  (weights * set.natural()).sum().backward();
  const at::Tensor gradient = set.raw().grad();
  for (int e = 0; e < 2; ++e) {
    EXPECT_EQ(at_place(gradient, e, 4), 0.0) << "fixed";
    for (std::int64_t i = 0; i < 4; ++i) {
      const double slope =
          constrain_slope(set.columns()[static_cast<std::size_t>(i)].constraint, at_place(set.raw().detach(), e, i));
      EXPECT_NEAR(at_place(gradient, e, i), at_place(weights, e, i) * slope, 1e-12 * std::abs(slope) * 3.0);
    }
  }
}

TEST(ParameterSet, NaturalAgreesWithDifferences) {
  ParameterSet set = some_parameters();
  const at::Tensor weights = at::cos(at::arange(8, at::kDouble)).view({2, 4});
  const at::Tensor start = set.raw().detach().clone();
  const GradientCheck check = check_gradient(
      [&](const at::Tensor& raw) {
        set.raw() = raw;
        return (weights * set.natural().narrow(1, 0, 4)).sum();
      },
      start);
  EXPECT_LT(check.error, 1e-8);
  EXPECT_GT(check.largest, 0.1);
}

TEST(ParameterSet, MessagesNameTheParameter) {
  ParameterSet set = some_parameters();
  EXPECT_EQ(message_of([&] { set.find("term1.t.rbf.lengthscal"); }),
            "no parameter named \"term1.t.rbf.lengthscal\"; did you mean \"term1.t.rbf.lengthscale\"?");
  EXPECT_EQ(message_of([&] { set.find("noise"); }), "no parameter named \"noise\"");
  EXPECT_EQ(message_of([&] { set.set("term1.t.rbf.variance", -2.0); }),
            "term1.t.rbf.variance: -2 is not a positive number");
  EXPECT_EQ(message_of([&] { set.set("term1.t.rbf.lengthscale", 8.0); }),
            "term1.t.rbf.lengthscale: 8 is not a number between 0.5 and 8");
  EXPECT_EQ(message_of([&] { set.set("term1.site.categorical.loading", std::nan("")); }),
            "term1.site.categorical.loading: nan is not a number");
  EXPECT_NEAR(at_place(set.natural(), 0, 0), 1.7, 1e-14) << "a refused value changes nothing";
  EXPECT_EQ(message_of([&] {
              set.add(named("noise", 1, Constraint::positive()), {0.1, 0.0});
            }),
            "noise: 0 is not a positive number");
  EXPECT_EQ(set.size(), 5) << "a refused parameter is not added";
  EXPECT_EQ(set.natural().size(1), 5);
}

TEST(ParameterSet, CheckNamesWhatWentWrong) {
  ParameterSet set = some_parameters();
  EXPECT_EQ(message_of([&] { set.check(); }), "");
  set.raw().detach()[1][0] = 800.0;
  EXPECT_EQ(
      message_of([&] { set.check(); }),
      "term1.t.rbf.variance has become inf in member 2 (expected a positive number); bound it in the formula, as in "
      "bounded(start, low, high), or lower the learning rate");
  set.raw().detach()[1][0] = -800.0;
  EXPECT_EQ(message_of([&] { set.check(); }).substr(0, 40), "term1.t.rbf.variance has become 0 in mem");
  set.raw().detach()[1][0] = 0.0;
  set.raw().detach()[0][3] = std::nan("");
  EXPECT_EQ(message_of([&] { set.check(); }).substr(0, 55), "term1.site.categorical.loading has become nan in member");
  EXPECT_THROW(set.check(), NumericError);
}

}  // namespace
}  // namespace ick
