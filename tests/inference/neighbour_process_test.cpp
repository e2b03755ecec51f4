#include "inference/neighbour_process.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/fit/fit.h"
#include "ick/inference/engine.h"
#include "inference/engines.h"
#include "support/model_case.h"
#include "support/train_case.h"
#include "train/evidence.h"

namespace ick {
namespace {

// The exact process with a constant of variance one: mean and variance of the function at x, and log p(y).
struct Exact {
  at::Tensor mean, variance, covariance;
  double log_likelihood = 0.0;
};

Exact exact_process(const Model& model, const at::Tensor& x, const at::Tensor& y, const at::Tensor& noise,
                    const at::Tensor& at) {
  const at::NoGradGuard no_grad;
  const auto k = [&](const at::Tensor& a, const at::Tensor& b) {
    return model.spec().share() * model.kernel().matrix(a, b)[0] + 1.0;
  };
  const at::Tensor factor = at::linalg_cholesky(k(x, x) + noise.diag());
  const at::Tensor cross = at::linalg_solve_triangular(factor, k(x, at), false);
  const at::Tensor white = at::linalg_solve_triangular(factor, y.unsqueeze(1), false).squeeze(1);
  Exact exact;
  exact.mean = cross.t().mv(white);
  exact.covariance = k(at, at) - cross.t().matmul(cross);
  exact.variance = exact.covariance.diagonal();
  exact.log_likelihood = -0.5 * white.square().sum().item<double>() - factor.diagonal().log().sum().item<double>() -
                         0.5 * static_cast<double>(y.size(0)) * std::log(2.0 * std::numbers::pi);
  return exact;
}

struct Task {
  TrainCase on;
  std::shared_ptr<Model> model;
  at::Tensor noise, at;

