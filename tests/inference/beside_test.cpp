#include "inference/beside.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/fit/fit.h"
#include "inference/crossfit.h"
#include "inference/stage.h"
#include "support/model_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

constexpr char kFormula[] = "y ~ mlp(a) + matern32(t, s, points=5) + mlp(b) * rbf(u, points=3)";

// Networks as they start, and a process of residuals that are given.
struct Beside {
  TrainCase on;
  std::shared_ptr<Model> model;
  at::Tensor given;  // (n) residuals, standardised
  ResidualProcess residuals;
  std::shared_ptr<const FunctionPosterior> posterior;

  explicit Beside(const std::string& formula = kFormula, std::int64_t rows = 30)
      : on(generic_table(rows), formula),
        model(on.model(3)),
        given(0.4 * at::tensor(normal_numbers(rows, 11), at::kDouble) + 0.3 * on.rows.x.select(1, 0).sin()),
        residuals(fit_residuals(model->spec(), terms_beside(model->spec()), on.encoder, on.rows, given, 5)),
        posterior(with_neighbours(model, residuals)) {}

  Batch some() const {  // rows that no one has seen
    Batch batch = batch_of(on.rows, 0, 9);
    batch.x = batch.x + 0.21;
    return batch;
  }
};

const Likelihood& gaussian() { return likelihood_named("gaussian"); }

// Written down from the definition: members and their mean, the exact process of the residuals, and what features miss
// of the product.
struct Expected {
  at::Tensor members, spread, missed;  // mean and variance between members, what features miss of the product
  at::Tensor near, near_variance;      // of the process
  at::Tensor far;                      // what features miss of the term it carries, by the share that it leaves unknown
};

Expected directly(const Beside& of, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const at::Tensor f = (*of.model)(batch).to(at::kDouble);  // (E, B)
  const at::Tensor mean = f.mean(0);
  const Model& own = *of.residuals.model;
  const double unit = of.residuals.unit, share = own.spec().share();
  const auto k = [&](const at::Tensor& a, const at::Tensor& b) {  // a constant of variance one beside the kernels
    return unit * unit * (share * own.kernel().matrix(a, b)[0] + 1.0);
  };
  const double noise = unit * unit * find_tensor(of.residuals.process->tensors(), "neighbours.noise")[0].item<double>();
  const at::Tensor x = of.on.rows.x, at = batch.x;
  const at::Tensor inverse = (k(x, x) + noise * at::eye(x.size(0), at::kDouble)).inverse(), cross = k(at, x);
  const at::Tensor near = cross.matmul(inverse).mv(of.given);
  const at::Tensor variance = k(at, at).diagonal() - (cross.matmul(inverse) * cross).sum(1);

  const Model::TermParts product = of.model->parts_of(2);
  const at::Tensor u = (*product.networks[0])(batch.networks[product.sources[0]]).to(at::kDouble);  // (E, B, p)
  const at::Tensor z = of.model->features_at(at)[2].to(at::kDouble);
  const at::Tensor left = product.kernel->diagonal(at) - z.square().sum(2);  // (E, B)
  const at::Tensor missed = of.model->spec().share() * left * u.square().mean(2);
  const at::Tensor of_term = of.model->parts_of(1).kernel->diagonal(at) -
                             of.model->features_at(at)[1].to(at::kDouble).square().sum(2);  // (E, B)
  const at::Tensor unknown = variance / (unit * unit * share * own.kernel().diagonal(at)[0]);
  const at::Tensor far = of.model->spec().share() * of_term.mean(0) * unknown.clamp_max(1.0);
  return {mean, (f - mean).square().mean(0), missed.mean(0), near, variance, far};
}

TEST(Beside, IsTheEnsembleAndTheExactProcessOfItsResiduals) {
  const Beside of;
  EXPECT_EQ(of.residuals.terms, std::vector<std::size_t>{1});
  const FunctionMoments found = of.posterior->at(of.some(), gaussian());
  const FunctionMoments members = ensemble_posterior(of.model)->at(of.some(), gaussian());
  const Expected expected = directly(of, of.some());
  EXPECT_LT((found.mean - members.mean - expected.near).abs().max().item<double>(), 1e-8);
  EXPECT_GT(expected.near.abs().min().item<double>(), 1e-4);
  // networks are in float32, and sums of it in another order
  EXPECT_LT((found.mean - expected.members - expected.near).abs().max().item<double>(), 1e-6);
  const at::Tensor variance = expected.spread + expected.missed + expected.near_variance + expected.far;
  EXPECT_GT(expected.far.max().item<double>(), 1e-3);
  EXPECT_LT((found.variance - variance).abs().max().item<double>(), 1e-6);
  EXPECT_LT((of.residuals.at(of.some().x).variance - expected.near_variance).abs().max().item<double>(), 1e-8);
}

