#include "baseline/sparse_process.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "baseline/exact_rows.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/formula/expression.h"

namespace ick {
namespace {

constexpr std::int64_t kGoldenRows = 14, kGoldenPoints = 5, kGoldenTests = 4;
constexpr double kGoldenNoise = 0.3, kGoldenJitter = 1e-8, kGoldenScale = 3.0;

// tests/golden/sparse_process.csv, written by sparse_process.py beside it
std::map<std::string, at::Tensor> sparse_golden() {
  std::ifstream file(ICK_TESTS_DIR "/golden/sparse_process.csv");
  std::map<std::string, at::Tensor> found;
  std::string line, name;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::getline(in, name, ',');
    std::vector<double> values;
    for (double each; in >> each;) values.push_back(each);
    found[name] = at::tensor(values, at::kDouble);
  }
  return found;
}

at::Tensor sines(at::IntArrayRef sizes, double a, double b) {
  return (a * at::arange(c10::multiply_integers(sizes), at::kDouble) + b).sin().view(sizes);
}

// The same numbers as there.
struct SparseCase {
  Kernel kernel = [] {
    std::vector<InputSummary> inputs(2);
    inputs[0].name = "a", inputs[1].name = "b";
    Kernel made(make_kernel_sum(parse_expression("matern32(a, b) + rbf(b)")), inputs);
    made.parameters().raw().detach().copy_(at::tensor({1.3, 0.9, 1.7, 0.6, 1.2}, at::kDouble).log().unsqueeze(0));
    return made;
  }();
  at::Tensor x = 2.0 * sines({kGoldenRows, 2}, 1.7, 0.3), z = 2.0 * sines({kGoldenPoints, 2}, 2.3, 0.9);
  at::Tensor t = 2.0 * sines({kGoldenTests, 2}, 1.1, 0.2);
  ProcessKernel process_kernel{kernel, 0.5};
  SparseBatch batch{process_kernel.inputs(x), sines({kGoldenRows}, 0.8, 0.1),
                    1.0 + 0.4 * sines({kGoldenRows}, 2.9, 0.5), 0.05 * (1.0 + sines({kGoldenRows}, 1.3, 0.7))};
  Variational q;

