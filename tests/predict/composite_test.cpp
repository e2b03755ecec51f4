#include "ick/predict/composite.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/likelihoods.h"
#include "support/model_case.h"
#include "support/network_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

ModelOptions members(std::int64_t count) {
  ModelOptions options;
  options.members = count;
  options.layers = {8};
  return options;
}

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().to(at::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double relative) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], relative * (1.0 + std::abs(b[i]))) << i;
}

// E over z ~ N(0, 1) by Simpson's rule.
double expectation(const std::function<double(double)>& g) {
  constexpr int kSteps = 4000;
  constexpr double kEnd = 12.0, kStep = 2.0 * kEnd / kSteps;
  double sum = 0.0;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = -kEnd + i * kStep, weight = i == 0 || i == kSteps ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
    sum += weight * g(z) * std::exp(-0.5 * z * z);
  }
  return sum * kStep / 3.0 / std::sqrt(2.0 * std::numbers::pi);
}

void expect_same_scores(const Scores& a, const Scores& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_NEAR(a.rmse, b.rmse, 1e-9);
  EXPECT_NEAR(a.mae, b.mae, 1e-9);
  EXPECT_NEAR(a.r2, b.r2, 1e-9);
  EXPECT_NEAR(a.spearman, b.spearman, 1e-12);
  EXPECT_NEAR(a.nlpd, b.nlpd, 1e-9);
  EXPECT_NEAR(a.msll, b.msll, 1e-9);
  EXPECT_NEAR(a.crps, b.crps, 1e-9);
  EXPECT_EQ(a.coverage, b.coverage);
  EXPECT_EQ(a.pit, b.pit);
  ASSERT_EQ(a.width.size(), b.width.size());
  for (const auto& [level, width] : a.width) EXPECT_NEAR(width, b.width.at(level), 1e-9);
}

// The mean square of the members about their mean, what the features miss, and the noise.
TEST(CompositePredictor, MeanAndSpreadOfTheMembersInTheTargetsUnits) {
  const ModelCase made("y ~ mlp(a, b) * rbf(day, points=5) + mlp(site)", mixed_table(20, 1));
  const CompositePredictor fitted = made.fitted(members(5), 0.4);
  const at::Tensor f = fitted.model()(made.batch()).detach().to(at::kDouble);
  const at::Tensor missed = fitted.model().missed_variance(made.batch());  // (E, B)
  EXPECT_GT(missed.max().item<double>(), 0.01);
  const Scaling& scaling = made.plan.encoder.target_scaling;
  const Prediction p = fitted.predict(made.table, {0.8});
  for (std::int64_t i = 0; i < 20; ++i) {
    double mean = 0.0, variance = 0.0;
    for (std::int64_t e = 0; e < 5; ++e) mean += f[e][i].item<double>() / 5.0;
    for (std::int64_t e = 0; e < 5; ++e) {
      variance += (std::pow(f[e][i].item<double>() - mean, 2) + missed[e][i].item<double>()) / 5.0;
    }
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(p.mean[at], scaling.mean + scaling.sd * mean, 1e-5);
    EXPECT_NEAR(p.sd[at], scaling.sd * std::sqrt(variance + 0.16), 1e-5);
    EXPECT_NEAR(p.function_sd[at], scaling.sd * std::sqrt(variance), 1e-5);
    EXPECT_NEAR(p.lower[at], p.mean[at] - 1.2815515655446004 * p.sd[at], 1e-12);  // normal quantile of 0.9
    EXPECT_NEAR(p.upper[at], p.mean[at] + 1.2815515655446004 * p.sd[at], 1e-12);
  }
  EXPECT_EQ(p.location, p.mean);
  EXPECT_EQ(p.scale, p.sd);
}

TEST(CompositePredictor, LevelsAreBetweenNoughtAndOne) {
  const ModelCase made("y ~ mlp(a)", mixed_table(5, 1));
  const CompositePredictor fitted = made.fitted(members(2), 1.0);
  for (const double level : {0.0, 1.0, -0.5, 90.0, std::nan("")}) {
    EXPECT_EQ(message_of<UsageError>([&] { fitted.predict(made.table, {level}); }),
              "the level of an interval must be between 0 and 1");
  }
}