// Features and neighbours know nothing of a row far from all others: the whole variance of the kernel is left.
TEST(Beside, FarFromAllRowsTheKernelIsUnknown) {
  const Beside of;
  Batch batch = of.some();
  batch.x = batch.x + 1e3;
  const at::Tensor found = of.posterior->at(batch, gaussian()).variance;
  const at::Tensor whole = of.model->spec().share() * of.model->parts_of(1).kernel->diagonal(batch.x).mean(0);
  EXPECT_GT((found - whole).min().item<double>(), -1e-6);
}

TEST(Beside, DrawsHaveItsMoments) {
  const Beside of;
  constexpr std::int64_t kDraws = 30'000;
  const FunctionMoments found = of.posterior->at(of.some(), gaussian());
  const at::Tensor draws = of.posterior->draws(of.some(), gaussian(), kDraws, 7);
  const at::Tensor sd = found.variance.sqrt();
  EXPECT_LT(((draws.mean(0) - found.mean) / sd).abs().max().item<double>(), 5.0 / std::sqrt(kDraws));
  EXPECT_LT((draws.var(0) / found.variance - 1.0).abs().max().item<double>(), 5.0 * std::sqrt(2.0 / kDraws) + 0.02);
}

TEST(Beside, ComesBackFromItsTensors) {
  const Beside of("y ~ mlp(a) + linear(u) + periodic(t, period=start(3)) * matern12(s, variance=2)", 60);
  const TensorState kept = of.posterior->tensors();
  const auto again = restore_neighbours(of.model, of.on.encoder, kept);
  ASSERT_NE(again, nullptr);
  const FunctionMoments one = of.posterior->at(of.some(), gaussian()), other = again->at(of.some(), gaussian());
  EXPECT_TRUE(one.mean.equal(other.mean));
  EXPECT_TRUE(one.variance.equal(other.variance));
  EXPECT_EQ(first_difference(again->tensors(), kept), "");
  EXPECT_EQ(restore_neighbours(of.model, of.on.encoder, {}), nullptr);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].first == "neighbours.terms") continue;  // without it there are no neighbours
    SCOPED_TRACE(kept[i].first);
    TensorState torn = kept;
    torn.erase(torn.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THROW(restore_neighbours(of.model, of.on.encoder, torn), DataError);
  }
  TensorState wrong = kept;
  for (auto& [name, tensor] : wrong) {
    if (name == "neighbours.terms") tensor = at::zeros({1}, at::kDouble);  // the network
  }
  EXPECT_THROW(restore_neighbours(of.model, of.on.encoder, wrong), DataError);
}

// What the formula states of lengthscales is held, of a variance it is where learning starts.
TEST(Beside, StatedLengthscalesAreHeld) {
  const Beside of("y ~ mlp(a) + matern12(t, s, lengthscale=[0.7, 1.3], variance=9)", 80);
  const ParameterSet& found = of.residuals.model->kernel().parameters();
  for (const Parameter& each : found.parameters()) {
    EXPECT_EQ(each.fixed, each.path.ends_with("lengthscale")) << each.path;
    if (each.fixed) {
      const at::Tensor stated = at::tensor({0.7, 1.3}, at::kDouble);
      EXPECT_LT((found.natural(each.path).detach()[0] - stated).abs().max().item<double>(), 1e-12);
    }
  }
}

// y = a smooth function of a and b, which networks learn, a rough field over the unit square (Matern 3/2 with
// lengthscale 0.06, by 400 waves), and noise of sd 0.2.
Table field_table(std::int64_t rows, std::uint64_t seed) {
  Random random(seed_for(seed, "field"));
  constexpr int kWaves = 400;
  constexpr double kLength = 0.06;
  std::vector<std::array<double, 3>> waves;  // frequencies and phase
  for (int w = 0; w < kWaves; ++w) {
    const double scale = std::sqrt(3.0 / random.chi_squared(3)) / kLength;
    const double first = scale * random.normal(), second = scale * random.normal();
    waves.push_back({first, second, 2.0 * M_PI * random.uniform()});
  }
  std::vector<double> a, b, east, north, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    a.push_back(random.normal()), b.push_back(random.normal());
    east.push_back(random.uniform()), north.push_back(random.uniform());
    double field = 0.0;
    for (const auto& [first, second, phase] : waves) {
      field += std::cos(first * east.back() + second * north.back() + phase);
    }
    field *= std::sqrt(2.0 / kWaves);
    y.push_back(2.0 * std::tanh(a.back() - b.back()) + std::sin(2.0 * a.back()) + field + 0.2 * random.normal());
  }
  return make_table({{"a", a}, {"b", b}, {"east", east}, {"north", north}, {"y", y}});
}

constexpr char kField[] = "y ~ mlp(a, b, layers=[16, 8]) + matern32(east, north, points=40)";

FitOptions field_options() {
  FitOptions options;
  options.members = 2;
  options.epochs = 20;
  options.validation = parse_split("random=20%");
  options.holdout = parse_split("random=25%");
  return options;
}

