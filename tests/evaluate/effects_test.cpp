#include "ick/evaluate/effects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/ick.h"

namespace ick {
namespace {

// f(a, b) + slope a with a slope of a N(0, 1) draw: its band is known.
class KnownFunction : public Predictor {
 public:
  using Rule = std::function<double(double a, double b)>;
  KnownFunction(Rule rule, double slope) : rule_(std::move(rule)), slope_(slope) { target_.name = "y"; }

  std::string_view kind() const override { return "known"; }
  std::string formula() const override { return "known"; }
  const ColumnInfo& target() const override { return target_; }
  std::vector<ColumnInfo> columns() const override {
    ColumnInfo a, b;
    a.name = "a", b.name = "b";
    return {a, b};
  }
  std::vector<ColumnInfo> scoring_columns() const override { return {target_}; }
  const std::vector<std::string>& classes() const override { return none_; }
  Predictive predictive() const override { return {likelihood_named("gaussian"), *find_transform("")}; }
  const Calibration& interval_calibration() const override { return calibration_; }
  Moments training_moments() const override { return {0.0, 1.0}; }
  double noise_sd() const override { return 1.0; }

  Prediction predict(const Table& table, const PredictOptions&, EncodingNotes*) const override {
    Prediction p;
    p.mean = values(table, 0.0);
    p.location = p.mean;
    p.sd = p.scale = std::vector<double>(p.mean.size(), 1.0);
    p.lower = p.upper = p.mean;
    p.function_sd.assign(p.mean.size(), slope_);
    return p;
  }
  std::vector<std::vector<double>> draw(const Table& table, const DrawOptions& options) const override {
    EXPECT_FALSE(options.noise);
    std::vector<std::vector<double>> draws;
    Random random(options.seed);
    for (std::int64_t s = 0; s < options.count; ++s) draws.push_back(values(table, random.normal()));
    return draws;
  }

 private:
  std::vector<double> values(const Table& table, double drawn) const {
    std::vector<double> f;
    const Numbers &a = table.column("a").values, &b = table.column("b").values;
    for (std::size_t i = 0; i < a.size(); ++i) f.push_back(rule_(a[i], b[i]) + slope_ * drawn * a[i]);
    return f;
  }

