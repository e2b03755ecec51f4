#include "train/evidence.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "support/feature_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

constexpr char kKernels[] = "y ~ rbf(t, points=6) + periodic(s, period=2, points=5) * matern32(u)";

// -log N(y; 0, C) / n by the eigenvalues of C.
double naive_density(const at::Tensor& covariance, const at::Tensor& y) {
  const auto [values, vectors] = at::linalg_eigh(covariance);
  const at::Tensor turned = vectors.t().mv(y);
  const auto n = static_cast<double>(y.size(0));
  double twice = n * std::log(2.0 * std::numbers::pi);
  for (std::int64_t i = 0; i < y.size(0); ++i) {
    const double value = values[i].item<double>();
    twice += std::log(value) + std::pow(turned[i].item<double>(), 2) / value;
  }
  return twice / (2.0 * n);
}

at::Tensor eye(std::int64_t n) { return at::eye(n, at::kDouble); }
at::Tensor scalar(double value) { return at::full({}, value, at::kDouble); }

// A model of kernels with one member and generic parameters.
std::unique_ptr<Model> scattered_model(const TrainCase& on) {
  auto model = on.model();
  scatter_parameters(model->kernel(), 5, 1.1);
  return model;
}

TEST(ExactEvidence, IsTheDensityOfANormalVector) {
  const at::Tensor x = standard_normal_rows(12, 2, 1), y = standard_normal_rows(12, 1, 2).squeeze(1);
  const Kernel kernel =
      kernel_on("rbf(t, lengthscale=0.7, variance=1.3) * matern12(s, lengthscale=1.9)", x, {"t", "s"});
  at::Tensor covariance = at::zeros({12, 12}, at::kDouble);
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) {
      const double t = (x[i][0] - x[j][0]).item<double>() / 0.7, s = (x[i][1] - x[j][1]).item<double>() / 1.9;
      covariance[i][j] = 0.4 * 1.3 * std::exp(-0.5 * t * t) * std::exp(-std::abs(s)) + (i == j ? 0.09 : 0.0);
    }
  }
  const double found = exact_evidence(kernel, 0.4, x, y, scalar(std::log(0.09))).item<double>();
  EXPECT_NEAR(found, naive_density(covariance, y), 1e-12);
}

TEST(ExactEvidence, GradientIsThatOfDifferences) {
  const at::Tensor x = standard_normal_rows(15, 3, 3), y = standard_normal_rows(15, 1, 4).squeeze(1);
  Kernel kernel = kernel_on("rbf(t) * periodic(s) + linear(u)", x, {"t", "s", "u"});
  scatter_parameters(kernel, 6, 1.1);
  exact_evidence(kernel, 0.5, x, y, scalar(-1.7)).backward();
  const GradientCheck of_kernel = check_parameter(
      kernel.parameters().raw(), [&] { return exact_evidence(kernel, 0.5, x, y, scalar(-1.7)); }, free_columns(kernel));
  EXPECT_GT(of_kernel.largest, 1e-3);
  EXPECT_LT(of_kernel.error, 1e-6);
  const GradientCheck of_noise =
      check_gradient([&](const at::Tensor& at) { return exact_evidence(kernel, 0.5, x, y, at); }, scalar(-1.7));
  EXPECT_GT(of_noise.largest, 1e-3);
  EXPECT_LT(of_noise.error, 1e-7);
}

TEST(ExactEvidence, WithoutACholeskyFactorIsAnError) {
  const at::Tensor x = standard_normal_rows(5, 1, 1), y = standard_normal_rows(5, 1, 2).squeeze(1);
  Kernel kernel = kernel_on("rbf(t)", x, {"t"});
  kernel.parameters().raw().detach().fill_(800.0);  // e^800 is infinite
  EXPECT_THROW(exact_evidence(kernel, 1.0, x, y, scalar(-1.0)), NumericError);
}