TEST(Beside, CarriesAFieldThatFeaturesCannot) {
  const Table table = field_table(2000, 1);
  FitOptions options = field_options();
  const Fit with = fit_model(table, kField, options);
  options.neighbours = Neighbours::no;
  const Fit without = fit_model(table, kField, options);
  ASSERT_EQ(with.report.remarks.size(), 1u);
  EXPECT_NE(with.report.remarks[0].text().find("keeps the rows it was trained on"), std::string::npos);
  ASSERT_EQ(without.report.remarks.size(), 1u);
  EXPECT_TRUE(without.report.remarks[0].text().starts_with("features miss "));
  EXPECT_EQ(with.model.posterior->engine().name, "ensemble");
  EXPECT_LT(with.report.holdout->rmse, 0.8 * without.report.holdout->rmse);
  EXPECT_LT(with.report.holdout->nlpd, without.report.holdout->nlpd - 0.15);
  const at::Tensor kept = find_tensor(with.model.posterior->tensors(), "neighbours.x");
  EXPECT_EQ(kept.size(0), with.report.training_rows + with.report.validation_rows);
  EXPECT_GE(with.report.holdout->coverage.at("0.9"), 0.85);
  EXPECT_LE(with.report.holdout->coverage.at("0.9"), 0.95);
}

// Two rows of one fold change their targets with each other: networks that have seen neither predict the same of both.
TEST(CrossFit, PredictsRowsThatItsNetworksHaveNotSeen) {
  Table table = field_table(120, 5);
  FitOptions options = field_options();
  options.epochs = 3;
  options.holdout = Split{};
  options.validation = Split{};
  const Formula formula = parse_formula("y ~ mlp(a, b, layers=[8]) + rbf(east, lengthscale=0.3, variance=1, points=6)");
  const auto fitted = [&](const Table& rows, at::Tensor& y) {
    const FitPlan plan = plan_fit(rows, formula, options);
    const FitHooks hooks;
    Stage stage(rows, plan, plan.training, "train", hooks);
    descend_and_polish(stage, {});
    y = stage.training().targets();
    return cross_fit(stage, 5);
  };
  at::Tensor y, other_y;
  const CrossFit one = fitted(table, y);
  std::vector<std::int64_t> sizes(5);
  for (std::int64_t i = 0; i < 120; ++i) ++sizes.at(one.folds[i].item<std::int64_t>());
  EXPECT_EQ(sizes, std::vector<std::int64_t>(5, 24));

  std::vector<std::size_t> pair;  // of the second fold
  for (std::int64_t i = 0; i < 120 && pair.size() < 2; ++i) {
    if (one.folds[i].item<std::int64_t>() == 1) pair.push_back(static_cast<std::size_t>(i));
  }
  std::vector<double> values(table.columns[4].values.begin(), table.columns[4].values.end());
  ASSERT_GT(std::abs(values[pair[0]] - values[pair[1]]), 0.1);
  std::swap(values[pair[0]], values[pair[1]]);
  table.columns[4].values = values;
  const CrossFit other = fitted(table, other_y);
  const at::Tensor change = ((y - one.residuals) - (other_y - other.residuals)).abs();
  const at::Tensor in_fold = one.folds == 1;
  EXPECT_LT(change.masked_select(in_fold).max().item<double>(), 1e-4);
  EXPECT_GT(change.masked_select(in_fold.logical_not()).max().item<double>(), 1e-3);
}

// Without a field there is nothing to keep rows for.
TEST(Beside, IsLeftOutWhereItDoesNotHelp) {
  Table table = field_table(600, 2);
  std::vector<double> y;
  Random random(9);
  for (std::int64_t i = 0; i < table.rows; ++i) {
    y.push_back(std::tanh(table.columns[0].values[static_cast<std::size_t>(i)]) + 0.3 * random.normal());
  }
  table.columns[4].values = y;
  const Fit fit = fit_model(table, kField, field_options());
  EXPECT_TRUE(fit.report.remarks.empty());
  EXPECT_TRUE(fit.model.posterior->tensors().empty());
}

TEST(Beside, HasTheSameBitsForAnyNumberOfThreads) {
  const Table table = field_table(420, 3);
  FitOptions options = field_options();
  options.epochs = 4;
  options.neighbours = Neighbours::yes;
  std::vector<std::vector<double>> means;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    means.push_back(fit_model(table, kField, options).model.predict(table).mean);
  }
  EXPECT_EQ(means[0], means[1]);
}

std::string refused(const std::string& formula, const FitOptions& options) {
  try {
    plan_fit(field_table(100, 4), parse_formula(formula), options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Beside, SaysWhereItCannotStand) {
  FitOptions options;
  options.neighbours = Neighbours::yes;
  EXPECT_NE(refused("y ~ matern32(east, north)", options).find("posterior=neighbours"), std::string::npos);
  EXPECT_NE(refused("y ~ mlp(a) * matern32(east, north)", options).find("stand beside networks"), std::string::npos);
  options.posterior = "laplace";
  EXPECT_NE(refused(kField, options).find("posterior=ensemble"), std::string::npos);
  options.posterior = "ensemble";
  options.likelihood = "student";
  EXPECT_NE(refused(kField, options).find("likelihood=student"), std::string::npos);
}

}  // namespace
}  // namespace ick
