#include "ick/predict/support.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/predict/composite.h"
#include "support/model_case.h"
#include "support/table_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

std::vector<double> even_numbers(std::int64_t count, double low, double high) {
  Random random(seed_for(9, "even numbers"));
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(low + (high - low) * random.uniform());
  return numbers;
}

Table table_on(const std::vector<double>& t, const std::vector<double>& s = {}) {
  std::vector<double> y;
  for (const double each : t) y.push_back(std::sin(each));
  return table_of({column_of("t", t), column_of("s", s.empty() ? t : s), column_of("y", y)});
}

// The support of a model on this table.
struct Known {
  ModelCase made;
  Model model;
  std::vector<SupportSource> sources;

  Known(const std::string& kernels, const Table& table)
      : made("y ~ " + kernels, table),
        model(made.model({})),
        sources(make_support(model, made.plan.encoder, made.rows, 1)) {}

  std::vector<Support> at(const std::vector<double>& t) const {
    const at::Tensor first = at::tensor(t, at::kDouble).unsqueeze(1);
    return sources.at(0)(first.expand({-1, made.rows.x.size(1)}).contiguous());
  }
};

bool all_are(const std::vector<Support>& found, Support wanted) {
  return std::all_of(found.begin(), found.end(), [&](Support each) { return each == wanted; });
}

// Kernels with a lengthscale of 0.7 on 300 rows between 0 and 10.
TEST(Support, EndsWithTheData) {
  for (const std::string name : {"rbf", "matern12", "matern32", "matern52"}) {
    SCOPED_TRACE(name);
    const Known known(name + "(t, lengthscale=fixed(0.7))", table_on(even_numbers(300, 0.0, 10.0)));
    ASSERT_EQ(known.sources.size(), 1u);
    EXPECT_EQ(known.sources[0].name(), "t");
    EXPECT_TRUE(all_are(known.at(even_numbers(100, 0.2, 9.8)), Support::inside));
    EXPECT_TRUE(all_are(known.at({13.5, -3.5, 14.0, 50.0, -1e6}), Support::extrapolating));
    std::vector<double> outwards;
    for (double t = 9.9; t < 13.5; t += 0.05) outwards.push_back(t);
    const std::vector<Support> found = known.at(outwards);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));  // inside, edge, extrapolating
    EXPECT_EQ(found.front(), Support::inside);
    EXPECT_GT(std::count(found.begin(), found.end(), Support::edge), 2);
    EXPECT_EQ(found.back(), Support::extrapolating);
  }
}

TEST(Support, FindsAGapInTheMiddle) {
  std::vector<double> t = even_numbers(200, 0.0, 5.0);
  for (const double each : even_numbers(200, 12.0, 16.0)) t.push_back(each);
  const Known known("matern32(t, lengthscale=fixed(0.7))", table_on(t));
  EXPECT_TRUE(all_are(known.at({1.0, 4.5, 12.5, 15.0}), Support::inside));
  EXPECT_TRUE(all_are(known.at({8.5, 8.0, 9.0}), Support::extrapolating));
  EXPECT_TRUE(all_are(known.at({5.3, 11.7}), Support::edge));
}

TEST(Support, OfWhatRepeatsOrIsLinearDoesNotEnd) {
  const Table table = table_on(even_numbers(100, 0.0, 3.0));
  const std::vector<double> anywhere = {-1000.3, -0.7, 1.1, 3.9, 77.7, 12345.6};
  EXPECT_TRUE(all_are(Known("periodic(t, period=fixed(1))", table).at(anywhere), Support::inside));
  EXPECT_TRUE(all_are(Known("cosine(t, period=fixed(2))", table).at(anywhere), Support::inside));
  EXPECT_TRUE(all_are(Known("linear(t)", table).at(anywhere), Support::inside));
  // The largest over the kernels that read a column: the rbf ends, whatever the other does.
  const Known both("periodic(t, period=fixed(1)) + rbf(t, lengthscale=fixed(0.3))", table);
  ASSERT_EQ(both.sources.size(), 1u);
  EXPECT_TRUE(all_are(both.at({-1000.3, 77.7}), Support::extrapolating));
}

// 1 - k(x, Z) K(Z, Z)^-1 k(Z, x) / k(x, x); with fewer rows than points Z is half of them.
TEST(Support, IsTheShareOfTheVarianceLeftUnexplained) {
  const Known known("matern12(t, lengthscale=fixed(0.9), variance=2)", table_on(even_numbers(40, 0.0, 10.0)));
  // every other row: the rest say what is usual
  const at::Tensor z = known.made.rows.x.slice(0, 0, 40, 2), x = at::linspace(-3.0, 13.0, 60, at::kDouble).unsqueeze(1);
  const auto k = [](const at::Tensor& a, const at::Tensor& b) { return (-(a - b.t()).abs() / 0.9).exp(); };
  const at::Tensor cross = k(x, z);
  const at::Tensor expected = 1.0 - (cross * at::linalg_solve(k(z, z), cross.t()).t()).sum(1);
  EXPECT_TRUE(at::allclose(known.sources[0].unexplained(x), expected, 0.0, 1e-4));
  EXPECT_GT(expected.max().item<double>(), 0.99);
}