// Rows twice over make the covariance singular but for its noise.
TEST(ExactEvidence, SurvivesRepeatedRowsAlmostWithoutNoise) {
  const at::Tensor once = standard_normal_rows(10, 1, 1);
  const at::Tensor x = at::cat({once, once}), y = at::cat({once, once}).squeeze(1).sin();
  const Kernel kernel = kernel_on("rbf(t)", x, {"t"});
  EXPECT_TRUE(std::isfinite(exact_evidence(kernel, 1.0, x, y, scalar(std::log(1e-18))).item<double>()));
}

// The fast path against composed operations and autograd: kernels of every kind of input, one of them in two terms, one
// column of targets and several, and rows of a block, of several, and of no whole number of lanes.
TEST(FusedEvidence, IsTheExactOne) {
  const std::string text =
      "rbf(t, s) * (periodic(u, lengthscale=0.8) + matern32(s)) + linear(t) * categorical(level) + "
      "rbf(lat, lon, sphere) + matern12(t, lengthscale=fixed(0.6))";
  for (const std::int64_t rows : {1, 7, 48, 51, 150}) {
    for (const std::int64_t targets : {1, 3}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(targets) + " targets");
      at::Tensor x = standard_normal_rows(rows, 6, 3);
      x.select(1, 3).copy_(at::arange(rows, at::kDouble).remainder(3.0));
      x.narrow(1, 4, 2).mul_(20.0);  // degrees
      const at::Tensor y = standard_normal_rows(rows, targets, 4);
      Kernel kernel(make_kernel_sum(parse_expression(text)),
                    summarise(x, {"t", "s", "u", "level", "lat", "lon"}, {0, 0, 0, 3, 0, 0}));
      scatter_parameters(kernel, 6, 1.1);
      const at::Tensor raw = kernel.parameters().raw();
      const auto evaluated = [&](const auto& evidence) {
        raw.mutable_grad() = at::Tensor();
        const at::Tensor log_noise = scalar(-1.7).requires_grad_(true);
        const at::Tensor value = evidence(log_noise);
        (2.0 * value).backward();
        return std::tuple(value.item<double>(), raw.grad().clone(), log_noise.grad().item<double>());
      };
      const auto [cost, d_raw, d_noise] =
          evaluated([&](const at::Tensor& log_noise) { return exact_evidence(kernel, 0.4, x, y, log_noise); });
      const auto [fused_cost, fused_d_raw, fused_d_noise] = evaluated(ExactEvidence(kernel, 0.4, x, y));
      EXPECT_NEAR(fused_cost, cost, 1e-12);
      EXPECT_NEAR(fused_d_noise, d_noise, 1e-12);
      EXPECT_GT(d_raw.abs().max().item<double>(), 1e-3);
      EXPECT_LT((fused_d_raw - d_raw).abs().max().item<double>(), 1e-11);
    }
  }
}

// Rows twice over, almost without noise: the factor needs more on its diagonal.
TEST(FusedEvidence, AddsToTheDiagonalAsTheExactOne) {
  const at::Tensor once = standard_normal_rows(10, 1, 1);
  const at::Tensor x = at::cat({once, once}), y = at::cat({once, once}).squeeze(1).sin();
  const Kernel kernel = kernel_on("rbf(t)", x, {"t"});
  const double expected = exact_evidence(kernel, 1.0, x, y, scalar(std::log(1e-18))).item<double>();
  const double found = ExactEvidence(kernel, 1.0, x, y)(scalar(std::log(1e-18))).item<double>();
  EXPECT_NEAR(found, expected, 1e-4 * std::abs(expected));  // of a matrix of condition 1e10
}

TEST(FusedEvidence, WithoutACholeskyFactorIsAnError) {
  const at::Tensor x = standard_normal_rows(5, 1, 1), y = standard_normal_rows(5, 1, 2).squeeze(1);
  Kernel kernel = kernel_on("rbf(t)", x, {"t"});
  kernel.parameters().raw().detach().fill_(800.0);  // e^800 is infinite
  EXPECT_THROW(ExactEvidence(kernel, 1.0, x, y)(scalar(-1.0)), NumericError);
}