// kPredictBlock rows are evaluated at once.
TEST(CompositePredictor, BlocksOfRowsDoNotShow) {
  const ModelCase made("y ~ mlp(a, b) * periodic(day, points=5) + linear(a)", mixed_table(9000, 2));
  const CompositePredictor fitted = made.fitted(members(2), 0.1);
  const Prediction all = fitted.predict(made.table);
  ASSERT_EQ(all.mean.size(), 9000u);
  constexpr std::int64_t b = kPredictBlock;
  static_assert(2 * b + 1 < 9000);
  for (const std::int64_t i : {std::int64_t{0}, b - 1, b, b + 1, 2 * b - 1, 2 * b, std::int64_t{8999}}) {
    const Prediction one = fitted.predict(some_rows(made.table, {i}));
    ASSERT_EQ(one.mean.size(), 1u);
    EXPECT_NEAR(one.mean[0], all.mean[static_cast<std::size_t>(i)], 1e-5);
    EXPECT_NEAR(one.sd[0], all.sd[static_cast<std::size_t>(i)], 1e-5);
  }
  EXPECT_TRUE(fitted.predict(some_rows(made.table, {})).mean.empty());
}

// Var f(x) = phi' (L L')^-1 phi, and what the features miss.
TEST(CompositePredictor, PosteriorOfKernels) {
  const ModelCase made("y ~ rbf(day, points=6) + linear(a)", mixed_table(25, 3));
  CompositePredictor fitted = made.fitted(members(1), 0.2);
  const std::int64_t size = fitted.model().features() + 1;
  const at::Tensor draws = normals({size, size}, 5);
  const at::Tensor factor = draws.tril(-1) * 0.3 + at::diag(draws.diagonal().abs() + 1.0);
  fitted.posterior = engine_named("exact").restore(fitted.posterior->shared_model(), {{"factor", factor}}, 1.0, true);
  const at::Tensor phi = fitted.model().linear_features(made.rows.x)[0].detach();
  const at::Tensor covariance = factor.matmul(factor.t()).inverse();
  const at::Tensor variance = phi.matmul(covariance).mul(phi).sum(1) + fitted.model().missed_variance(made.batch())[0];
  const double sd = made.plan.encoder.target_scaling.sd;
  expect_near(fitted.predict(made.table).sd, numbers((variance + 0.04).sqrt() * sd), 1e-9);
}

TEST(CompositePredictor, LogTargetsAreLogNormal) {
  const ModelCase made("log(y) ~ mlp(a, b)", mixed_table(12, 4));
  const CompositePredictor fitted = made.fitted(members(3), 0.5);
  const Prediction p = fitted.predict(made.table, {0.95});
  for (std::size_t i = 0; i < 12; ++i) {
    const double m = p.location[i], s = p.scale[i];
    const double mean = expectation([&](double z) { return std::exp(m + s * z); });
    const double square = expectation([&](double z) { return std::exp(2.0 * (m + s * z)); });
    EXPECT_NEAR(p.mean[i], mean, 1e-9 * mean);
    EXPECT_NEAR(p.sd[i], std::sqrt(square - mean * mean), 1e-7 * mean);
    EXPECT_NEAR(std::log(p.lower[i]), m - 1.959963984540054 * s, 1e-12);
    EXPECT_NEAR(std::log(p.upper[i]), m + 1.959963984540054 * s, 1e-12);
  }
  const at::Tensor f = fitted.model()(made.batch()).detach().to(at::kDouble);
  const Scaling& scaling = made.plan.encoder.target_scaling;  // of the logarithm
  expect_near(p.location, numbers(f.mean(0) * scaling.sd + scaling.mean), 1e-6);
  expect_near(p.scale, numbers((f.var(0, false) + 0.25).sqrt() * scaling.sd), 1e-6);
}

// Half widths by the definition: the ceil((n + 1) level)-th smallest of n = 9 scores.
TEST(CompositePredictor, CalibratedIntervals) {
  for (const bool log : {false, true}) {
    const ModelCase made(log ? "log(y) ~ mlp(a, b)" : "y ~ mlp(a, b)", mixed_table(12, 4));
    CompositePredictor fitted = made.fitted(members(3), 0.5);
    const Prediction gaussian = fitted.predict(made.table, {0.7});
    fitted.calibration = Calibration({0.3, 2.5, 0.1, 1.7, 0.9, 3.1, 0.2, 1.1, 0.6});
    const Prediction p = fitted.predict(made.table, {0.7});  // the seventh of them
    EXPECT_EQ(p.mean, gaussian.mean);
    EXPECT_EQ(p.sd, gaussian.sd);
    for (std::size_t i = 0; i < 12; ++i) {
      const double lower = log ? std::log(p.lower[i]) : p.lower[i], upper = log ? std::log(p.upper[i]) : p.upper[i];
      EXPECT_NEAR(lower, p.location[i] - 1.7 * p.scale[i], 1e-12);
      EXPECT_NEAR(upper, p.location[i] + 1.7 * p.scale[i], 1e-12);
    }
    // Scores count rows inside the same intervals.
    const Scores scores = fitted.evaluate(made.table).scores;
    const Numbers& y = made.table.column("y").values;
    const Prediction ninety = fitted.predict(made.table, {0.9});
    double inside = 0.0;
    for (std::size_t i = 0; i < 12; ++i)
      inside += y[i] >= ninety.lower[i] && y[i] <= ninety.upper[i] ? 1.0 / 12.0 : 0.0;
    EXPECT_NEAR(scores.coverage.at("0.9"), inside, 1e-12);
  }
}