  SparseCase() {
    const at::Tensor root = 0.3 * sines({kGoldenPoints, kGoldenPoints}, 2.1, 0.6);
    const at::Tensor s = 0.2 * at::eye(kGoldenPoints, at::kDouble) + root.mm(root.t());
    q.precision = s.inverse();
    q.right = q.precision.mv(0.6 * sines({kGoldenPoints}, 1.9, 0.4));
  }
  SparseProcess process(at::ScalarType products = at::kDouble) const {
    return {process_kernel, process_kernel.inputs(z), std::log(kGoldenNoise), products, kGoldenJitter};
  }
};

void expect_close(const at::Tensor& found, const at::Tensor& expected, double tolerance) {
  EXPECT_LE((found - expected).abs().max().item<double>(), tolerance) << found << expected;
}

TEST(SparseProcess, BoundAndPredictionsAreThoseOfNumpy) {
  const SparseCase given;
  const auto golden = sparse_golden();
  const SparseProcess process = given.process();
  EXPECT_NEAR(process.bound(given.q, given.batch, process.see(given.batch), kGoldenScale),
              golden.at("bound").item<double>(), 1e-9);
  const FunctionMoments found = prediction_of(process, given.q).at(given.process_kernel.inputs(given.t));
  expect_close(found.mean, golden.at("mean"), 1e-11);
  expect_close(found.variance, golden.at("variance"), 1e-11);
}

// All rows for inducing points and the best q: the exact process, and the bound is its marginal likelihood. And that
// process by its Cholesky factor.
TEST(SparseProcess, IsTheExactProcessWithAllRowsForPoints) {
  const SparseCase given;
  const auto golden = sparse_golden();
  const SparseProcess process(given.process_kernel, given.batch.inputs, std::log(kGoldenNoise), at::kDouble, 1e-12);
  const SparseProcess::Seen seen = process.see(given.batch);
  Variational q = given.q;
  q.precision = 5.0 * at::eye(kGoldenRows, at::kDouble), q.right = at::ones({kGoldenRows}, at::kDouble);
  SparseProcess::follow(seen, 1.0, 1.0, q);  // whatever q was
  EXPECT_NEAR(process.bound(q, given.batch, seen, 1.0), golden.at("evidence").item<double>(), 1e-7);
  const FunctionMoments found = prediction_of(process, q).at(given.process_kernel.inputs(given.t));
  expect_close(found.mean, golden.at("exact mean"), 1e-8);
  expect_close(found.variance, golden.at("exact variance"), 1e-8);

  const ExactRows rows{given.process_kernel, given.batch.inputs,
                       (kGoldenNoise + given.batch.error) / given.batch.weights};
  const DenseProcess dense(rows);
  const at::Tensor tests = given.process_kernel.inputs(given.t);
  EXPECT_NEAR(dense.log_likelihood(given.batch.y), golden.at("evidence").item<double>(), 1e-11);
  expect_close(mean_of(rows, dense.solve(given.batch.y), tests), golden.at("exact mean"), 1e-12);
  expect_close(dense.variance(tests), golden.at("exact variance"), 1e-12);
}

// Derivatives with q(v) held, against differences of the bound.
TEST(SparseProcess, SlopesAreThoseOfTheBound) {
  const SparseCase given;
  const at::Tensor points = given.process_kernel.inputs(given.z);  // (p, inputs)
  constexpr double kStep = 1e-5;
  for (const bool known_errors : {true, false}) {
    SparseCase own;
    if (!known_errors) own.batch.error = at::zeros_like(own.batch.error);
    const auto bound = [&](const std::vector<double>& theta, const at::Tensor& z, double log_noise) {
      ProcessKernel kernel = own.process_kernel;
      kernel.set_theta(theta);
      const SparseProcess process(kernel, z, log_noise, at::kDouble, kGoldenJitter);
      return process.bound(own.q, own.batch, process.see(own.batch), kGoldenScale);
    };
    const SparseProcess process = own.process();
    SparseProcess::Slopes slopes;
    process.bound(own.q, own.batch, process.see(own.batch), kGoldenScale, &slopes);
    const at::Tensor of_rows = process.row_slopes(own.batch, slopes), inputs = own.batch.inputs;
    for (std::int64_t i = 0; i < inputs.numel(); ++i) {
      const auto moved = [&](double by) {
        SparseBatch batch = own.batch;
        batch.inputs = inputs.clone();
        batch.inputs.data_ptr<double>()[i] += by;
        return process.bound(own.q, batch, process.see(batch), kGoldenScale);
      };
      EXPECT_NEAR(of_rows.contiguous().data_ptr<double>()[i], (moved(kStep) - moved(-kStep)) / (2 * kStep), 2e-5) << i;
    }
    const std::vector<double> theta = own.process_kernel.theta();
    const double log_noise = std::log(kGoldenNoise);
    for (std::size_t i = 0; i < theta.size(); ++i) {
      std::vector<double> up = theta, down = theta;
      up[i] += kStep, down[i] -= kStep;
      EXPECT_NEAR(slopes.theta[i], (bound(up, points, log_noise) - bound(down, points, log_noise)) / (2 * kStep), 2e-5)
          << i;
    }
    EXPECT_NEAR(slopes.log_noise,
                (bound(theta, points, log_noise + kStep) - bound(theta, points, log_noise - kStep)) / (2 * kStep),
                2e-5);
    for (std::int64_t i = 0; i < points.numel(); ++i) {
      const auto moved = [&](double by) {
        const at::Tensor z = points.clone();
        z.data_ptr<double>()[i] += by;
        return bound(theta, z, log_noise);
      };
      EXPECT_NEAR(slopes.points.contiguous().data_ptr<double>()[i], (moved(kStep) - moved(-kStep)) / (2 * kStep), 2e-5)
          << i;
    }
  }
}

// What training uses: products in float32 of a hundred points, at a smooth kernel, of which the Cholesky factor is as
// badly conditioned as jitter lets it be.
TEST(SparseProcess, SlopesInShortNumbersAreNearly) {
  SparseCase given;
  Random random(3);
  const at::Tensor rows = at::empty({700, 2}, at::kDouble);
  for (std::int64_t i = 0; i < rows.numel(); ++i) rows.data_ptr<double>()[i] = 2.0 * random.normal();
  const SparseBatch batch{given.process_kernel.inputs(rows), rows.select(1, 0).sin() + 0.2 * sines({700}, 7.1, 0.3),
                          at::ones({700}, at::kDouble), at::zeros({700}, at::kDouble)};
  const at::Tensor points = batch.inputs.narrow(0, 0, 100).contiguous();
  SparseProcess::Slopes slopes[2];
  double bounds[2];
  int k = 0;
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const SparseProcess process(given.process_kernel, points, std::log(0.1), type);
    const SparseProcess::Seen seen = process.see(batch);
    Variational q = Variational::prior(100);
    SparseProcess::follow(seen, 10.0, 0.4, q);
    bounds[k] = process.bound(q, batch, seen, 10.0, &slopes[k]);
    ++k;
  }
  EXPECT_NEAR(bounds[1], bounds[0], 1e-4 * std::fabs(bounds[0]));
  for (std::size_t i = 0; i < slopes[0].theta.size(); ++i) {
    EXPECT_NEAR(slopes[1].theta[i], slopes[0].theta[i], 0.01 * std::fabs(slopes[0].theta[i])) << i;
  }
  EXPECT_NEAR(slopes[1].log_noise, slopes[0].log_noise, 1e-3 * std::fabs(slopes[0].log_noise));
  EXPECT_LE((slopes[1].points - slopes[0].points).norm().item<double>(), 0.02 * slopes[0].points.norm().item<double>());
}

TEST(SparseProcess, KernelIsReadAgainFromItsText) {
  const SparseCase given;
  const ProcessKernel again(given.process_kernel.text(), given.process_kernel.theta());
  const at::Tensor a = again.inputs(given.z), b = again.inputs(given.x);
  EXPECT_TRUE(
      again.values(a, b, at::kDouble)
          .equal(given.process_kernel.values(given.process_kernel.inputs(given.z), given.batch.inputs, at::kDouble)));
  EXPECT_THROW(ProcessKernel("{}", {}), DataError);
  EXPECT_THROW(ProcessKernel(given.process_kernel.text(), {1.0}), DataError) << "too few parameters";
}

}  // namespace
}  // namespace ick