TEST(FusedEvidence, IsTheSameForAnyNumberOfThreads) {
  const at::Tensor x = standard_normal_rows(150, 2, 3), y = standard_normal_rows(150, 1, 4).squeeze(1);
  const Kernel kernel = kernel_on("rbf(t) * periodic(s)", x, {"t", "s"});
  const ExactEvidence evidence(kernel, 0.7, x, y);
  const auto gradient = [&](int threads) {
    set_workers(threads);
    kernel.parameters().raw().mutable_grad() = at::Tensor();
    evidence(scalar(-2.0)).backward();
    set_workers(1);
    return kernel.parameters().raw().grad().clone();
  };
  const at::Tensor alone = gradient(1);
  EXPECT_TRUE(at::equal(gradient(2), alone));
  EXPECT_TRUE(at::equal(gradient(3), alone));
}

TEST(LinearEvidence, IsTheDensityOfItsFeaturesPlusWhatTheyMiss) {
  const TrainCase on(generic_table(20), kKernels);
  const auto model = scattered_model(on);
  const double variance = 0.13;
  const at::Tensor phi = model->linear_features(on.rows.x)[0].detach();  // (n, P + 1)
  ASSERT_EQ(phi.size(1), 12);
  const double dense = naive_density(phi.matmul(phi.t()) + variance * eye(20), on.rows.y);
  // k(x, x) of stationary kernels is their variance.
  const ParameterSet& parameters = model->kernel().parameters();
  const double prior =
      0.5 *
      (parameters.natural("term1.t.rbf.variance") + parameters.natural("term2.s.periodic.variance")).item<double>();
  double missing = 0.0;
  for (std::int64_t i = 0; i < 20; ++i) missing += prior - phi[i].narrow(0, 0, 11).square().sum().item<double>();
  ASSERT_GT(missing, 0.5) << "the features miss nothing; take fewer";
  const double found = linear_evidence(*model, on.rows, scalar(std::log(variance))).item<double>();
  EXPECT_NEAR(found, dense + missing / (2.0 * 20.0 * variance), 1e-10);
}

// Where the features carry the whole kernel both evidences are one. The bias has a prior variance of one.
TEST(LinearEvidence, WithAllFeaturesIsTheExactOne) {
  const TrainCase on(generic_table(20), "y ~ linear(t, points=1) + linear(u, points=1)");
  const auto model = on.model();
  const at::Tensor x = on.rows.x, y = on.rows.y;
  const Kernel with_bias = kernel_on("linear(t) + linear(u) + constant(variance=2)", x, {"t", "u"});
  const double found = linear_evidence(*model, on.rows, scalar(-1.3)).item<double>();
  EXPECT_NEAR(found, exact_evidence(with_bias, 0.5, x, y, scalar(-1.3)).item<double>(), 1e-6);  // jitter is 1e-8
}

// Errors that go together along t, of rows in any order: the density with their covariance in place of s^2 I.
TEST(LinearEvidence, OfErrorsThatLastIsTheDensityWithTheirCovariance) {
  const TrainCase on(generic_table(20), kKernels);
  const auto model = scattered_model(on);
  const LastingNoise lasting{0, 0.4, 0.3};
  const double variance = 0.13;
  const at::Tensor phi = model->linear_features(on.rows.x)[0].detach();
  const at::Tensor t = on.rows.x.select(1, 0);
  const at::Tensor errors = 0.7 * (-(t.unsqueeze(1) - t.unsqueeze(0)).abs() / 0.4).exp() + 0.3 * eye(20);
  const double dense = naive_density(phi.matmul(phi.t()) + variance * errors, on.rows.y);
  const double independent = naive_density(phi.matmul(phi.t()) + variance * eye(20), on.rows.y);
  const double missed = linear_evidence(*model, on.rows, scalar(std::log(variance))).item<double>() - independent;
  const double found = linear_evidence(*model, on.rows, scalar(std::log(variance)), lasting).item<double>();
  EXPECT_NEAR(found, dense + missed, 1e-10);
  EXPECT_GT(std::abs(dense - independent), 0.01);

  linear_evidence(*model, on.rows, scalar(-1.7), lasting).backward();
  const GradientCheck of_kernel = check_parameter(
      model->kernel().parameters().raw(), [&] { return linear_evidence(*model, on.rows, scalar(-1.7), lasting); },
      free_columns(model->kernel()));
  EXPECT_GT(of_kernel.largest, 1e-3);
  EXPECT_LT(of_kernel.error, 1e-6);
}

