#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/inference/direct.h"
#include "inference/neighbour_process.h"
#include "support/train_case.h"

// Rows that come later: the same posterior as if they had been there from the start.
namespace ick {
namespace {

double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

struct Later {
  TrainCase on;
  std::shared_ptr<Model> model;
  at::Tensor noise, at;
  std::int64_t known;

  Later(const std::string& formula, std::int64_t known_rows, std::int64_t rows)
      : on(generic_table(rows), formula),
        model(on.model(1)),
        noise(0.05 + 0.05 * at::tensor(normal_numbers(rows, 17), at::kDouble).square()),
        at(on.rows.x.narrow(0, 0, 9) + 0.21),
        known(known_rows) {}

  at::Tensor first(const at::Tensor& all) const { return all.narrow(0, 0, known); }
  at::Tensor rest(const at::Tensor& all) const { return all.narrow(0, known, all.size(0) - known); }
  NeighbourProcess before() const {
    return NeighbourProcess(model, first(on.rows.x), first(on.rows.y), first(noise), 3);
  }
  NeighbourProcess after(const NeighbourProcess& from) const {
    return NeighbourProcess(from, model, rest(on.rows.x), rest(on.rows.y), rest(noise), 4);
  }
};

// With no more rows than there are neighbours the approximation is none, whatever the order.
TEST(NeighbourProcess, TakesFewRowsInAsTheExactProcess) {
  for (const char* formula :
       {"y ~ matern12(t, s, points=5)", "y ~ rbf(t, points=4) * periodic(s, period=1.3) + linear(u)",
        "y ~ rbf(t, features=fourier, points=20)"}) {
    SCOPED_TRACE(formula);
    const Later task(formula, 21, 30);
    const at::NoGradGuard no_grad;
    const auto k = [&](const at::Tensor& a, const at::Tensor& b) {
      return task.model->spec().share() * task.model->kernel().matrix(a, b)[0] + 1.0;
    };
    const at::Tensor& x = task.on.rows.x;
    const at::Tensor covariance = k(x, x) + task.noise.diag(), cross = k(x, task.at);
    const at::Tensor solved = at::linalg_solve(covariance, cross);
    const NeighbourProcess before = task.before(), after = task.after(before);
    const FunctionMoments found = after.at(task.at);
    EXPECT_LT(difference(found.mean, solved.t().mv(task.on.rows.y)), 1e-10);
    EXPECT_LT(difference(found.variance, (k(task.at, task.at) - cross.t().matmul(solved)).diagonal()), 1e-10);
    // log p(all) = log p(first) + log p(rest | first)
    const at::Tensor& y = task.on.rows.y;
    const double log_likelihood =
        -0.5 * (y.dot(at::linalg_solve(covariance, y)).item<double>() + at::logdet(covariance).item<double>() +
                30.0 * std::log(2.0 * std::numbers::pi));
    EXPECT_NEAR(before.log_likelihood() + after.log_likelihood(), log_likelihood, 1e-8);
  }
}

// New rows stand behind the old ones: what all rows in that order give.
TEST(NeighbourProcess, TakesRowsInAsIfTheyHadStoodBehindTheOthers) {
  for (const char* formula : {"y ~ matern12(t, s, points=20) + linear(u)", "y ~ matern32(t, s, u, a)",
                              "y ~ rbf(t, features=fourier, points=20) * periodic(s, period=1.3)"}) {
    SCOPED_TRACE(formula);
    const Later task(formula, 400, 650);
    const NeighbourProcess before = task.before(), after = task.after(before);
    const at::Tensor order = at::cat({before.order(), 400 + after.order()});
    const NeighbourProcess all(task.model, task.on.rows.x, task.on.rows.y, task.noise, order);
    const FunctionMoments found = after.at(task.at), expected = all.at(task.at);
    EXPECT_LT(difference(found.mean, expected.mean), 1e-10);
    EXPECT_LT(difference(found.variance, expected.variance), 1e-10);
    EXPECT_LT(difference(after.weights(), all.weights()), 1e-10);
    EXPECT_NEAR(before.log_likelihood() + after.log_likelihood(), all.log_likelihood(), 1e-8);
    EXPECT_EQ(after.size(), 650);
    // a model that was kept in between
    const NeighbourProcess kept(task.model, before.tensors()), later = task.after(kept);
    EXPECT_LT(difference(later.at(task.at).mean, expected.mean), 1e-10);
    EXPECT_LT(difference(later.at(task.at).variance, expected.variance), 1e-10);
    // the one before is as it was
    EXPECT_EQ(before.size(), 400);
  }
}

// A and Phi'y are sums over rows.
TEST(LinearPosterior, TakesRowsInAsIfTheyHadBeenThere) {
  for (const char* terms : {"", " + weights(b)", " + error(b)"}) {
    SCOPED_TRACE(terms);
    Table table = generic_table(300);
    std::vector<double> positive;
    for (const double each : normal_numbers(300, 5)) positive.push_back(0.5 + std::abs(each));
    for (Column& column : table.columns) {
      if (column.info.name == "b") column.values = positive;
    }
    const std::string formula = std::string("y ~ rbf(t, s, points=30) + linear(u)") + terms;
    const TrainCase on(table, formula);
    const std::unique_ptr<Model> model = on.model(1);
    const LinearPosterior all = linear_posterior(*model, on.rows, 0.04);
    LinearPosterior grown = linear_posterior(*model, on.rows.select(at::arange(170, at::kLong)), 0.04);
    for (const auto& [from, to] : {std::pair{170, 171}, std::pair{171, 300}}) {
      grown = linear_posterior(*model, on.rows.select(at::arange(from, to, at::kLong)), 0.04, grown);
    }
    EXPECT_LT(difference(grown.mean, all.mean), 1e-10);
    EXPECT_LT(difference(grown.factor, all.factor), 1e-10 * all.factor.abs().max().item<double>());
  }
}

}  // namespace
}  // namespace ick