// The noise's model says log s^2 up to a factor, for rows of the table that are chosen by their number.
TEST(CompositePredictor, NoiseThatDependsOnTheRow) {
  const Table table = mixed_table(30, 4);
  const ModelCase made("y ~ mlp(a)", table), of_noise("log(y) ~ mlp(b, site)", table);
  CompositePredictor fitted = made.fitted(members(2), 0.3);
  const auto noise_model = std::make_shared<CompositePredictor>(of_noise.fitted(members(3), 1.0));
  const Prediction constant = fitted.predict(table);
  fitted.noise_model = noise_model;
  const std::vector<double> log_variance = noise_model->predict(table).location;
  std::vector<double> expected;
  const double typical = noise_model->encoder.target_scaling.mean;
  for (const double each : log_variance) expected.push_back(0.09 * std::exp(each - typical));
  expect_near(numbers(fitted.noise_variance(table, made.rows)), expected, 1e-9);

  const at::Tensor index = at::tensor(std::vector<std::int64_t>{17, 3, 29}, at::kLong);
  expect_near(numbers(fitted.noise_variance(table, made.rows.select(index))), {expected[17], expected[3], expected[29]},
              1e-6);

  const Prediction p = fitted.predict(table);
  const double scale = made.plan.encoder.target_scaling.sd;
  EXPECT_EQ(p.mean, constant.mean);
  EXPECT_EQ(p.function_sd, constant.function_sd);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_NEAR(p.sd[i], std::sqrt(p.function_sd[i] * p.function_sd[i] + scale * scale * expected[i]), 1e-9);
  }
  std::vector<std::string> names;
  for (const ColumnInfo& info : fitted.columns()) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "site"}));
}

// A row whose noise cannot be told cannot be predicted; the others can.
TEST(CompositePredictor, RowsWithGapsInTheNoisesColumns) {
  const Table table = mixed_table(20, 5);
  const ModelCase made("y ~ mlp(a)", table), of_noise("log(y) ~ rbf(day, points=4)", table);
  CompositePredictor fitted = made.fitted(members(2), 0.3);
  fitted.noise_model = std::make_shared<CompositePredictor>(of_noise.fitted(members(1), 1.0));
  const Prediction whole = fitted.predict(table);
  Table with_gap = table;
  set_value(with_gap.columns[0], 6, kGap);
  const Prediction p = fitted.predict(with_gap);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(std::isnan(p.sd[i]), i == 6) << i;
    EXPECT_NEAR(p.mean[i], whole.mean[i], 1e-5) << i;
    if (i == 6) continue;
    EXPECT_NEAR(p.sd[i], whole.sd[i], 1e-5) << i;
  }
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < 20; ++i) {
    if (i != 6) others.push_back(i);
  }
  EncodingNotes notes;
  expect_same_scores(fitted.evaluate(with_gap, 0.9, &notes).scores, fitted.evaluate(some_rows(table, others)).scores);
  EXPECT_EQ(notes.with_gaps, 1);
}

TEST(CompositePredictor, RowsWithGapsAreNotPredicted) {
  FitOptions options;
  options.gaps = Gaps::drop;
  const ModelCase made("y ~ mlp(a) * rbf(day, points=5)", mixed_table(20, 5), options);
  const CompositePredictor fitted = made.fitted(members(2), 0.3);
  Table table = made.table;
  for (const std::size_t i : {3, 11}) set_value(table.columns[0], i, kGap);
  set_value(table.columns[1], 7, kGap);  // a network fills its gaps
  EncodingNotes notes;
  const Prediction p = fitted.predict(table, {0.9}, &notes), whole = fitted.predict(made.table);
  ASSERT_EQ(p.mean.size(), 20u);
  EXPECT_EQ(notes.with_gaps, 2);
  for (std::size_t i = 0; i < 20; ++i) {
    const bool gap = i == 3 || i == 11;
    for (const std::vector<double>* each : {&p.mean, &p.sd, &p.lower, &p.upper, &p.function_sd})
      EXPECT_EQ(std::isnan((*each)[i]), gap) << i;
    if (gap || i == 7) continue;
    EXPECT_NEAR(p.mean[i], whole.mean[i], 1e-5);
  }
  table.columns[0].values = std::vector<double>(table.columns[0].values.size(), kGap);
  for (const double mean : fitted.predict(table).mean) EXPECT_TRUE(std::isnan(mean));
}