TEST(LinearEvidence, GradientIsThatOfDifferences) {
  const TrainCase on(generic_table(20), kKernels);
  const auto model = scattered_model(on);
  linear_evidence(*model, on.rows, scalar(-1.7)).backward();
  const GradientCheck of_kernel = check_parameter(
      model->kernel().parameters().raw(), [&] { return linear_evidence(*model, on.rows, scalar(-1.7)); },
      free_columns(model->kernel()));
  EXPECT_GT(of_kernel.largest, 1e-3);
  EXPECT_LT(of_kernel.error, 1e-6);
  const GradientCheck of_noise =
      check_gradient([&](const at::Tensor& at) { return linear_evidence(*model, on.rows, at); }, scalar(-1.7));
  EXPECT_GT(of_noise.largest, 1e-3);
  EXPECT_LT(of_noise.error, 1e-7);
}

// Normals of each raw number, over the rows; nothing of what is known.
TEST(EvidenceSearch, AddsThePriors) {
  const at::Tensor x = standard_normal_rows(12, 2, 1), y = standard_normal_rows(12, 1, 2).squeeze(1);
  const KernelSum products =
      make_kernel_sum(parse_expression("rbf(t, lengthscale=0.7) * matern12(s, lengthscale=prior(0.5, 3))"));
  Kernel kernel(products, summarise(x, {"t", "s"}));
  const auto evidence = [&](const at::Tensor& log_noise) { return exact_evidence(kernel, 0.4, x, y, log_noise); };
  EvidenceSearch search(kernel, 12, evidence);
  const std::vector<double> start = search.start();
  ASSERT_EQ(std::ssize(start), kernel.parameters().size() + 1);
  EXPECT_EQ(start.back(), kStartLogNoise);

  const std::vector<ParameterSet::Column> columns = kernel.parameters().columns();
  const auto learned = [&](std::size_t i) { return i == columns.size() || !columns[i].fixed; };
  std::vector<double> at = start;
  for (std::size_t i = 0; i < at.size(); ++i) at[i] += learned(i) ? 0.3 - 0.5 * static_cast<double>(i % 2) : 0.0;
  const Parameter& stated = kernel.parameters().find("term1.s.matern12.lengthscale");
  EXPECT_NEAR(stated.prior[0].centre, 0.5 * std::log(0.5 * 3.0), 1e-14);
  EXPECT_NEAR(stated.prior[0].centre + 1.6448536 * stated.prior[0].above, std::log(3.0), 1e-7);
  EXPECT_TRUE(kernel.parameters().find("term1.t.rbf.lengthscale").fixed);
  const CostAndGradient found = search(at);
  const at::Tensor raw = kernel.parameters().raw();
  for (std::int64_t i = 0; i < raw.numel(); ++i) EXPECT_EQ(raw[0][i].item<double>(), at[i]);
  const at::Tensor log_noise = scalar(at.back()).requires_grad_(true);
  raw.mutable_grad() = at::Tensor();
  const at::Tensor alone = evidence(log_noise);
  alone.backward();
  double value = alone.item<double>();
  for (std::int64_t i = 0; i < std::ssize(at); ++i) {
    if (!learned(static_cast<std::size_t>(i))) {
      EXPECT_EQ(found.gradient[i], 0.0);
      continue;
    }
    const Prior prior = i == raw.numel() ? kNoisePrior : columns[i].prior;
    const double off = at[i] - prior.centre, sd = off < 0.0 ? prior.below : prior.above;
    value += off * off / (2.0 * sd * sd * 12.0);
    const double gradient = i == raw.numel() ? log_noise.grad().item<double>() : raw.grad()[0][i].item<double>();
    EXPECT_NEAR(found.gradient[i], gradient + off / (sd * sd * 12.0), 1e-12);
  }
  EXPECT_NEAR(found.value, value, 1e-12);
}

