#include "kernel/spectrum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "kernel/values.h"
#include "support/law.h"
#include "support/message.h"

namespace ick {
namespace {

constexpr double kPi = std::numbers::pi;

std::vector<LawCase> cases_where(bool (*wanted)(Spectrum)) {
  std::vector<LawCase> cases;
  for (const LawCase& each : law_cases()) {
    const bool is_series_of_many = each.row->spectrum == Spectrum::series && each.columns > 1;
    if (wanted(each.row->spectrum) && !is_series_of_many) cases.push_back(each);
  }
  return cases;
}

at::Tensor normals(std::int64_t rows, std::int64_t columns, Random& random) {
  const at::Tensor draws = at::empty({rows, columns}, at::kDouble);
  for (std::int64_t i = 0; i < draws.numel(); ++i) draws.data_ptr<double>()[i] = random.normal();
  return draws;
}

SpectralDraws standard_draws(std::int64_t m, int inputs, Random& random) {
  const at::Tensor uniform = at::empty({m}, at::kDouble);
  for (std::int64_t i = 0; i < m; ++i) uniform.data_ptr<double>()[i] = random.uniform();
  return {normals(m, inputs, random), uniform};
}

// Differences x - x' as the formula sees them, some near and some far.
at::Tensor differences(const LawCase& each, int inputs) {
  Random random(3);
  const at::Tensor steps = 0.8 * normals(3, inputs, random);
  return each.row->inputs == Inputs::place ? 1500.0 * steps : steps;
}

// k of each difference: (E, T)
at::Tensor values_at(const Factor& factor, const at::Tensor& theta, const at::Tensor& steps) {
  const at::Tensor origin = at::zeros({1, 1, steps.size(1)}, at::kDouble);
  return kernel_values(factor.row->index, factor.structure, theta, steps.unsqueeze(0), origin, false)
      .expand({theta.size(0), steps.size(0), 1})
      .squeeze(-1);
}

// sum_c w_c mean_i cos(omega_ci . t): (E, T)
at::Tensor spectral_mean(const Factor& factor, const at::Tensor& theta, int components,
                         const std::vector<SpectralDraws>& draws, const at::Tensor& steps) {
  const at::Tensor weights = component_weights(factor, theta, components);
  at::Tensor total = at::zeros({theta.size(0), steps.size(0)}, at::kDouble);
  for (int c = 0; c < components; ++c) {
    const SpectralDraws& each = draws[draws.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    const at::Tensor omega = component_frequencies(factor, theta, c, each);  // (E, m, D)
    total = total + weights.narrow(1, c, 1) * at::cos(at::matmul(omega, steps.t())).mean(1);
  }
  return total;
}

// d(weights . sum over E, T) / d theta
at::Tensor gradient_of(const at::Tensor& value, const at::Tensor& leaf) {
  leaf.mutable_grad() = at::Tensor();
  (at::cos(at::arange(value.numel(), at::kDouble)).view(value.sizes()) * value).sum().backward();
  return leaf.grad().defined() ? leaf.grad().clone() : at::zeros_like(leaf);
}

class KnownSpectrum : public Law {};
class RandomSpectrum : public Law {};
class Density : public Law {};

TEST_P(KnownSpectrum, SumsToTheKernel) {
  const Kernel kernel = law_kernel(law(), 3, 201);
  const Factor& factor = kernel.terms()[0][0];
  const at::Tensor steps = differences(law(), factor.structure.inputs);
  const at::Tensor theta = kernel.parameters().natural().detach().clone().requires_grad_(true);
  const int components = component_count(factor, 60);
  Random random(1);
  const std::vector<SpectralDraws> draws = {standard_draws(2, factor.structure.inputs, random)};
  const at::Tensor mean = spectral_mean(factor, theta, components, draws, steps);
  const at::Tensor value = values_at(factor, theta, steps);
  EXPECT_LE(relative_error(mean.detach(), value.detach()), 1e-11);
  EXPECT_LE(relative_error(gradient_of(mean, theta), gradient_of(value, theta)), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Kernel, KnownSpectrum, testing::ValuesIn(cases_where([](Spectrum s) {
                           return s != Spectrum::none && !is_random(s);
                         })),
                         [](const auto& each) { return each.param.name(); });

// Forty batches of five thousand draws: their mean against k, within five of its standard errors.
TEST_P(RandomSpectrum, MeanTendsToTheKernel) {
  constexpr int kBatches = 40, kDraws = 5000;
  const Kernel kernel = law_kernel(law(), 2, 202);
  const Factor& factor = kernel.terms()[0][0];
  const int inputs = factor.structure.inputs;
  const at::Tensor steps = differences(law(), inputs);
  const at::Tensor theta = kernel.parameters().natural().detach().clone().requires_grad_(true);
  const int components = component_count(factor, 1000);
  std::vector<at::Tensor> means, gradients;
  for (int b = 0; b < kBatches; ++b) {
    std::vector<SpectralDraws> draws;
    for (int c = 0; c < components; ++c) draws.push_back(standard_draws(kDraws, inputs, random_));
    const at::Tensor mean = spectral_mean(factor, theta, components, draws, steps);
    means.push_back(mean.detach());
    gradients.push_back(gradient_of(mean, theta));
  }
  const auto compare = [&](const std::vector<at::Tensor>& batches, const at::Tensor& expected, const char* what) {
    const at::Tensor all = at::stack(batches), error = all.std(0) / std::sqrt(1.0 * kBatches);
    const at::Tensor miss = (all.mean(0) - expected).abs();
    EXPECT_TRUE((miss <= 5.0 * error + 1e-12).all().item<bool>()) << what << "\n" << miss / error;
    EXPECT_LT(error.max().item<double>(), 0.02 * (1.0 + expected.abs().max().item<double>()))
        << what << ": too noisy to say anything";
  };
  const at::Tensor value = values_at(factor, theta, steps);
  compare(means, value.detach(), "mean");
  // The frequencies of matern12 have no mean, so the gradient in the lengthscale has no expectation either.
  const bool has_expectation = law().row->spectrum != Spectrum::student || law().row->smoothness > 0.5;
  const at::Tensor expected = gradient_of(value, theta);
  if (has_expectation) {
    compare(gradients, expected, "gradient");
  } else {
    for (at::Tensor& each : gradients) {
      EXPECT_TRUE(each.isfinite().all().item<bool>());
      each = each.narrow(1, 0, 1);
    }
    compare(gradients, expected.narrow(1, 0, 1), "gradient of the variance");
  }
}

INSTANTIATE_TEST_SUITE_P(Kernel, RandomSpectrum, testing::ValuesIn(cases_where(is_random)),
                         [](const auto& each) { return each.param.name(); });

// Nodes and weights of the ten-point Gauss-Legendre rule on panels of [0, high].
struct Rule {
  at::Tensor nodes, weights;
};

Rule panels(double high, int count) {
  constexpr double kNodes[] = {0.14887433898163122, 0.43339539412924719, 0.67940956829902441, 0.86506336668898451,
                               0.97390652851717172};
  constexpr double kWeights[] = {0.29552422471475287, 0.26926671930999636, 0.21908636251598204, 0.14945134915058059,
                                 0.066671344308688138};
  std::vector<double> nodes, weights;
  for (int i = 0; i < count; ++i) {
    for (int q = 0; q < 10; ++q) {
      const double at = q < 5 ? -kNodes[q] : kNodes[q - 5];
      nodes.push_back(high * (i + 0.5 + 0.5 * at) / count);
      weights.push_back(0.5 * high / count * kWeights[q % 5]);
    }
  }
  return {at::tensor(nodes, at::kDouble), at::tensor(weights, at::kDouble)};
}

// (2 pi)^-D integral S(omega) cos(omega . t) d omega in polar coordinates, radius by a rule, angle by the trapezoidal
// rule (which is exact to rounding for a smooth periodic function). t (D); D = 1, 2, or 3 for a density that is the
// same in all directions. -> (E)
at::Tensor inverse_transform(const Factor& factor, const at::Tensor& theta, const Rule& radius, int angles,
                             const at::Tensor& t) {
  const at::Tensor r = radius.nodes, w = radius.weights;
  if (factor.structure.inputs == 1) {  // both signs
    const at::Tensor density =
        0.5 * (spectral_density(factor, theta, r.unsqueeze(1)) + spectral_density(factor, theta, -r.unsqueeze(1)));
    return (density * w * at::cos(r * t[0])).sum(1) / kPi;
  }
  if (factor.structure.inputs == 3) {  // the mean of cos(omega . t) over directions is sin(|omega| |t|) / (|omega| |t|)
    const at::Tensor omega = r.unsqueeze(1) * at::tensor({0.48, 0.6, 0.64}, at::kDouble);
    return (spectral_density(factor, theta, omega) * w * r * r * at::sinc(r * t.norm() / kPi)).sum(1) /
           (2.0 * kPi * kPi);
  }
  at::Tensor total = at::zeros({theta.size(0)}, at::kDouble);
  for (int a = 0; a < angles; ++a) {  // half a circle: S is even
    const double angle = kPi * (a + 0.25) / angles;
    const at::Tensor omega = r.unsqueeze(1) * at::tensor({std::cos(angle), std::sin(angle)}, at::kDouble);
    total = total + (spectral_density(factor, theta, omega) * w * r * at::cos(at::mv(omega, t))).sum(1);
  }
  return total * (kPi / angles) * 2.0 / (4.0 * kPi * kPi);
}

TEST_P(Density, IntegratesToTheVarianceAndTransformsToTheKernel) {
  const Kernel kernel = law_kernel(law(), 2, 203);
  const Factor& factor = kernel.terms()[0][0];
  const int inputs = factor.structure.inputs;
  const bool is_place = law().row->inputs == Inputs::place;
  const at::Tensor theta = kernel.parameters().natural().detach();
  const double unit = is_place ? 1500.0 : 1.0;

  // radius = u / (1 - u), so that a tail like radius^-2 ends at a finite u
  const Rule share = panels(1.0, 400);
  const at::Tensor left = 1.0 - share.nodes;
  const Rule whole = {share.nodes / left / unit, share.weights / left.square() / unit};
  const at::Tensor origin = at::zeros({1, inputs}, at::kDouble);
  const at::Tensor variance = values_at(factor, theta, origin).select(1, 0);
  EXPECT_LE(relative_error(inverse_transform(factor, theta, whole, 128, origin[0]), variance), 1e-8);

  // The cut-off tail swings: what is missing of matern12, the slowest, is of order 1 / (radius^2 |t|).
  const Rule cut = panels((inputs == 1 ? 4000.0 : is_place ? 3000.0 : 250.0) / unit, inputs == 2 ? 150 : 2000);
  for (const at::Tensor& t : differences(law(), inputs).unbind(0)) {
    const at::Tensor value = values_at(factor, theta, t.unsqueeze(0)).select(1, 0);
    const at::Tensor miss = inverse_transform(factor, theta, cut, 600, t) - value;
    const bool is_rough = law().row->smoothness == 0.5;
    EXPECT_LT((miss / variance).abs().max().item<double>(), is_rough ? 1e-5 : 1e-7) << t;
  }
}

// One and two dimensions, and three where all directions are alike.
std::vector<LawCase> density_cases() {
  std::vector<LawCase> cases = cases_where(has_density);
  std::erase_if(cases, [](const LawCase& each) { return each.columns > 2; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Kernel, Density, testing::ValuesIn(density_cases()),
                         [](const auto& each) { return each.param.name(); });

Kernel simple(const std::string& text) {
  InputSummary a, b;
  a.name = "a";
  b.name = "b";
  return Kernel(make_kernel_sum(parse_expression(text)), {a, b});
}

TEST(Spectrum, WhatHasNoneSaysSo) {
  const Kernel linear = simple("linear(a)"), series = simple("periodic(a, b)"), wave = simple("cosine(a)");
  EXPECT_EQ(message_of<UsageError>([&] { component_count(linear.terms()[0][0], 5); }),
            "linear has no spectrum, so it has no Fourier or Hilbert features; use Nystrom");
  EXPECT_EQ(message_of<UsageError>([&] { component_count(series.terms()[0][0], 5); }),
            "the Fourier series of a periodic kernel is for one column, found 2; use Nystrom features, or one periodic "
            "kernel for each column");
  EXPECT_EQ(message_of<UsageError>([&] {
              spectral_density(wave.terms()[0][0], wave.parameters().natural(), at::ones({1, 1}));
            }),
            "cosine has no spectral density");
}

TEST(Spectrum, ComponentsAreCounted) {
  EXPECT_EQ(component_count(simple("periodic(a)").terms()[0][0], 17), 17);
  EXPECT_EQ(component_count(simple("spectral_mixture(a, components=4)").terms()[0][0], 17), 4);
  EXPECT_EQ(component_count(simple("rbf(a, b)").terms()[0][0], 17), 1);
}

}  // namespace
}  // namespace ick
