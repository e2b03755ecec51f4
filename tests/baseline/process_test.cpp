#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "baseline/exact_rows.h"
#include "baseline/inducing_rows.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/formula/expression.h"
#include "ick/ick.h"
#include "ick/store/model_directory.h"
#include "support/message.h"
#include "support/store_case.h"
#include "support/table_case.h"

namespace ick {
namespace {

// A wave over a and a slope over b, with noise of sd 0.1: what a process learns and a mean does not.
Table wave_table(std::int64_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> a, b, w, se, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    a.push_back(6.0 * random.uniform()), b.push_back(random.normal());
    w.push_back(1.0 + static_cast<double>(random.below(3))), se.push_back(0.05 * random.uniform());
    y.push_back(std::sin(2.0 * a.back()) + 0.5 * b.back() + 0.1 * random.normal());
  }
  return table_of({column_of("a", a), column_of("b", b), column_of("w", w), column_of("se", se), column_of("y", y)});
}

FitOptions process_options(const std::string& model) {
  FitOptions options;
  options.model = model;
  options.validation = parse_split("random=20%");
  return options;
}

double rmse_of(const Prediction& p, const Table& table) {
  double squares = 0.0;
  for (std::size_t i = 0; i < p.mean.size(); ++i) squares += std::pow(p.mean[i] - table.column("y").values[i], 2);
  return std::sqrt(squares / static_cast<double>(p.mean.size()));
}

class Process : public testing::TestWithParam<const char*> {};

TEST_P(Process, LearnsAndIsSavedAndLoaded) {
  const Table table = wave_table(250, 1), others = wave_table(200, 2);
  const Fitted fitted = fit(table, "y ~ matern32(a) + linear(b)", process_options(GetParam()));
  const Prediction before = fitted->predict(others);
  EXPECT_LT(rmse_of(before, others), 0.13);
  EXPECT_NEAR(fitted.report().validation->coverage.at("0.9"), 0.9, 0.1);
  const ScratchFolder folder;
  fitted.save(folder / "m");
  EXPECT_TRUE(verify_model(folder / "m").passed);
  const Prediction after = load(folder / "m")->predict(others);
  EXPECT_EQ(before.mean, after.mean);
  EXPECT_EQ(before.upper, after.upper);
  // Far from all rows less is known.
  Table far = others;
  set_value(far.columns[0], 0, 60.0);
  const Prediction there = fitted->predict(far);
  EXPECT_GT(there.scale[0], 3.0 * there.scale[1]);
}

// A network stands for a Matern-3/2 kernel on what it reads; weights and known errors are the noise's.
TEST_P(Process, ServesNetworksWeightsAndErrors) {
  const Table table = wave_table(200, 3), others = wave_table(200, 4);
  const Fitted fitted = fit(table, "y ~ mlp(a, b) + weights(w) + error(se)", process_options(GetParam()));
  EXPECT_LT(rmse_of(fitted->predict(others), others), 0.2);
}

TEST_P(Process, IsTheSameForAnyNumberOfThreads) {
  const Table table = wave_table(150, 5);
  FitOptions options = process_options(GetParam());
  options.threads = 1;
  const Prediction one = fit(table, "y ~ mlp(a, b)", options)->predict(table);
  options.threads = 2;
  const Prediction two = fit(table, "y ~ mlp(a, b)", options)->predict(table);
  EXPECT_EQ(one.mean, two.mean);
  EXPECT_EQ(one.upper, two.upper);
}

TEST_P(Process, ServesTablesAtTheEdge) {
  Table twice = wave_table(40, 6);
  for (Column& column : twice.columns) {
    std::vector<double> values = column.values.copy();
    for (std::size_t i = 0; i < 20; ++i) values[i + 20] = values[i];
    column.values = std::move(values);
  }
  twice.columns.push_back(column_of("same", std::vector<double>(40, 7.0)));
  const Prediction of_twice = fit(twice, "y ~ mlp(a, b) + rbf(same)", process_options(GetParam()))->predict(twice);
  EXPECT_TRUE(std::all_of(of_twice.upper.begin(), of_twice.upper.end(), [](double u) { return std::isfinite(u); }));
  const Table few = wave_table(3, 7);
  FitOptions options = process_options(GetParam());
  options.validation = Split{};
  const Prediction of_few = fit(few, "y ~ rbf(a)", options)->predict(few);
  EXPECT_TRUE(std::all_of(of_few.upper.begin(), of_few.upper.end(), [](double u) { return std::isfinite(u); }));
}

TEST_P(Process, StopsWhenItIsAskedTo) {
  int asked = 0;
  FitControl control;
  control.cancelled = [&] { return ++asked > 3; };
  EXPECT_THROW(fit(wave_table(150, 8), "y ~ mlp(a, b)", process_options(GetParam()), control), Interrupted);
}

TEST_P(Process, RefusesClasses) {
  EXPECT_NE(message_of<UsageError>([&] {
              fit(mixed_table(60, 9), "site ~ mlp(a)", process_options(GetParam()));
            }).find("it is for numbers, and the target is one of classes"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Baseline, Process, testing::Values("svgp", "gp"),
                         [](const auto& each) { return std::string(each.param); });

// Against a factor, with the sparse process of 40 points for a preconditioner.
TEST(ExactRows, ConjugateGradientsAreTheCholeskyFactor) {
  constexpr std::int64_t kRows = 600;
  std::vector<InputSummary> inputs(2);
  inputs[0].name = "a", inputs[1].name = "b";
  const Kernel kernel(make_kernel_sum(parse_expression("matern32(a, b) + rbf(b)")), inputs);
  const ProcessKernel process(kernel, 0.5);
  Random random(4);
  at::Tensor x = at::empty({kRows, 2}, at::kDouble), y = at::empty({kRows}, at::kDouble);
  at::Tensor noise = at::empty({kRows}, at::kDouble);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (int d = 0; d < 2; ++d) x.data_ptr<double>()[2 * i + d] = random.normal();
    y.data_ptr<double>()[i] = random.normal();
    noise.data_ptr<double>()[i] = 0.01 * (1.0 + random.uniform());
  }
  const ExactRows rows{process, process.inputs(x), noise};
  const DenseProcess dense(rows);
  const at::Tensor points = rows.inputs.index_select(0, inducing_rows(process, rows.inputs, 40, 1)).contiguous();
  const SparseProcess sparse(process, points, -std::numeric_limits<double>::infinity(), at::kDouble);
  const Solved solved = solve_by_gradients(rows, y, sparse, 1e-10, [] {});
  const at::Tensor expected = dense.solve(y), other = rows.inputs.narrow(0, 0, 50) + 0.1;
  EXPECT_LE((solved.solution - expected).norm().item<double>(), 1e-6 * expected.norm().item<double>());
  EXPECT_LE((mean_of(rows, solved.solution, other) - mean_of(rows, expected, other)).abs().max().item<double>(), 1e-6);
  const at::Tensor many = rows.inputs.index_select(0, inducing_rows(process, rows.inputs, 200, 1)).contiguous();
  const SparseProcess better(process, many, -std::numeric_limits<double>::infinity(), at::kDouble);
  EXPECT_LT(2 * solve_by_gradients(rows, y, better, 1e-10, [] {}).steps, solved.steps) << "a better preconditioner";
  // and the factor is that of the definition
  at::Tensor c = kernel.matrix(x, x)[0].detach() * 0.5;
  c.diagonal().add_(noise);
  EXPECT_LE((c.mv(expected) - y).abs().max().item<double>(), 1e-9);
  const at::Tensor z = x.narrow(0, 0, 50) + 0.1, k = 0.5 * kernel.matrix(z, x)[0].detach();
  const at::Tensor variance = 0.5 * kernel.diagonal(z)[0].detach() - k.mm(c.inverse()).mul(k).sum(1);
  EXPECT_LE((dense.variance(process.inputs(z)) - variance).abs().max().item<double>(), 1e-9);
  EXPECT_NEAR(
      dense.log_likelihood(y),
      -0.5 * (y.dot(c.inverse().mv(y)) + at::logdet(c)).item<double>() - 300.0 * std::log(2.0 * 3.14159265358979),
      1e-6);
}

// As many rows as the kernel needs, none twice, the same for the same seed.
TEST(InducingRows, ExplainTheOthers) {
  std::vector<InputSummary> inputs(1);
  inputs[0].name = "a";
  const Kernel line(make_kernel_sum(parse_expression("polynomial(a, degree=1)")), inputs);
  const ProcessKernel process(line, 1.0);
  const at::Tensor x = process.inputs(at::linspace(-1.0, 1.0, 30, at::kDouble).unsqueeze(1));
  EXPECT_EQ(inducing_rows(process, x, 10, 1).size(0), 2) << "a line has two weights";
  const Kernel rough(make_kernel_sum(parse_expression("matern12(a)")), inputs);
  const at::Tensor found = inducing_rows(ProcessKernel(rough, 1.0), x, 10, 1);
  EXPECT_EQ(std::get<0>(at::_unique(found)).size(0), 10);
  EXPECT_TRUE(found.equal(inducing_rows(ProcessKernel(rough, 1.0), x, 10, 1)));
}

}  // namespace
}  // namespace ick