TEST(EvidenceSearch, HoldsANoiseThatIsKnown) {
  const at::Tensor x = standard_normal_rows(40, 1, 1), y = (2.0 * x).sin().squeeze(1);
  const KernelSum products = make_kernel_sum(parse_expression("rbf(t)"));
  Kernel kernel(products, summarise(x, {"t"}));
  const auto evidence = [&](const at::Tensor& log_noise) { return exact_evidence(kernel, 1.0, x, y, log_noise); };
  EvidenceSearch search(kernel, 40, evidence, std::log(0.05));
  EXPECT_EQ(search.start().back(), std::log(0.05));
  EXPECT_EQ(search(search.start()).gradient.back(), 0.0);
  const LbfgsResult best = search.search(search.start(), 20);
  EXPECT_EQ(best.x.back(), std::log(0.05));
  EXPECT_LT(best.value, search(search.start()).value - 0.01);
}

// A valley a thousand times as narrow in one direction as in the other: with units that say so, few steps lead there.
TEST(EvidenceSearch, MeasuresNumbersInUnits) {
  const at::Tensor x = at::arange(200, at::kDouble).unsqueeze(1), y = (x * (2.0 * std::numbers::pi / 7.003)).sin();
  const KernelSum products = make_kernel_sum(parse_expression("periodic(t, period=start(7))"));
  const auto found = [&](bool with_units) {
    Kernel kernel(products, summarise(x, {"t"}));
    EvidenceSearch search(kernel, 200, ExactEvidence(kernel, 1.0, x, y.squeeze(1)));
    std::vector<double> units(search.start().size(), 1.0);
    for (const Parameter& each : kernel.parameters().parameters()) {
      if (each.path == "term1.t.periodic.period") units[each.first] = 7.0 / (2.0 * std::numbers::pi * 200.0);
    }
    const LbfgsResult best = search.search(search.start(), 12, {}, with_units ? units : std::vector<double>());
    EXPECT_EQ(search(best.x).value, best.value) << "the result is not in the numbers' own units";
    return std::pair(best.value, kernel.parameters().natural("term1.t.periodic.period").item<double>());
  };
  const auto [cost, period] = found(true);
  EXPECT_NEAR(period, 7.003, 1e-3);
  EXPECT_LT(cost, found(false).first);
}

