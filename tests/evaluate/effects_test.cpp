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

TEST(Effects, OfAFitAreTheTruthWithinTheirBands) {
  const Fitted fitted = fit(waves(1), "y ~ periodic(t, period=1) + rbf(x) + rbf(z)");
  const Table fresh = waves(2);
  const auto check = [&](const std::string& column, const std::function<double(double)>& truth) {
    const Effect effect = effect_of(fitted.model(), fresh, column, {.draws = 200, .level = 0.6827});
    std::vector<double> expected;
    for (const double each : effect.at) expected.push_back(truth(each));
    expected = less_mean(expected);
    double squares = 0.0;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const double sd = 0.5 * (effect.upper[k] - effect.lower[k]);
      EXPECT_NEAR(effect.mean[k], expected[k], 3.5 * sd + 0.01) << column << " " << effect.at[k];
      squares += std::pow((effect.mean[k] - expected[k]) / (sd + 0.005), 2);
    }
    EXPECT_LT(std::sqrt(squares / static_cast<double>(expected.size())), 2.0) << column;
  };
  check("t", [](double t) { return std::sin(2.0 * std::numbers::pi * t); });
  check("x", [](double x) { return x * x; });
  const std::vector<TermShare> shares = term_shares(fitted.model(), fresh);
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_NEAR(shares[0].share + shares[1].share + shares[2].share, 1.0, 1e-12);
  EXPECT_NEAR(shares[0].share, 0.5 / (0.5 + 4.0 / 45.0), 0.05);
  EXPECT_NEAR(shares[2].share, 0.0, 0.02);
}

TEST(Effects, AnIrrelevantColumnComesLast) {
  for (std::uint64_t seed = 10; seed < 30; ++seed) {
    const Fitted fitted = fit(waves(seed), "y ~ periodic(t, period=1) + rbf(x) + rbf(z)");
    EXPECT_EQ(importance_of(fitted.model(), waves(seed + 100)).back().column, "z") << seed;
  }
}

}  // namespace
}  // namespace ick