std::vector<std::string> names_of(const std::vector<SupportSource>& sources) {
  std::vector<std::string> names;
  for (const SupportSource& each : sources) names.push_back(each.name());
  return names;
}

using Names = std::vector<std::string>;

TEST(Support, OfEachSourceOfAProduct) {
  const Known known("mlp(s) * rbf(t, lengthscale=fixed(1)) * matern32(s, lengthscale=fixed(2))",
                    table_on(even_numbers(200, 0.0, 10.0), even_numbers(200, 100.0, 130.0)));
  ASSERT_EQ(names_of(known.sources), (Names{"t", "s"}));
  const at::Tensor x = at::tensor(std::vector<double>{5.0, 110.0, 25.0, 110.0, 5.0, 90.0}, at::kDouble).view({3, 2});
  const Support in = Support::inside, out = Support::extrapolating;
  EXPECT_EQ(known.sources[0](x), (std::vector<Support>{in, out, in}));
  EXPECT_EQ(known.sources[1](x), (std::vector<Support>{in, in, out}));
}

TEST(Support, SourcesAreWhatKernelsRead) {
  Table table = mixed_table(60, 1);
  table.columns.push_back(column_of("lat", table.columns[2].values.copy()));
  table.columns.push_back(column_of("lon", table.columns[1].values.copy()));
  const auto names = [&](const std::string& formula) { return names_of(Known(formula, table).sources); };
  EXPECT_EQ(names("mlp(a)"), Names{});
  EXPECT_EQ(names("constant() + rbf(b)"), Names{"b"});
  EXPECT_EQ(names("rbf(lat, lon, sphere) * periodic(day)"), (Names{"lat, lon", "day"}));
  EXPECT_EQ(names("categorical(site) * rbf(day) + linear(b)"), (Names{"day", "b"}));  // a level is known or refused
  EXPECT_EQ(names("rbf(day) * (periodic(day) + matern12(a)) + rbf(a, b)"), (Names{"day", "a", "a, b"}));
}

TEST(Support, ComesBackBitForBit) {
  const Known known("rbf(t) * (periodic(s) + matern12(s)) + linear(t)",
                    table_on(even_numbers(200, 0.0, 10.0), even_numbers(200, 100.0, 130.0)));
  ASSERT_EQ(known.sources.size(), 2u);
  const TensorState state = support_state(known.sources);
  const std::vector<SupportSource> again = restore_support(known.model, known.made.plan.encoder, state);
  ASSERT_EQ(names_of(again), names_of(known.sources));
  const at::Tensor x =
      at::stack({at::linspace(-5.0, 15.0, 50, at::kDouble), at::linspace(80.0, 150.0, 50, at::kDouble)}, 1);
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_TRUE(again[s].unexplained(x).equal(known.sources[s].unexplained(x)));
    EXPECT_EQ(again[s](x), known.sources[s](x));
  }
  EXPECT_EQ(first_difference(support_state(again), state), "");
  for (std::size_t i = 0; i < state.size(); ++i) {
    TensorState torn = state;
    torn.erase(torn.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THROW(restore_support(known.model, known.made.plan.encoder, torn), DataError) << state[i].first;
  }
}

// A row that lacks a kernel's column is known to no source.
TEST(Support, OfPredictions) {
  const Known known("mlp(s) * rbf(t, lengthscale=fixed(0.7))", table_on(even_numbers(200, 0.0, 10.0)));
  CompositePredictor fitted = known.made.fitted({}, 0.1);
  fitted.support = known.sources;
  const Table asked = table_on({5.0, kGap, 30.0, 9.0}, {1.0, 1.0, 1.0, kGap});
  EXPECT_TRUE(fitted.predict(asked).support.empty());
  const Prediction p = fitted.predict(asked, {0.9, true});
  ASSERT_EQ(p.support.size(), 1u);
  const Support in = Support::inside, out = Support::extrapolating;
  EXPECT_EQ(p.support[0], (std::vector<Support>{in, Support::unknown, out, in}));
  EXPECT_EQ(support_name(Support::inside), "inside");
  EXPECT_EQ(support_name(Support::edge), "edge");
  EXPECT_EQ(support_name(Support::extrapolating), "extrapolating");
}

}  // namespace
}  // namespace ick