  Rule rule_;
  double slope_;
  ColumnInfo target_;
  std::vector<std::string> none_;
  Calibration calibration_;
};

// b is independent of a, or next to it.
Table two_columns(std::int64_t rows, bool together, std::uint64_t seed = 3) {
  Random random(seed);
  std::vector<double> a, b, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    a.push_back(random.uniform());
    b.push_back(together ? a.back() + 0.04 * (random.uniform() - 0.5) : random.uniform());
    y.push_back(3.0 * a.back() + random.normal());
  }
  return Table::from({Column::numbers("a", a), Column::numbers("b", b), Column::numbers("y", y)});
}

std::vector<double> less_mean(std::vector<double> values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (double& each : values) each -= mean;
  return values;
}

// The average over b of a^2 + a b is a^2 + a mean(b); of the draws' slope a band of +- 1.64 a about the middle.
TEST(Effects, PartialEffectsAreAveragesOverRows) {
  const Table table = two_columns(150, false);
  const KnownFunction model([](double a, double b) { return a * a + a * b; }, 0.5);
  const Effect effect = effect_of(model, table, "a", {.points = 11, .rows = 1000, .draws = 4000});
  ASSERT_FALSE(effect.accumulated);
  ASSERT_EQ(effect.at.size(), 11u);
  const Numbers& b = table.column("b").values;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / 150.0;
  std::vector<double> expected;
  for (const double a : effect.at) expected.push_back(a * a + a * mean_b);
  expected = less_mean(expected);
  const std::vector<double> from_middle = less_mean(effect.at);
  for (std::size_t k = 0; k < 11; ++k) {
    EXPECT_NEAR(effect.mean[k], expected[k], 1e-12);
    EXPECT_NEAR(effect.upper[k] - effect.mean[k], 0.5 * 1.6449 * std::abs(from_middle[k]), 0.03);
    EXPECT_NEAR(effect.mean[k] - effect.lower[k], 0.5 * 1.6449 * std::abs(from_middle[k]), 0.03);
  }
}

// f = 2 a + exp(20 (b - a)^2): with b next to a the second part is one wherever there are rows, and large where a partial
// effect would look.
TEST(Effects, OfColumnsThatGoTogetherAreAccumulated) {
  const Table table = two_columns(2000, true);
  const KnownFunction model([](double a, double b) { return 2.0 * a + std::exp(20.0 * (b - a) * (b - a)); }, 0.0);
  const Effect effect = effect_of(model, table, "a", {.points = 41, .rows = 2000, .draws = 2});
  ASSERT_TRUE(effect.accumulated);
  EXPECT_EQ(effect.goes_with, "b");
  std::vector<double> line;
  for (const double a : effect.at) line.push_back(2.0 * a);
  line = less_mean(line);
  for (std::size_t k = 0; k < line.size(); ++k) EXPECT_NEAR(effect.mean[k], line[k], 0.04) << effect.at[k];
}

TEST(Effects, AreRefusedWithASentence) {
  const Table table = two_columns(20, false);
  const KnownFunction model([](double a, double) { return a; }, 0.0);
  EXPECT_THROW(effect_of(model, table, "y"), UsageError);
  Table constant = table;
  constant.columns[0].values = std::vector<double>(20, 1.0);
  EXPECT_THROW(effect_of(model, constant, "a"), DataError);
}

// f = a^2 + 3 a b + e^b: on a grid of points u_j, v_k the interaction is 3 (u_j - mean u)(v_k - mean v).
TEST(Effects, InteractionsAreWhatIsLeftOfTheGrid) {
  const Table table = two_columns(300, false);
  const KnownFunction model([](double a, double b) { return a * a + 3.0 * a * b + std::exp(b); }, 0.5);
  const Interaction found = interaction_of(model, table, "a", "b", {.points = 6, .rows = 50, .draws = 2000});
  ASSERT_EQ(found.a.size(), 6u);
  ASSERT_EQ(found.b.size(), 6u);
  ASSERT_EQ(found.effect.size(), 36u);
  const std::vector<double> u = less_mean(found.a.at), v = less_mean(found.b.at);
  double squares = 0.0, all = 0.0;
  std::vector<double> joint;
  for (std::size_t k = 0; k < 36; ++k) {
    const double a = found.a.at[k / 6], b = found.b.at[k % 6];
    joint.push_back(a * a + 3.0 * a * b + std::exp(b));
    EXPECT_NEAR(found.interaction[k], 3.0 * u[k / 6] * v[k % 6], 1e-12);
    squares += std::pow(3.0 * u[k / 6] * v[k % 6], 2);
    EXPECT_NEAR(found.upper[k] - found.effect[k], 0.5 * 1.6449 * std::abs(u[k / 6]), 0.05);  // of the draws' slope
  }
  joint = less_mean(joint);
  for (std::size_t k = 0; k < 36; ++k) {
    EXPECT_NEAR(found.effect[k], joint[k], 1e-12);
    all += joint[k] * joint[k];
  }
  EXPECT_NEAR(found.h, std::sqrt(squares / all), 1e-12);
  EXPECT_LT(found.h_lower, found.h);
  EXPECT_GT(found.h_upper, found.h);
  EXPECT_FALSE(found.go_together);
  EXPECT_EQ(std::accumulate(found.rows.begin(), found.rows.end(), std::int64_t{0}), 300);
}

TEST(Effects, OfWhatAddsUpThereIsNoInteraction) {
  const KnownFunction sum([](double a, double b) { return std::sin(5.0 * a) + b * b; }, 0.0);
  EXPECT_NEAR(interaction_of(sum, two_columns(80, false), "a", "b", {.points = 5, .draws = 2}).h, 0.0, 1e-12);
  const KnownFunction product([](double a, double b) { return (a - 0.5) * (b - 0.5); }, 0.0);
  const Interaction together = interaction_of(product, two_columns(500, true), "a", "b", {.points = 5, .draws = 2});
  EXPECT_GT(together.h, 0.95);
  EXPECT_TRUE(together.go_together);
  EXPECT_EQ(together.rows[4], 0);  // the least a with the largest b
  EXPECT_THROW(interaction_of(sum, two_columns(80, false), "a", "a"), UsageError);
}

// The curve of a at b = 0.3 is a^2 + 0.9 a, whatever b goes with.
TEST(Effects, OtherColumnsCanBeHeld) {
  const KnownFunction model([](double a, double b) { return a * a + 3.0 * a * b; }, 0.0);
  const Effect effect = effect_of(model, two_columns(200, true), "a", {.points = 7, .draws = 2, .at = {{"b", "0.3"}}});
  EXPECT_FALSE(effect.accumulated);
  std::vector<double> expected;
  for (const double a : effect.at) expected.push_back(a * a + 0.9 * a);
  expected = less_mean(expected);
  for (std::size_t k = 0; k < 7; ++k) EXPECT_NEAR(effect.mean[k], expected[k], 1e-12);
  const Table table = two_columns(20, false);
  EXPECT_THROW(effect_of(model, table, "a", {.at = {{"a", "0.3"}}}), UsageError);
  EXPECT_THROW(effect_of(model, table, "a", {.at = {{"b", "0.3x"}}}), UsageError);
  EXPECT_THROW(effect_of(model, table, "a", {.at = {{"c", "0.3"}}}), UsageError);
  EXPECT_THROW(effect_of(model, table, "a", {.term = "term1"}), UsageError);
}

// A column that is dealt out anew: E (y - f(a'))^2 - E (y - f(a))^2 = 2 var f(a) for y = f(a) + noise.
TEST(Effects, ImportanceIsTheIncreaseOfTheError) {
  const Table table = two_columns(20'000, false);
  const KnownFunction model([](double a, double) { return 3.0 * a; }, 0.0);
  const std::vector<Importance> found = importance_of(model, table, {.rows = 20'000, .deals = 3});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].column, "a");
  const double variance = 9.0 / 12.0;
  EXPECT_NEAR(found[0].increase, std::sqrt(1.0 + 2.0 * variance) - 1.0, 0.03);
  EXPECT_EQ(found[1].increase, 0.0);
  EXPECT_TRUE(term_shares(model, table).empty());
}

// y = sin(2 pi t) + x^2 + noise, and z that has no part in it: what a fit says of it.
Table waves(std::uint64_t seed) {
  Random random(seed);
  std::vector<double> t, x, z, y;
  for (int i = 0; i < 300; ++i) {
    t.push_back(4.0 * random.uniform()), x.push_back(2.0 * random.uniform() - 1.0), z.push_back(random.normal());
    y.push_back(std::sin(2.0 * std::numbers::pi * t.back()) + x.back() * x.back() + 0.2 * random.normal());
  }
  return Table::from(
      {Column::numbers("t", t), Column::numbers("x", x), Column::numbers("z", z), Column::numbers("y", y)});
}

// Of all points of both curves over seeds: the share within two standard errors of the truth, these from the band, and
// the root mean squared error.
struct AgainstTruth {
  double share = 0.0, rmse = 0.0;
};
AgainstTruth against_truth(const std::string& formula, const FitOptions& options, std::uint64_t first, int seeds) {
  double within = 0.0, points = 0.0, squares = 0.0;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(seeds); ++seed) {
    const Fitted fitted = fit(waves(seed), formula, options);
    const Table fresh = waves(seed + 1000);
    const auto count = [&](const std::string& column, const std::function<double(double)>& truth) {
      const Effect effect = effect_of(fitted.model(), fresh, column, {.draws = 200, .level = 0.9545});
      std::vector<double> expected;
      for (const double each : effect.at) expected.push_back(truth(each));
      expected = less_mean(expected);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        within += effect.lower[k] <= expected[k] && expected[k] <= effect.upper[k] ? 1.0 : 0.0;
        points += 1.0;
        squares += std::pow(effect.mean[k] - expected[k], 2);
      }
    };
    count("t", [](double t) { return std::sin(2.0 * std::numbers::pi * t); });
    count("x", [](double x) { return x * x; });
  }
  return {within / points, std::sqrt(squares / points)};
}

FitOptions with_posterior(const std::string& name) {
  FitOptions options;
  options.posterior = name;
  return options;
}

void expect_truth(const std::string& formula, const std::string& posterior, int seeds, double least_share) {
  const AgainstTruth found = against_truth(formula, with_posterior(posterior), 1, seeds);
  testing::Test::RecordProperty(posterior + " share", std::to_string(found.share));
  testing::Test::RecordProperty(posterior + " rmse", std::to_string(found.rmse));
  EXPECT_GE(found.share, least_share) << formula;
  EXPECT_LT(found.rmse, 0.06) << formula;
}

// Parameters are held at their mode: two standard errors hold the truth somewhat less often than 95%.
TEST(Effects, OfKernelsAreTheTruthWithinTwoStandardErrors) {
  expect_truth("y ~ periodic(t, period=1) + rbf(x) + rbf(z)", "exact", 3, 0.85);
  expect_truth("y ~ periodic(t, period=1) + rbf(x) + rbf(z)", "neighbours", 2, 0.85);
}

TEST(EffectsSlow, OfKernelsAreTheTruthWithinTwoStandardErrors) {
  expect_truth("y ~ periodic(t, period=1) + rbf(x) + rbf(z)", "exact", 10, 0.85);
  expect_truth("y ~ periodic(t, period=1) + rbf(x) + rbf(z)", "neighbours", 10, 0.85);
}

// Bands of an ensemble are the spread of its members, which is too small: no share is asked for, see docs/effects.md.
TEST(EffectsSlow, OfNetworksAreNearTheTruth) {
  expect_truth("y ~ mlp(cycle(t, period=1)) + mlp(x)", "ensemble", 5, 0.0);
  expect_truth("y ~ mlp(cycle(t, period=1)) + mlp(x)", "laplace", 5, 0.8);
  expect_truth("y ~ mlp(cycle(t, period=1)) + mlp(x)", "nngp", 3, 0.9);
}

// One fit of two kernels: shares, losses, intervals, and the curve of a term.
TEST(Effects, OfTermsAreThoseOfTheirColumns) {
  const Fitted fitted = fit(waves(1), "y ~ periodic(t, period=1) + rbf(x) + rbf(z)");
  const Table fresh = waves(2);
  const std::vector<TermShare> shares = term_shares(fitted.model(), fresh);
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_NEAR(shares[0].share + shares[1].share + shares[2].share, 1.0, 1e-12);
  EXPECT_NEAR(shares[0].share, 0.5 / (0.5 + 4.0 / 45.0), 0.05);
  EXPECT_NEAR(shares[2].share, 0.0, 0.02);
  // without the term the error has its variance too: sqrt(0.04 + 0.5) - 0.2, sqrt(0.04 + 4 / 45) - 0.2
  const std::vector<TermShare>& lost = fitted.report().term_shares;
  ASSERT_EQ(lost.size(), 3u);
  EXPECT_NEAR(lost[0].rmse_lost, std::sqrt(0.54) - 0.2, 3.0 * lost[0].rmse_lost_error);
  EXPECT_NEAR(lost[1].rmse_lost, std::sqrt(0.04 + 4.0 / 45.0) - 0.2, 3.0 * lost[1].rmse_lost_error);
  EXPECT_NEAR(lost[2].rmse_lost, 0.0, 0.01);
  EXPECT_LT(lost[0].rmse_lost_error, 0.1);
  // the other terms do not read x: its curve is that of its term, and so is the band
  const Effect whole = effect_of(fitted.model(), fresh, "x"),
               own = effect_of(fitted.model(), fresh, "x", {.term = "term2"});
  for (std::size_t k = 0; k < whole.mean.size(); ++k) {
    EXPECT_NEAR(own.mean[k], whole.mean[k], 1e-9);
    EXPECT_NEAR(own.upper[k], whole.upper[k], 1e-9);
  }
  // the slope of the curve is that of differences of mean predictions
  const std::vector<double>& at = whole.at;
  Table moved = fresh;
  const auto mean_at = [&](double value) {
    moved.columns[1].values = std::vector<double>(300, value);
    const std::vector<double> mean = fitted.model().predict(moved).mean;
    return std::accumulate(mean.begin(), mean.end(), 0.0) / 300.0;
  };
  const Effect all = effect_of(fitted.model(), fresh, "x", {.rows = 300});
  for (std::size_t k = 1; k < at.size(); ++k) {
    EXPECT_NEAR(all.mean[k] - all.mean[k - 1], mean_at(at[k]) - mean_at(at[k - 1]), 1e-9);
  }
  // parts have a mean of about zero over training rows
  PredictOptions wanted;
  wanted.components = true;
  const Components parts = fitted.model().predict(waves(1), wanted).components;
  for (const std::vector<double>& part : parts.mean) {
    EXPECT_NEAR(std::accumulate(part.begin(), part.end(), 0.0) / 300.0, 0.0, 1e-9);
  }
}

TEST(Effects, LearnedParametersHaveIntervals) {
  const Fitted fitted = fit(waves(1), "y ~ periodic(t, period=1) + rbf(x)");
  for (const ParameterValue& each : fitted.model().parameters()) {
    SCOPED_TRACE(each.path);
    ASSERT_EQ(each.lower.size(), each.fixed ? 0u : each.values.size());
    for (std::size_t i = 0; i < each.lower.size(); ++i) {
      EXPECT_LT(each.lower[i], each.values[i]);
      EXPECT_GT(each.upper[i], each.values[i]);
      EXPECT_GT(each.lower[i], 0.0);
    }
  }
}

void expect_irrelevant_last(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Fitted fitted = fit(waves(seed), "y ~ periodic(t, period=1) + rbf(x) + rbf(z)");
    EXPECT_EQ(importance_of(fitted.model(), waves(seed + 100)).back().column, "z") << seed;
  }
}

TEST(Effects, AnIrrelevantColumnComesLast) { expect_irrelevant_last(10, 3); }
TEST(EffectsSlow, AnIrrelevantColumnComesLastIn20Of20) { expect_irrelevant_last(10, 20); }

}  // namespace
}  // namespace ick