  explicit Task(const std::string& formula, std::int64_t rows = 40)
      : on(generic_table(rows), formula),
        model(on.model(1)),
        noise(0.05 + 0.05 * at::tensor(normal_numbers(rows, 17), at::kDouble).square()),
        at(on.rows.x.narrow(0, 0, 9) + 0.21) {}
  NeighbourProcess process() const { return NeighbourProcess(model, on.rows.x, on.rows.y, noise, 3); }
};

// Of as few rows as there are neighbours, the approximation is none: with features of low and of full rank, and without.
TEST(NeighbourProcess, OfFewRowsIsTheExactProcess) {
  for (const char* formula :
       {"y ~ matern12(t, s, points=5)", "y ~ rbf(t, points=4) * periodic(s, period=1.3) + linear(u)",
        "y ~ matern32(t, points=40)", "y ~ rbf(t, features=fourier, points=20)"}) {
    SCOPED_TRACE(formula);
    const Task task(formula, 30);
    const NeighbourProcess process = task.process();
    const Exact exact = exact_process(*task.model, task.on.rows.x, task.on.rows.y, task.noise, task.at);
    const FunctionMoments found = process.at(task.at);
    EXPECT_LT((found.mean - exact.mean).abs().max().item<double>(), 1e-8);
    EXPECT_LT((found.variance - exact.variance).abs().max().item<double>(), 1e-8);
    EXPECT_NEAR(process.log_likelihood(), exact.log_likelihood, 1e-7);
  }
}

// Features of many rows: as many for each row in few columns, so that its cost is the same; in many columns fewer the more
// rows there are. They fit into 400 MB, change by little from one number of rows to the next, and never end.
TEST(NeighbourProcess, FeaturesOfManyRowsAreFewAndNeverNone) {
  for (const double columns : {1.0, 3.0, 4.0, 18.0}) {
    double before = NeighbourProcess::features_for(1e4, columns, 1.0);
    EXPECT_EQ(before, columns <= 3.0 ? 32.0 : 512.0);
    for (double rows = 1e4; rows <= 1e8; rows *= 1.01) {
      const double now = NeighbourProcess::features_for(rows, columns, 1.0);
      EXPECT_LE(now, before);
      EXPECT_GE(now, std::max(1.0, 0.98 * before));
      if (now > 1.0) {
        EXPECT_LE(8.0 * rows * std::floor(now), 4e8);
      }
      if (columns <= 3.0 && rows <= 1e6) {
        EXPECT_EQ(now, 32.0);
      }
      before = now;
    }
  }
  EXPECT_EQ(NeighbourProcess::features_for(40.0, 2.0, 3.0), 10.0);  // a quarter of the rows
  EXPECT_EQ(NeighbourProcess::features_for(1e9, 18.0, 3.0), 3.0);   // one each
}

// With features of full rank nothing is left to neighbours, however few there are of them for so many rows.
TEST(NeighbourProcess, WithAllFeaturesIsTheExactProcess) {
  const Task task("y ~ rbf(t, lengthscale=1.5, points=60)", 400);
  const Exact exact = exact_process(*task.model, task.on.rows.x, task.on.rows.y, task.noise, task.at);
  const FunctionMoments found = task.process().at(task.at);
  EXPECT_LT((found.mean - exact.mean).abs().max().item<double>(), 1e-4);
  EXPECT_LT((found.variance / exact.variance - 1.0).abs().max().item<double>(), 1e-3);
}

TEST(NeighbourProcess, OfManyRowsIsCloseToTheExactProcess) {
  const Task task("y ~ matern12(t, s, points=30)", 700);
  const Exact exact = exact_process(*task.model, task.on.rows.x, task.on.rows.y, task.noise, task.at);
  const FunctionMoments found = task.process().at(task.at);
  const double sd = exact.mean.std().item<double>();
  EXPECT_LT((found.mean - exact.mean).square().mean().sqrt().item<double>(), 0.02 * sd);
  EXPECT_LT((found.variance / exact.variance - 1.0).abs().max().item<double>(), 0.01);
}

// Rows left out in turn: the exact process of the rows that stay, and nothing like that of all rows.
TEST(NeighbourProcess, LeavesOutRows) {
  const Task task("y ~ matern12(t, s, points=30)", 500);
  const at::Tensor t = task.on.rows.x.select(1, 0);
  std::vector<std::int64_t> cells, first, second;
  const double middle = t.median().item<double>();
  for (std::int64_t i = 0; i < 500; ++i) {
    const double at = t[i].item<double>();
    cells.push_back(at < middle - 0.5 ? -1 : at < middle ? 0 : 1);
    if (cells.back() == 0 && std::ssize(first) < 20) first.push_back(i);
    if (cells.back() == 1 && std::ssize(second) < 20) second.push_back(i);
  }
  const std::vector<LeftOut> folds = {{first, {0}}, {second, {0, 1}}};
  const std::vector<FunctionMoments> found = task.process().left_out(cells, folds);
  ASSERT_EQ(found.size(), 2u);
  for (std::size_t f = 0; f < folds.size(); ++f) {
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < 500; ++i) {
      if (cells[i] < 0 || (f == 0 && cells[i] == 1)) kept.push_back(i);
    }
    const at::Tensor stay = at::tensor(kept, at::kLong), at = task.on.rows.x.index_select(0, at::tensor(folds[f].rows));
    const Exact exact = exact_process(*task.model, task.on.rows.x.index_select(0, stay),
                                      task.on.rows.y.index_select(0, stay), task.noise.index_select(0, stay), at);
    const Exact all = exact_process(*task.model, task.on.rows.x, task.on.rows.y, task.noise, at);
    const auto rms = [](const at::Tensor& each) { return each.square().mean().sqrt().item<double>(); };
    EXPECT_LT(rms(found[f].mean - exact.mean), 0.05 * rms(all.mean - exact.mean));
    EXPECT_LT((found[f].variance / exact.variance - 1.0).abs().max().item<double>(), 0.03);
    EXPECT_GT((exact.variance / all.variance).mean().item<double>(), 1.5);
  }
}

TEST(FeaturesOfKernels, LeaveOutRows) {
  const Task task("y ~ rbf(t, points=12) + linear(u)", 200);
  const auto posterior = solve_features(task.model, task.on.rows, 0.1);
  std::vector<std::int64_t> cells, rows, kept;
  for (std::int64_t i = 0; i < 200; ++i) {
    cells.push_back(i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : -1);
    (i % 3 == 0 ? rows : kept).push_back(i);
  }
  const std::vector<FunctionMoments> found = posterior->left_out(task.on.rows, cells, {{rows, {0}}}, 0.1);
  const auto expected =
      solve_features(task.on.model(1), task.on.rows.select(at::tensor(kept)), 0.1)
          ->at(batch_of(task.on.rows.select(at::tensor(rows)), 0, std::ssize(rows)), likelihood_named("gaussian"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LT((found[0].mean - expected.mean).abs().max().item<double>(), 1e-5);  // whose weights are in float32
  EXPECT_LT((found[0].variance / expected.variance - 1.0).abs().max().item<double>(), 1e-8);
}

TEST(NeighbourProcess, ComesBackFromItsTensors) {
  const Task task("y ~ matern12(t, s, points=5) + linear(u)", 200);
  const NeighbourProcess process = task.process(), again(task.model, process.tensors());
  const FunctionMoments one = process.at(task.at), other = again.at(task.at);
  EXPECT_TRUE(one.mean.equal(other.mean));
  EXPECT_TRUE(one.variance.equal(other.variance));
  TensorState torn = process.tensors();
  torn.pop_back();
  EXPECT_THROW(NeighbourProcess(task.model, torn), DataError);
}

TEST(NeighbourProcess, HasTheSameBitsForAnyNumberOfWorkers) {
  const Task task("y ~ matern12(t, s, points=5) + rbf(u, points=4)", 300);
  const int before = workers();
  std::vector<at::Tensor> found;
  for (const int count : {1, 2, 3}) {
    set_workers(count);
    found.push_back(task.process().at(task.at).mean);
  }
  set_workers(before);
  EXPECT_TRUE(found[0].equal(found[1]));
  EXPECT_TRUE(found[0].equal(found[2]));
}

// Joint draws have the covariance of the exact process.
TEST(NeighbourProcess, DrawsGoTogether) {
  const Task task("y ~ matern32(t, s, points=5)", 30);
  const NeighbourProcess process = task.process();
  const at::Tensor near = at::cat({task.at.narrow(0, 0, 3), task.at.narrow(0, 0, 3) + 0.05});
  constexpr std::int64_t kDraws = 20'000;
  at::Tensor normals = at::empty({kDraws, 6}, at::kDouble);
  Random random(5);
  for (std::int64_t i = 0; i < normals.numel(); ++i) normals.data_ptr<double>()[i] = random.normal();
  const at::Tensor draws = process.draws(near, kDraws, 7, normals);  // (S, 6)
  const Exact exact = exact_process(*task.model, task.on.rows.x, task.on.rows.y, task.noise, near);
  const at::Tensor centred = draws - exact.mean;
  const at::Tensor covariance = centred.t().matmul(centred) / static_cast<double>(kDraws);
  const double largest = exact.variance.max().item<double>();
  EXPECT_LT(centred.mean(0).abs().max().item<double>(), 5.0 * std::sqrt(largest / kDraws));
  EXPECT_LT((covariance - exact.covariance).abs().max().item<double>(), 5.0 * largest * std::sqrt(2.0 / kDraws));
}

// Many draws are made of few rows at a time; rows of neighbours have to go together all the same.
TEST(NeighboursEngine, DrawsGoTogetherHoweverManyRowsThereAre) {
  const Task task("y ~ matern32(t, s, points=5)", 60);
  constexpr double kNoise = 0.05;
  constexpr std::int64_t kDraws = 20'000, kRows = 150, kFar = 100;  // apart in the order, close in space
  const std::shared_ptr<const FunctionPosterior> posterior =
      engine_named("neighbours").solve_again(task.model, task.on.rows, 1.0, kNoise, 3);
  Dataset rows;
  rows.x = 0.5 * at::tensor(normal_numbers(kRows * task.on.rows.x.size(1), 23), at::kDouble).view({kRows, -1});
  rows.x.narrow(0, kFar, 6).copy_(rows.x.narrow(0, 0, 6) + 0.05);
  rows.rows.resize(kRows);
  const at::Tensor draws = draws_at(*posterior, likelihood_named("gaussian"), rows, kDraws, 7);  // (S, n)
  const at::Tensor noise = at::full({60}, kNoise, at::kDouble);
  const Exact exact = exact_process(*task.model, task.on.rows.x, task.on.rows.y, noise, rows.x);
  const at::Tensor centred = draws - exact.mean;
  const at::Tensor covariance = centred.t().matmul(centred) / static_cast<double>(kDraws);
  const double largest = exact.variance.max().item<double>();
  EXPECT_LT(centred.mean(0).abs().max().item<double>(), 5.0 * std::sqrt(largest / kDraws));
  EXPECT_LT((covariance - exact.covariance).abs().max().item<double>(), 6.0 * largest * std::sqrt(2.0 / kDraws));
  for (std::int64_t i = 0; i < 6; ++i) {  // nearly one place: differences are far smaller than either
    const double apart = (draws.select(1, i) - draws.select(1, kFar + i)).square().mean().item<double>();
    const double exact_mean = (exact.mean[i] - exact.mean[kFar + i]).item<double>();
    const double expected = exact_mean * exact_mean + (exact.covariance[i][i] + exact.covariance[kFar + i][kFar + i] -
                                                       2.0 * exact.covariance[i][kFar + i])
                                                          .item<double>();
    EXPECT_NEAR(apart / expected, 1.0, 0.1) << i;
  }
}

Table table_of(std::int64_t rows, const std::function<double(std::int64_t)>& x,
               const std::function<double(std::int64_t)>& y) {
  std::vector<double> xs, ys;
  for (std::int64_t i = 0; i < rows; ++i) xs.push_back(x(i)), ys.push_back(y(i));
  return make_table({{"x", xs}, {"y", ys}});
}

FitOptions asked() {
  FitOptions options;
  options.posterior = "neighbours";
  return options;
}

// Rough functions of many rows are left to neighbours, smooth ones to features.
TEST(NeighboursEngine, IsChosenWhereFeaturesMissMuch) {
  Random random(3);
  std::vector<double> x, rough, smooth;
  double walk = 0.0;
  for (int i = 0; i < 3000; ++i) {
    walk += 0.3 * random.normal();
    x.push_back(i), rough.push_back(walk + 0.05 * random.normal());
    smooth.push_back(std::sin(0.002 * i) + 0.1 * random.normal());
  }
  const Table table = make_table({{"x", x}, {"rough", rough}, {"smooth", smooth}});
  FitOptions options;
  options.validation = parse_split("random=20%");
  const Fit near = fit_model(table, "rough ~ matern12(x)", options), far = fit_model(table, "smooth ~ rbf(x)", options);
  EXPECT_EQ(near.model.posterior->engine().name, "neighbours");
  ASSERT_EQ(near.report.remarks.size(), 1u);
  EXPECT_NE(near.report.remarks[0].text().find("neighbouring rows carry it"), std::string::npos);
  EXPECT_EQ(far.model.posterior->engine().name, "exact");
  EXPECT_TRUE(far.report.remarks.empty());
  // sd of a walk between two neighbours, and the noise of observations
  EXPECT_LT(near.report.validation->rmse, 1.15 * std::sqrt(0.5 * 0.09 + 2.0 * 0.0025));
}

TEST(NeighboursEngine, TakesWhatTablesHold) {
  Random random(1);
  const auto noise = [&](double sd) { return sd * random.normal(); };
  const auto finite = [](const Fit& fit, const Table& table) {
    const Prediction p = fit.model.predict(table);
    for (std::size_t i = 0; i < p.mean.size(); ++i) {
      if (!std::isfinite(p.mean[i]) || !(p.sd[i] > 0.0)) return false;
    }
    return true;
  };
  {  // 10,000 rows at one place: the mean is known as well as that
    const Table table = table_of(
        10'000, [](std::int64_t) { return 2.0; }, [&](std::int64_t) { return 5.0 + noise(1.0); });
    const Fit fit = fit_model(table, "y ~ matern32(x)", asked());
    ASSERT_TRUE(finite(fit, table));
    EXPECT_NEAR(fit.model.predict(table).mean[0], 5.0, 0.1);
  }
  {  // every place twice
    const Table table = table_of(
        600, [](std::int64_t i) { return static_cast<double>(i / 2); },
        [&](std::int64_t i) { return std::sin(0.05 * static_cast<double>(i)) + noise(1e-3); });
    EXPECT_TRUE(finite(fit_model(table, "y ~ matern32(x)", asked()), table));
  }
  {  // a constant target
    const Table table = table_of(
        100, [](std::int64_t i) { return static_cast<double>(i); }, [](std::int64_t) { return 3.0; });
    EXPECT_THROW(fit_model(table, "y ~ matern32(x)", asked()), DataError);
  }
  // one row
  const Table one = table_of(
      1, [](std::int64_t) { return 1.0; }, [](std::int64_t) { return 1.0; });
  EXPECT_THROW(fit_model(one, "y ~ matern32(x)", asked()), DataError);
}

// Two stages standardise the target by different rows: what is stated stays what it is.
TEST(NeighboursEngine, HoldsAKnownVarianceThroughTheRefit) {
  const Table table = generic_table(300);
  for (const char* posterior : {"exact", "neighbours"}) {
    FitOptions options;
    options.posterior = posterior;
    options.refit = Refit::yes;
    const Fit fit = fit_model(table, "y ~ rbf(a, variance=4, lengthscale=1.5)", options);
    EXPECT_NEAR(fit.model.parameter("term1.a.rbf.variance").values[0], 4.0, 1e-12);
    EXPECT_TRUE(fit.model.parameter("term1.a.rbf.variance").fixed);
    EXPECT_NEAR(fit.model.parameter("term1.a.rbf.lengthscale").values[0], 1.5, 1e-12);
  }
}

}  // namespace
}  // namespace ick
