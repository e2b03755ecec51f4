#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "fit/noise.h"
#include "ick/base/error.h"
#include "ick/fit/fit.h"
#include "ick/inference/neural_kernel.h"
#include "support/train_case.h"

namespace ick {
namespace {

// x even on (-3, 3) and y = f(x, e), e ~ N(0, 1)
Table simulated(std::int64_t rows, std::uint64_t seed, const std::function<double(double, Random&)>& f) {
  Random random(seed_for(seed, "simulated"));
  std::vector<double> x, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    x.push_back(6.0 * random.uniform() - 3.0);
    y.push_back(f(x.back(), random));
  }
  return make_table({{"x", x}, {"y", y}});
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const at::Tensor both = at::stack({at::tensor(a, at::kDouble), at::tensor(b, at::kDouble)});
  return at::corrcoef(both)[0][1].item<double>();
}

// The derivative of the likelihood is zero where it ends: sum_i g_i (v_i + s^2 g_i - r_i^2) / (v_i + s^2 g_i)^2 = 0.
TEST(FitNoise, IsTheMostLikely) {
  const auto tensor = [](std::uint64_t seed) { return at::tensor(normal_numbers(400, seed), at::kDouble); };
  const at::Tensor mean = tensor(1), variance = 0.1 * tensor(2).square(), shape = (0.5 * tensor(4)).exp();
  for (const bool shaped : {false, true}) {
    const at::Tensor g = shaped ? shape : at::ones_like(mean);
    const at::Tensor y = mean + (variance + 0.49 * g).sqrt() * tensor(3);
    const double found = fit_noise(mean, variance, y, shaped ? shape : at::Tensor(), y.std().item<double>());
    EXPECT_NEAR(found, 0.7, 5.0 * 0.7 / std::sqrt(2.0 * 400.0));
    const at::Tensor total = variance + found * found * g;
    const at::Tensor slopes = g * (total - (y - mean).square()) / total.square();
    EXPECT_NEAR((slopes.sum() / slopes.abs().sum()).item<double>(), 0.0, 1e-5);
  }
  // Residuals that the function's own variance explains leave next to nothing; no variance of either is no number.
  EXPECT_LT(fit_noise(mean, at::ones_like(mean), mean, {}, 1.0), 2e-4);
}

// Far from all rows in t the function has its prior variance: that of the kernel, as it is printed, times the
// network's covariance, which for infinite width has a closed form.
TEST(Amplitude, IsPartOfTheVarianceThatIsReadAndNotAddedToOneThatIsStated) {
  Random random(5);
  std::vector<double> x, t, y;
  for (int i = 0; i < 120; ++i) {
    x.push_back(2.0 * random.uniform() - 1.0), t.push_back(10.0 * random.uniform());
    y.push_back(30.0 * x.back() * std::sin(t.back()) + 3.0 * random.normal());
  }
  const Table table = make_table({{"x", x}, {"t", t}, {"y", y}});
  const Table far = make_table({{"x", {-0.8, 0.1, 0.6}}, {"t", {1e4, 1e4, 1e4}}, {"y", {0.0, 0.0, 0.0}}});
  for (const char* posterior : {"nngp", "ntk"}) {
    for (const char* stated : {"", ", variance=4", ", variance=start(4)"}) {
      SCOPED_TRACE(std::string(posterior) + stated);
      FitOptions options;
      options.posterior = posterior;
      options.members = 20;
      options.layers = {64};
      options.refit = Refit::yes;
      const std::string formula = "y ~ mlp(x) * rbf(t, lengthscale=2" + std::string(stated) + ")";
      const Fit fit = fit_model(table, formula, options);
      const double amplitude = fit.model.posterior->amplitude();
      const ParameterValue variance = fit.model.parameter("term1.t.rbf.variance");
      if (std::string(stated).empty()) {
        EXPECT_GT(std::abs(std::log(amplitude)), 0.01);
      } else {
        EXPECT_EQ(amplitude, 1.0);
      }
      if (variance.fixed) {
        EXPECT_NEAR(variance.values[0], 4.0, 1e-9);
      }
      const Dataset rows = encode(far, fit.model.encoder, false);
      const Model::TermParts parts = fit.model.model().parts_of(0);
      const DensePrior prior = *parts.networks[0]->dense_prior();
      const at::Tensor& inputs = rows.networks[parts.sources[0]];
      const NeuralKernels kernels = neural_kernels(prior, inputs, inputs);
      const at::Tensor diagonal = (std::string(posterior) == "nngp" ? kernels.nngp : kernels.ntk).diagonal();
      const Prediction p = fit.model.predict(far);
      for (int i = 0; i < 3; ++i) {
        const double expected = variance.values[0] * diagonal[i].item<double>();
        EXPECT_NEAR(p.function_sd[i] * p.function_sd[i] / expected, 1.0, 0.25) << i;  // ten networks of width 64
      }
    }
  }
}

TEST(NoiseFormula, FindsNoiseThatGrows) {
  const auto draw = [](double x, Random& random) { return std::sin(x) + std::abs(x) * random.normal(); };
  const Table training = simulated(1500, 1, draw), fresh = simulated(1000, 2, draw);
  FitOptions options;
  const Fit constant = fit_model(training, "y ~ rbf(x)", options);
  options.noise_formula = "sigma ~ rbf(x)";
  const Fit varying = fit_model(training, "y ~ rbf(x)", options);
  ASSERT_NE(varying.model.noise_model, nullptr);
  EXPECT_EQ(constant.model.noise_model, nullptr);
  const Prediction p = varying.model.predict(fresh);
  std::vector<double> size;
  for (const double x : fresh.columns[0].values) size.push_back(std::abs(x));
  EXPECT_GT(correlation(p.sd, size), 0.8);
  const Scores with = varying.model.evaluate(fresh).scores, without = constant.model.evaluate(fresh).scores;
  EXPECT_LT(with.nlpd, without.nlpd - 0.1);
  EXPECT_NEAR(with.coverage.at("0.9"), 0.9, 0.05);
  ASSERT_TRUE(varying.report.validation.has_value());
  EXPECT_EQ(varying.report.validation->rows, 150);  // the half that did not teach the noise
  EXPECT_EQ(varying.model.calibration.rows(), 150);
}

// Student's t with three degrees: a Gaussian with its variance is too wide in the middle. 600 rows calibrate, so that
// the coverage has an sd of sqrt(level (1 - level) / 600), of 4000 fresh rows besides; four of them.
TEST(Calibrated, IntervalsCoverWhateverTheNoise) {
  const auto draw = [](double x, Random& random) {
    return std::sin(x) + 0.4 * random.normal() / std::sqrt(random.chi_squared(3) / 3.0);
  };
  const Table fresh = simulated(4000, 4, draw);
  const Fit fitted = fit_model(simulated(3000, 3, draw), "y ~ rbf(x)");
  ASSERT_EQ(fitted.model.calibration.rows(), 600);
  const Scores calibrated = fitted.model.evaluate(fresh).scores;
  CompositePredictor gaussian = fitted.model;
  gaussian.calibration = {};
  const Scores without = gaussian.evaluate(fresh).scores;
  for (const auto& [name, covered] : calibrated.coverage) {
    const double level = std::stod(name);
    EXPECT_NEAR(covered, level, 4.0 * std::sqrt(level * (1.0 - level) * (1.0 / 600.0 + 1.0 / 4000.0))) << name;
  }
  EXPECT_GT(without.coverage.at("0.5"), 0.6);
  EXPECT_LT(calibrated.width.at("0.5"), 0.8 * without.width.at("0.5"));
}

constexpr char kWiderHybrid[] = "y ~ mlp(a, b, layers=[24]) * rbf(t, points=12) + mlp(c, s, layers=[16]) + linear(u)";

FitOptions quick(const std::string& posterior) {
  FitOptions options;
  options.seed = 2;
  options.posterior = posterior;
  options.epochs = 30;
  if (posterior == "nngp" || posterior == "ntk") options.members = 12;
  options.epochs = posterior == "laplace" ? 30 : 0;
  return options;
}

class Posteriors : public testing::TestWithParam<std::string> {};

// Better than the training mean and variance (msll below zero), with noise, calibration and support of its own.
TEST_P(Posteriors, FitFromEndToEnd) {
  const Table training = generic_table(300), fresh = generic_table(300, 2);
  const Fit fitted = fit_model(training, kWiderHybrid, quick(GetParam()));
  const CompositePredictor& model = fitted.model;
  EXPECT_EQ(model.options.members, GetParam() == "laplace" ? 1 : 12);
  EXPECT_EQ(model.posterior->engine().name, GetParam());
  EXPECT_EQ(model.posterior->tensors().empty(), GetParam() == "nngp");      // whose draws are the weights
  EXPECT_EQ(model.calibration.rows(), GetParam() == "laplace" ? 300 : 60);  // trained: all rows, left out in turn
  EXPECT_EQ(model.support.size(), 2u);
  EXPECT_EQ(fitted.report.validation->rows, 60);
  EXPECT_LT(fitted.report.validation->msll, 0.0);
  const Scores scores = model.evaluate(fresh).scores;
  EXPECT_LT(scores.msll, 0.0);
  EXPECT_NEAR(scores.coverage.at("0.9"), 0.9, 0.12);  // 60 rows calibrate: three sds
  const Prediction p = model.predict(fresh);
  const double noise = model.noise * model.encoder.target_scaling.sd;
  for (std::size_t i = 0; i < p.sd.size(); ++i) {
    EXPECT_GT(p.function_sd[i], 0.0);
    EXPECT_NEAR(p.sd[i], std::hypot(p.function_sd[i], noise), 1e-9);
  }
}

TEST_P(Posteriors, KeepANoiseThatIsKnown) {
  FitOptions options = quick(GetParam());
  options.noise = 0.35;
  options.warm_start = false;
  const CompositePredictor model = fit_model(generic_table(120), kWiderHybrid, options).model;
  EXPECT_NEAR(model.noise * model.encoder.target_scaling.sd, 0.35, 1e-12);
}

TEST_P(Posteriors, AreTheSameForTheSameSeed) {
  FitOptions options = quick(GetParam());
  options.warm_start = false;
  const Table table = generic_table(100);
  const CompositePredictor first = fit_model(table, kWiderHybrid, options).model,
                           second = fit_model(table, kWiderHybrid, options).model;
  EXPECT_EQ(first_difference(first.model().state(), second.model().state()), "");
  EXPECT_EQ(first.predict(table).sd, second.predict(table).sd);
  options.seed = 3;
  EXPECT_NE(fit_model(table, kWiderHybrid, options).model.predict(table).sd, first.predict(table).sd);
}

// Interrupted before anything is trained, or while it is drawn: when resumed it starts anew and ends the same.
TEST_P(Posteriors, CanBeInterrupted) {
  FitOptions options = quick(GetParam());
  options.warm_start = false;
  const Table table = generic_table(100);
  const Formula formula = parse_formula(kWiderHybrid);
  Checkpoint kept;
  FitHooks hooks;
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
  hooks.interrupted = [] { return true; };
  EXPECT_THROW(fit_model(table, formula, options, hooks), Interrupted);
  ASSERT_FALSE(kept.phase.empty());
  const CompositePredictor whole = fit_model(table, formula, options).model,
                           again = fit_model(table, formula, options, {}, &kept).model;
  EXPECT_EQ(whole.predict(table).sd, again.predict(table).sd);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Posteriors, testing::Values("nngp", "ntk", "laplace"),
                         [](const auto& kind) { return kind.param; });

// One member, identical rows, next to no noise: what there is to say is said in numbers.
TEST(Posteriors, OfIdenticalRows) {
  Columns columns;
  for (const char* name : {"a", "b", "c", "t", "s", "u"}) columns.emplace_back(name, std::vector<double>(40, 1.0));
  std::vector<double> y = normal_numbers(40, 1);
  columns.emplace_back("y", y);
  for (const std::string posterior : {"nngp", "ntk", "laplace"}) {
    SCOPED_TRACE(posterior);
    const CompositePredictor model =
        fit_model(make_table(columns), "y ~ mlp(a, b) * rbf(t, points=4)", quick(posterior)).model;
    const Prediction p = model.predict(make_table(columns));
    for (const double sd : p.sd) EXPECT_TRUE(std::isfinite(sd) && sd > 0.0);
    EXPECT_NEAR(p.sd[0], 1.0, 0.5);
  }
}

}  // namespace
}  // namespace ick