TEST(CompositePredictor, EvaluateScoresWhatPredictSays) {
  for (const bool log : {false, true}) {
    const ModelCase made(log ? "log(y) ~ mlp(a) + linear(b)" : "y ~ mlp(a) + linear(b)", mixed_table(50, 6));
    const CompositePredictor fitted = made.fitted(members(3), 0.4);
    Table table = mixed_table(40, 7);
    set_value(table.columns[5], 4, kGap);
    EncodingNotes notes;
    const Scores found = fitted.evaluate(table, 0.9, &notes).scores;
    EXPECT_EQ(found.rows, 39);
    EXPECT_EQ(notes.without_target, 1);
    std::vector<std::int64_t> having;
    for (std::int64_t i = 0; i < 40; ++i) {
      if (i != 4) having.push_back(i);
    }
    const Table rest = some_rows(table, having);
    std::vector<double> y = rest.column("y").values.copy();
    if (log) {
      for (double& value : y) value = std::log(value);
    }
    const Prediction p = fitted.predict(rest);
    const Scaling& scaling = fitted.encoder.target_scaling;
    expect_same_scores(found, log ? log_normal_scores(y, p.location, p.scale, scaling.mean, scaling.sd)
                                  : normal_scores(y, p.mean, p.sd, scaling.mean, scaling.sd));
  }
}

TEST(CompositePredictor, NothingToScoreBy) {
  const ModelCase made("y ~ mlp(a)", mixed_table(8, 6));
  Table table = made.table;
  table.columns[5].values = std::vector<double>(table.columns[5].values.size(), kGap);
  EXPECT_EQ(message_of<DataError>([&] { made.fitted(members(1), 1.0).evaluate(table); }),
            "no row has a value of the target, \"y\", to score by");
}

std::map<std::string, ParameterValue> values_of(const CompositePredictor& fitted) {
  std::map<std::string, ParameterValue> values;
  for (const ParameterValue& each : fitted.parameters()) values[each.path] = each;
  return values;
}

TEST(CompositePredictor, KernelParametersInUnits) {
  Table table = mixed_table(30, 8);
  table.columns.push_back(column_of("lat", table.columns[2].values.copy()));
  table.columns.push_back(column_of("lon", table.columns[1].values.copy()));
  FitOptions options;
  options.units = {{"a", "m"}, {"b", "km"}};
  const ModelCase made(
      "y ~ periodic(day, period=1y, variance=2, points=4) * rbf(day, lengthscale=start(30d)) + "
      "rbf(lat, lon, sphere, lengthscale=700km, points=4) + rbf(a, lengthscale=50cm, points=4) + "
      "matern32(a, b, lengthscale=[1, 2], points=4)",
      table, options);
  const CompositePredictor fitted = made.fitted(members(1), 0.3);
  const auto values = values_of(fitted);
  const auto expect = [&](const std::string& path, std::vector<double> numbers, const std::string& unit, bool fixed) {
    ASSERT_TRUE(values.contains(path)) << path;
    EXPECT_EQ(values.at(path).unit, unit) << path;
    EXPECT_EQ(values.at(path).fixed, fixed) << path;
    expect_near(values.at(path).values, numbers, 1e-12);
  };
  expect("term1.day.periodic.period", {365.2425}, "d", true);
  expect("term1.day.periodic.variance", {2.0}, "y^2", true);
  expect("term1.day.rbf.lengthscale", {30.0}, "d", false);
  expect("term1.day.rbf.variance", {1.0}, "", true);  // the product has one scale, its first
  expect("term2.lat_lon.rbf.lengthscale", {700.0}, "km", true);
  expect("term3.a.rbf.lengthscale", {0.5}, "m", true);
  expect("term4.a_b.matern32.lengthscale", {1.0, 2.0}, "m, km", true);
  EXPECT_TRUE(ModelCase("y ~ mlp(a)", table).fitted(members(1), 1.0).parameters().empty());

  const ModelCase log("log(y) ~ rbf(day, variance=3, points=4)", table);
  EXPECT_EQ(values_of(log.fitted(members(1), 1.0)).at("term1.day.rbf.variance").unit, "log(y)^2");
}

}  // namespace
}  // namespace ick