// tests/golden/laplace.csv, written by laplace.py beside it: mode and sd of log l, log v, log s^2
TEST(Laplace, IsWhatNumpyMakesOfValuesAlone) {
  at::Tensor x = at::empty({40, 1}, at::kDouble), y = at::empty({40}, at::kDouble);
  for (int i = 0; i < 40; ++i) {
    const double at = 6.0 * (0.6180339887 * i - std::floor(0.6180339887 * i));
    x[i][0] = at, y[i] = std::sin(1.7 * at) + 0.5 * std::cos(0.6 * at) + 0.3 * std::sin(37.0 * i * i);
  }
  Kernel kernel = kernel_on("rbf(t, lengthscale=prior(0.2, 5), variance=prior(0.2, 5))", x, {"t"});
  EvidenceSearch search(kernel, 40, ExactEvidence(kernel, 1.0, x, y));
  LbfgsResult best = search.search(search.start(), 300);
  for (int again = 0; again < 3; ++again) best = search.search(best.x, 300);
  const RawSpread found = search.spread(best.x, 40);
  ASSERT_EQ(found.sd.size(), 2u);
  std::ifstream file(ICK_TESTS_DIR "/golden/laplace.csv");
  std::string line;
  std::getline(file, line);
  for (int row = 0; row < 3; ++row) {
    std::getline(file, line);
    const std::size_t first = line.find(','), second = line.find(',', first + 1);
    const std::string name = line.substr(0, first);
    const double mode = std::stod(line.substr(first + 1)), sd = std::stod(line.substr(second + 1));
    if (name == "noise") {
      EXPECT_NEAR(best.x.back(), mode, 0.01 * sd);
      continue;
    }
    const auto at = static_cast<std::size_t>(kernel.parameters().find("term1.t.rbf." + name).first);
    EXPECT_NEAR(best.x[at], mode, 0.01 * sd) << name;
    EXPECT_EQ(found.mode[at], best.x[at]);
    EXPECT_NEAR(found.sd[at] / sd, 1.0, 1e-3) << name;
  }
}

// Away from a mode there is no such thing, what is held is known, and no direction is wider than the prior.
TEST(Laplace, IsOfAModeAlone) {
  const at::Tensor x = standard_normal_rows(30, 1, 1), y = standard_normal_rows(30, 1, 2).squeeze(1);
  Kernel kernel = kernel_on("rbf(t, lengthscale=prior(0.2, 5), variance=fixed(1.5))", x, {"t"});
  EvidenceSearch search(kernel, 30, ExactEvidence(kernel, 1.0, x, y));
  const LbfgsResult best = search.search(search.start(), 200);
  std::vector<double> away = best.x;
  away.back() += 3.0;
  EXPECT_TRUE(search.spread(away, 30).mode.empty());
  const RawSpread found = search.spread(best.x, 30);
  ASSERT_EQ(found.sd.size(), 2u);
  const auto scale = static_cast<std::size_t>(kernel.parameters().find("term1.t.rbf.lengthscale").first);
  EXPECT_LE(found.sd[scale], 0.5 * std::log(25.0) / kNinety * (1.0 + 1e-9));
  EXPECT_GT(found.sd[scale], 0.0);
  EXPECT_TRUE(std::isnan(found.sd[1 - scale]));
}

// Draws of a process whose parameters are known: as many intervals hold them as should.
TEST(Laplace, IntervalsHoldTheTruth) {
  constexpr int kDraws = 60, kRows = 70;
  int held = 0, asked = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const at::Tensor x = 10.0 * (standard_normal_rows(kRows, 1, 100 + draw) * 0.7).sigmoid();
    const at::Tensor normals = standard_normal_rows(kRows, 1, 300 + draw).squeeze(1);
    const at::Tensor covariance = (-0.5 * (x - x.t()).square()).exp() + 0.05 * eye(kRows);  // l = 1, v = 1
    const at::Tensor y = at::linalg_cholesky(covariance).mv(normals);
    Kernel kernel = kernel_on("rbf(t, lengthscale=prior(0.05, 20), variance=prior(0.02, 50))", x, {"t"});
    EvidenceSearch search(kernel, kRows, ExactEvidence(kernel, 1.0, x, y));
    const LbfgsResult best = search.search(search.start(), 200);
    const RawSpread found = search.spread(best.x, kRows);
    ASSERT_EQ(found.sd.size(), 2u) << draw;
    for (std::size_t i = 0; i < 2; ++i) {  // log 1 = 0
      held += std::abs(found.mode[i]) <= kNinety * found.sd[i] ? 1 : 0;
      ++asked;
    }
  }
  RecordProperty("held", held);
  EXPECT_GE(held, 0.80 * asked);
  EXPECT_LE(held, 0.97 * asked);
}

}  // namespace
}  // namespace ick
