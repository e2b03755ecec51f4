#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/feature_case.h"

// Theorem 1 by drawing networks: y(x) = sum_k f_k(x_1) z_k(x_2 .. x_M) has covariance K_nn K_2 ... K_M, for any number
// of sources, when z is one map of the product kernel. With one hidden layer of random weights the covariance of the
// network is its limit's at every width, so nothing but the number of draws limits the comparison.
namespace ick {
namespace {

constexpr std::int64_t kTestRows = 6, kRows = 24, kNetworks = 40'000, kBatch = 4'000, kHidden = 8;

struct Activation {
  const char* name;
  at::Tensor (*apply)(const at::Tensor&);
  double (*covariance)(double a, double ab, double b);  // E[phi(u) phi(v)], (u, v) normal with these second moments
};

// Williams 1998, for erf
double arcsine(double a, double ab, double b) {
  return 2.0 / std::numbers::pi * std::asin(2.0 * ab / std::sqrt((1.0 + 2.0 * a) * (1.0 + 2.0 * b)));
}

// Cho and Saul 2009, degree one, for max(0, u)
double arc_cosine(double a, double ab, double b) {
  const double size = std::sqrt(a * b), angle = std::acos(std::clamp(ab / size, -1.0, 1.0));
  return size / (2.0 * std::numbers::pi) * (std::sin(angle) + (std::numbers::pi - angle) * std::cos(angle));
}

const Activation kActivations[] = {{"erf", [](const at::Tensor& u) { return at::erf(u); }, arcsine},
                                   {"relu", [](const at::Tensor& u) { return at::relu(u); }, arc_cosine}};

constexpr double kOutputScale = 1.4;  // sd of the output weights, before 1 / sqrt(width)

// Inputs of the network, with a column of ones for its bias: (n, 4)
at::Tensor network_inputs() {
  return at::cat({standard_normal_rows(kTestRows, 3, 1), at::ones({kTestRows, 1}, at::kDouble)}, 1);
}

at::Tensor network_covariance(const Activation& activation) {
  const at::Tensor s = network_inputs(), second = s.matmul(s.t());
  at::Tensor k = at::empty({kTestRows, kTestRows}, at::kDouble);
  for (std::int64_t i = 0; i < kTestRows; ++i) {
    for (std::int64_t j = 0; j < kTestRows; ++j) {
      k[i][j] =
          kOutputScale * kOutputScale *
          activation.covariance(second[i][i].item<double>(), second[i][j].item<double>(), second[j][j].item<double>());
    }
  }
  return k;
}

struct Sample {
  at::Tensor covariance, standard_error;  // (n, n), of E[y y'] over networks
};

// features (n, p)
Sample draw_networks(const Activation& activation, const at::Tensor& features, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor inputs = network_inputs().to(at::kFloat), z = features.to(at::kFloat);
  at::Tensor first = at::zeros({kTestRows, kTestRows}, at::kDouble), second = at::zeros_like(first);
  for (std::int64_t done = 0; done < kNetworks; done += kBatch) {
    const at::Tensor hidden_weights = at::randn({kBatch, kHidden, inputs.size(1)}, generator, at::kFloat);
    const at::Tensor output_weights = at::randn({kBatch, kHidden, z.size(1)}, generator, at::kFloat);
    const at::Tensor hidden = activation.apply(inputs.matmul(hidden_weights.transpose(1, 2)));         // (S, n, H)
    const at::Tensor f = hidden.matmul(output_weights) * (kOutputScale / std::sqrt(double{kHidden}));  // (S, n, p)
    const at::Tensor y = (f * z).sum(2).to(at::kDouble);                                               // (S, n)
    const at::Tensor products = y.unsqueeze(2) * y.unsqueeze(1);
    first += products.sum(0);
    second += products.square().sum(0);
  }
  const at::Tensor mean = first / kNetworks, variance = second / kNetworks - mean.square();
  return {mean, (variance / kNetworks).sqrt()};
}

const char* const kSources[] = {"", "rbf(x, lengthscale=1.3)", " * periodic(t, period=1.7, lengthscale=0.9)",
                                " * matern52(u, lengthscale=1.5)", " * spectral_mixture(v, mean=0.2, scale=0.2)"};

std::string product_of(int sources) {
  std::string formula;
  for (int m = 1; m < sources; ++m) formula += kSources[m];
  return formula;
}

// Test rows are the first of the training rows, and all training rows are inducing points.
struct Setting {
  at::Tensor rows = feature_rows(kRows, 3, 1.0), test = rows.narrow(0, 0, kTestRows);
  Kernel kernel;
  MapOptions options;

  explicit Setting(int sources) : kernel(kernel_on(product_of(sources), rows, kFeatureColumns, kFeatureLevels)) {
    options.features = kRows;
    options.placement = Placement::pivoted_cholesky;
    options.dtype = at::kDouble;
  }
};

double largest_score(const Sample& sample, const at::Tensor& expected) {
  return ((sample.covariance - expected) / sample.standard_error).abs().max().item<double>();
}

TEST(Theorem, CovarianceIsTheProductForAnyNumberOfSources) {
  for (const Activation& activation : kActivations) {
    for (int sources = 2; sources <= 5; ++sources) {
      const Setting setting(sources);
      const at::Tensor z = (*make_feature_map(setting.kernel, setting.rows, setting.options))(setting.test).detach()[0];
      ASSERT_EQ(z.size(1), kRows);
      const at::Tensor expected =
          network_covariance(activation) * setting.kernel.matrix(setting.test, setting.test).detach()[0];
      const Sample sample = draw_networks(activation, z, static_cast<std::uint64_t>(sources));
      const double score = largest_score(sample, expected);
      RecordProperty(activation.name + std::to_string(sources), std::to_string(score));
      EXPECT_LT(score, 5.0) << activation.name << " with " << sources << " sources";
      EXPECT_GT(largest(expected / sample.standard_error), 50.0) << "the comparison would see a deviation of a tenth";
    }
  }
}

TEST(Theorem, ChainedMapsMissItFromThreeSourcesOn) {
  const Activation& activation = kActivations[0];
  double before = HUGE_VAL;
  for (int sources = 2; sources <= 5; ++sources) {
    const Setting setting(sources);
    const at::Tensor z = (*make_chained_map(setting.kernel, setting.rows, setting.options))(setting.test).detach()[0];
    const at::Tensor expected =
        network_covariance(activation) * setting.kernel.matrix(setting.test, setting.test).detach()[0];
    const Sample sample = draw_networks(activation, z, static_cast<std::uint64_t>(sources));
    const double score = largest_score(sample, expected), diagonal = sample.covariance.diagonal().mean().item<double>();
    RecordProperty("chained" + std::to_string(sources),
                   std::to_string(score) + " diagonal " + std::to_string(diagonal));
    if (sources == 2) {
      EXPECT_LT(score, 5.0) << "one kernel is no chain";
    } else {
      EXPECT_GT(score, 20.0) << sources;
      EXPECT_LT(diagonal, 0.8 * before) << sources;
    }
    before = diagonal;
  }
}

}  // namespace
}  // namespace ick
